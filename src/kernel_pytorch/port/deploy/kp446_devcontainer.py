"""A development container with NVIDIA's devices

What: devcontainer.json with `"--gpus"` in runArgs.
Why: Docker asks NVIDIA's container runtime for the devices, which an AMD host has not.
Fix: a person adds a second profile with --device /dev/kfd, --device /dev/dri and the groups video and render. Nothing
    is written: the paths inside a profile count from its own folder.
Source: catalogue row 184.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePosixPath

from kernel_pytorch.core.findings import Finding
from kernel_pytorch.port.deploy.site_settings import Patterns, named_lines

CODE = "KP446"
PATTERNS: Patterns = (
    (r"\"--gpus(?:=all)?\"", "NVIDIA's devices: a second profile with /dev/kfd and /dev/dri is needed"),
)


def devcontainer_findings(path: str, text: str) -> Iterator[Finding]:
    """The lines of a profile that ask for NVIDIA's devices."""
    if PurePosixPath(path).name == "devcontainer.json":
        yield from named_lines(CODE, path, text, PATTERNS)
