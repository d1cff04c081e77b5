"""A workflow that installs or runs CUDA

What: a GitHub workflow with a CUDA toolkit action, an NVIDIA image, or a step that runs nvidia-smi or nvcc.
Why: the job can only run on NVIDIA machines.
Fix: a person adds a job for ROCm beside it: building and static checks need no GPU. Nothing is written.
Source: catalogue row 181.
"""

from __future__ import annotations

from collections.abc import Iterator

from kernel_pytorch.core.findings import Finding
from kernel_pytorch.port.deploy.site_settings import Patterns, named_lines

CODE = "KP445"
PATTERNS: Patterns = (
    (r"uses:\s*(Jimver/cuda-toolkit\S*)", "{0} installs CUDA: a ROCm job needs a job of its own"),
    (r"^\s*(?:-\s+)?run:.*\b(nvidia-smi|nvcc)\b", "the step runs {0}"),
    (r"image:\s*(nvidia/cuda\S*|nvcr\.io/\S+)", "the job runs in {0}: a ROCm job needs a job of its own"),
)


def workflow_findings(path: str, text: str) -> Iterator[Finding]:
    """The lines of a workflow that need NVIDIA."""
    if ".github/workflows" in path:
        yield from named_lines(CODE, path, text, PATTERNS)
