"""Kernel files that a program compiles while it runs: it names them in a string, reads them and gives them to NVRTC."""

from __future__ import annotations

import re

from kernel_pytorch.port.cxx.includes import Include

CUDA_FILE = re.compile(rb'"([\w./-]{1,200}\.cu)"')
# Who asks a module for what is in it by name. HIP's functions are called the same but for their beginning.
_ASKING = (b"GetGlobal", b"rtcAddNameExpression")


def asks_by_name(data: bytes) -> bool:
    """Whether a file asks a module for a variable, or NVRTC for a symbol."""
    return any(word in data for word in _ASKING)


def kernel_files_of(data: bytes) -> list[Include]:
    """The kernel files that the strings of a file name, where it asks a module for something by name."""
    if not asks_by_name(data):
        return []
    return [
        Include(found[1].decode(), True, found.start(), found.end())
        for found in CUDA_FILE.finditer(data)
        if not _is_included(data, found.start())
    ]


def _is_included(data: bytes, start: int) -> bool:
    line = data[data.rfind(b"\n", 0, start) + 1 : start]
    return line.lstrip().startswith(b"#")
