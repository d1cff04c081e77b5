"""One file of a project: its bytes, its lines, its language. All positions are byte offsets."""

from __future__ import annotations

import os
import re
from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from pathlib import Path

CUDA_SUFFIXES = frozenset({".cu", ".cuh"})
C_SUFFIXES = frozenset({
    ".c", ".cc", ".cpp", ".cxx", ".c++", ".h", ".hh", ".hpp", ".hxx", ".h++", ".inl", ".ipp", ".tpp", ".tcc", ".inc",
    ".hip", ".cui", ".impl",
})  # fmt: skip
# What says that a C or C++ file holds CUDA: these anywhere, or one of the patterns. Each pattern stands beside texts
# one of which it needs, and looks behind after plain letters: Python finds those fast.
_CUDA_PARTS = (
    b"<<<", b"__global", b"__device", b"__shared", b"__constant", b"__launch_bounds", b"__shfl", b"__ballot",
    b"__syncthreads",
)  # fmt: skip
_CUDA_PATTERNS = (
    ((b"cu",), re.compile(
        rb"cu(?<!\wcu)(?:da[A-Z_]\w|[A-Z][a-z]\w+\s*\(|blas|fft|rand|sparse|solver|dnn|b::)"
    )),
    # What the driver's handles are, in a header that needs no more of CUDA than that.
    ((b"CU",), re.compile(
        rb"CU(?<!\wCU)(?:stream|device|deviceptr|context|ctx|module|mod|function|func|event|array|graph|texref|result)"
        rb"(?:_st)?\b"
    )),
    ((b"nccl",), re.compile(rb"nccl(?<!\wnccl)[A-Z]")),
    *(((word,), re.compile(re.escape(word) + rb"(?<!\w" + re.escape(word) + rb")"))
      for word in (b"nvrtc", b"thrust::", b"CUDA_")),
    ((b"cuda",), re.compile(rb"#\s*include\s*[<\"]cuda")),
    # A header may hold PTX in macros and nothing else.
    ((b".sync.", b"cp.async."),
     re.compile(rb"\"\s*(?:(?:mma|ldmatrix|stmatrix|movmatrix|wgmma\.\w+)\.sync|cp\.async)\.")),
)  # fmt: skip


@dataclass(frozen=True)
class SourceFile:
    """A file's bytes. `path` is as the user wrote it, with forward slashes."""

    path: str
    data: bytes
    language: str
    project_packages: frozenset[str] = frozenset()  # the project's own top-level Python packages
    project_root: Path | None = None  # where other modules of the project are looked for; None: nowhere

    def holds(self, text: bytes) -> bool:
        """Whether some bytes stand anywhere in the file."""
        return text in self.data

    @cached_property
    def _line_starts(self) -> list[int]:
        lengths = map(len, self.data.split(b"\n"))
        # Each line begins one byte behind the end of the line before; the last has no end.
        return [start + number for number, start in enumerate(accumulate(lengths, initial=0))][:-1]

    def line_col(self, offset: int) -> tuple[int, int]:
        """Line and column of a byte offset, both counted from 1, columns in bytes."""
        line = bisect_right(self._line_starts, offset)
        return line, offset - self._line_starts[line - 1] + 1

    def line_span(self, offset: int) -> tuple[int, int]:
        """Start and end (newline included) of the physical line an offset lies in."""
        line = bisect_right(self._line_starts, offset)
        starts = self._line_starts
        return starts[line - 1], starts[line] if line < len(starts) else len(self.data)

    def offset(self, line: int, col: int) -> int:
        """The byte offset of a line and column, as `line_col` gives them."""
        return self._line_starts[line - 1] + col - 1


def language_of(path: str, data: bytes = b"") -> str:
    """The language by name; C and C++ files that hold CUDA are "cuda"."""
    # Not by pathlib: a large project has tens of thousands of names.
    name = path.replace(os.sep, "/").rstrip("/").rpartition("/")[2].lower()
    suffix = f".{name.rpartition('.')[2]}" if "." in name[1:] else ""
    if name.partition(".")[0] in ("makefile", "gnumakefile"):
        return "make"  # also Makefile.hip, which is no HIP source
    if suffix in CUDA_SUFFIXES:
        return "cuda"
    if suffix in C_SUFFIXES:
        return "cuda" if _holds_cuda(data) else "c++"
    if suffix in (".py", ".pyi"):
        return "python"
    if suffix == ".ipynb":
        return "notebook"
    if name == "cmakelists.txt" or suffix == ".cmake":
        return "cmake"
    if name.startswith(("makefile", "gnumakefile")) or suffix in (".mk", ".mak"):
        return "make"
    return "other"


def _holds_cuda(data: bytes) -> bool:
    if any(part in data for part in _CUDA_PARTS):
        return True
    return any(pattern.search(data) for texts, pattern in _CUDA_PATTERNS if any(text in data for text in texts))


def source_file(path: str, data: bytes) -> SourceFile:
    """A SourceFile with its language worked out."""
    return SourceFile(path.replace(os.sep, "/"), data, language_of(path, data))
