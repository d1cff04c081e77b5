"""Plain C++ headers that belong to device code: they test for nvcc, and say nothing else that is CUDA's.

`#ifdef __CUDACC__` around functions marked by a macro of the project (`HOST_DEVICE`), or around a `#define` that the
CUDA sources ask for. Left alone, both would silently be compiled as for a plain C++ compiler. Headers that
give lane functions other names belong to device code too: `#define shfl __shfl`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import PurePosixPath

from kernel_pytorch.core.read_file import read_bytes
from kernel_pytorch.port.cxx.branches import branch_text
from kernel_pytorch.port.cxx.compiled_on_rocm import is_rocm_macro
from kernel_pytorch.port.cxx.directives import conditionals
from kernel_pytorch.port.cxx.source import CxxFile, cxx_file
from kernel_pytorch.port.discover import Project

_HEADERS = frozenset((".h", ".hh", ".hpp", ".hxx", ".h++", ".inl", ".ipp", ".tpp", ".tcc", ".inc", ".impl"))
_ASKED = (b"__CUDACC__", b"__CUDA_ARCH__", b"__NVCC__")
_MARKING = re.compile(rb"#[ \t]*define[ \t]+(\w+)[ \t]+[^\n]*__(?:device|host|global)__")
_DEFINED = re.compile(rb"^[ \t]*#[ \t]*define[ \t]+(\w+)", re.MULTILINE)
# A macro for a lane function: what the device code that uses it means stands in this header.
_LANES = re.compile(rb"#[ \t]*define[ \t]+\w[^\n]*\b__(?:shfl|ballot|activemask|match_a)\w*")
_WORD = re.compile(rb"[A-Za-z_]\w*")


def device_headers(project: Project) -> frozenset[str]:
    """The C++ headers to be ported with the CUDA files."""
    asking: dict[str, CxxFile] = {}
    lanes: set[str] = set()
    for path in project.of("c++"):
        if PurePosixPath(path).suffix.lower() in _HEADERS:
            data = read_bytes(project.root / path, project.root)
            if any(name in data for name in _ASKED):
                asking[path] = cxx_file(path, data)
            if _LANES.search(data):
                lanes.add(path)
    if not asking:
        return frozenset(lanes)
    cuda = [read_bytes(project.root / path, project.root) for path in project.of("cuda")]
    marks = frozenset(name for data in cuda for name in _MARKING.findall(data))
    made = {path: frozenset(_made_for_nvcc(src)) for path, src in asking.items()}
    used = _used(cuda, frozenset().union(*made.values()))
    return frozenset(lanes) | frozenset(
        path
        for path, src in asking.items()
        if not marks.isdisjoint(_WORD.findall(src.data)) or not used.isdisjoint(made[path])
    )


def _made_for_nvcc(src: CxxFile) -> Iterator[bytes]:
    """The macros that a header defines where nvcc compiles it, and says nothing of HIP's compiler."""
    for conditional in conditionals(src):
        names = [src.text(token) for branch in conditional.branches for token in branch.directive.tokens]
        if any(name in _ASKED for name in names) and not any(is_rocm_macro(name) for name in names):
            for branch in conditional.branches:
                yield from _DEFINED.findall(branch_text(src, branch))


def _used(texts: Iterable[bytes], names: frozenset[bytes]) -> frozenset[bytes]:
    left = set(names)
    for text in texts:
        if not left:
            break
        left -= {name for name in left if re.search(rb"\b" + name + rb"\b", text)}
    return names - left
