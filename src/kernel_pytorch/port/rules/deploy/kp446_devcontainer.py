"""A development container with NVIDIA's devices

What: devcontainer.json with `"--gpus"` in runArgs, the nvidia-cuda feature, or an image of NVIDIA's. kpt leaves out
    what is commented out.
Why: Docker asks NVIDIA's container runtime for the devices. An AMD host does not have it.
Fix: Add a second profile with --device /dev/kfd, --device /dev/dri and the groups video and render. kpt writes
    nothing, because the paths inside a profile count from its own folder.
Source: https://rocm.docs.amd.com/projects/install-on-linux/en/latest/how-to/docker.html
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePosixPath

from kernel_pytorch.core.findings import Finding
from kernel_pytorch.port.deploy.site_settings import Patterns, named_lines

CODE = "KP446"
PATTERNS: Patterns = (
    (r"\"--gpus(?:=\w+)?\"", "NVIDIA's devices: a second profile with /dev/kfd and /dev/dri is needed"),
    (r"\"\S*/features/(nvidia-cuda)\b", "the feature {0} installs CUDA: a second profile without it is needed"),
    (
        r"\"image\":\s*\"((?:nvidia/|nvcr\.io/)[^\"]*)",
        "{0} is an image with CUDA: a second profile with ROCm's is needed",
    ),
)
_STRING_OR_COMMENT = re.compile(r"\"(?:[^\"\\\n]|\\.)*\"|//[^\n]*|/\*.*?\*/", re.DOTALL)


def devcontainer_findings(path: str, text: str) -> Iterator[Finding]:
    """The lines of a profile that ask for NVIDIA's devices."""
    if PurePosixPath(path).name == "devcontainer.json":
        yield from named_lines(CODE, path, _STRING_OR_COMMENT.sub(_without_comment, text), PATTERNS)


def _without_comment(match: re.Match[str]) -> str:
    """A string as it is; a comment as white space, so that lines and columns stay."""
    text = match.group()
    return text if text.startswith('"') else re.sub(r"[^\n]", " ", text)
