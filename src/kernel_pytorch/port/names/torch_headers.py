"""torch's own CUDA headers (KP213): torch renames them in the extensions it builds, and nobody does elsewhere."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kernel_pytorch.core.findings import Finding, Safety
from kernel_pytorch.port.cxx.compiled_on_rocm import compiled_findings
from kernel_pytorch.port.cxx.includes import includes_in
from kernel_pytorch.port.cxx.source import CxxFile

_TORCH_CUDA = re.compile(r"(?:c10|ATen)/cuda/|torch/csrc/cuda/")


def torch_header_findings(src: CxxFile) -> Iterator[Finding]:
    """Each #include of such a header that a ROCm build reads."""
    found = []
    for include in includes_in(src):
        if _TORCH_CUDA.match(include.name):
            message = f"#include <{include.name}>: torch's build renames it for ROCm, and this project's build does not"
            found.append(Finding("KP213", src.path, *src.line_col(include.start), message, Safety.MANUAL))
    yield from compiled_findings(src, found)
