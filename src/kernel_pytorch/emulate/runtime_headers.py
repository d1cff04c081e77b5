"""HIP's own header, parsed once for all sources that programs compile while they run (hiprtc).

hiprtc puts it in front of every source. Parsing it takes 0.7 s of CPU, which is most of what a small kernel costs; read
back from a precompiled file it takes 0.1 s.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from kernel_pytorch.toolchain.find import Toolchain
from kernel_pytorch.toolchain.precompiled import LeadingHeaders, PrecompiledHeaders

HEADER = "hip/hip_runtime.h"
# What a compiler reads before a source, or that takes its value from the next word: not looked into.
_NOT_LOOKED_INTO = frozenset({"-D", "-U", "-include", "-imacros", "-include-pch", "-Xclang"})


def leading_header(extra: Sequence[str], own: Path, toolchain: Toolchain) -> LeadingHeaders | None:
    """How HIP's header is read for a source in the folder `own` with these options; None: it must be parsed.

    Definitions that the header does not look at (`-DTILE=16`, another one for each kernel) share one file.
    """
    if not _NOT_LOOKED_INTO.isdisjoint(extra):
        return None
    given = [word for word in extra if word.startswith("-D")]
    names = {word[2:].partition("=")[0].partition("(")[0] for word in given}
    if names and _are_read(names, toolchain):
        return None
    return LeadingHeaders((HEADER,), PrecompiledHeaders(), (own,), tuple(given))


def _are_read(names: set[str], toolchain: Toolchain) -> bool:
    """Whether HIP's headers, or the compiler's and the standard library's below them, may look at one of the names.

    Those below look at reserved names and at NDEBUG alone."""
    if any(name.startswith("_") or name == "NDEBUG" for name in names):
        return True
    folders = {*toolchain.include_dirs, *([toolchain.rocm_path / "include"] if toolchain.rocm_path else [])}
    word = re.compile(rb"\b(?:%s)\b" % b"|".join(re.escape(name.encode()) for name in sorted(names)))
    headers = [file for folder in folders for file in (folder / "hip").rglob("*.h")]
    return not headers or any(word.search(file.read_bytes()) for file in headers)
