"""CMake: the old FindCUDA module

What: `find_package(CUDA)`, `cuda_add_library`, `cuda_add_executable` and the other commands of that module.
Why: the module has no HIP twin, and CMake itself removed it (policy CMP0146).
Fix: for find_package, cuda_add_executable and cuda_add_library a parallel form under USE_HIP, to be reviewed: options
  given to them are not carried over. Custom commands and flag selection are a person's.
Source: rules catalogue row 75; https://cmake.org/cmake/help/latest/module/FindCUDA.html
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from kernel_pytorch.core.findings import Finding, Safety
from kernel_pytorch.port.build_files import cmake
from kernel_pytorch.port.rules import Rule

if TYPE_CHECKING:
    from kernel_pytorch.port.cuda.unit import Unit
    from kernel_pytorch.port.source import SourceFile

RULE = Rule(
    "KP402", "cmake-findcuda", languages=("cmake",), safety=Safety.REVIEW, triggers=(b"CUDA", b"cuda_", b"CUDA_ADD")
)

_CREATORS = {"cuda_add_executable": "add_executable", "cuda_add_library": "add_library"}
_OTHERS = (
    "cuda_compile", "cuda_compile_ptx", "cuda_compile_cubin", "cuda_compile_fatbin", "cuda_include_directories",
    "cuda_select_nvcc_arch_flags", "cuda_wrap_srcs", "cuda_add_cublas_to_target", "cuda_add_cufft_to_target",
)  # fmt: skip


def check(src: SourceFile, unit: Unit) -> Iterator[Finding]:
    """Each command of the old module."""
    file = cmake.cmake_file(src)
    if file is None:
        return
    for command in cmake.open_commands(file, "find_package", *_CREATORS, *_OTHERS):
        words = list(command.words())
        if command.name == "find_package":
            if words[:1] == ["CUDA"]:
                edits = cmake.gated(file, command, "find_package(hip REQUIRED)")
                yield cmake.finding(
                    RULE, file, command, "find_package(CUDA) is the old module, which has no HIP twin", edits
                )
        elif command.name in _CREATORS:
            sources = words[: words.index("OPTIONS")] if "OPTIONS" in words else words
            instead = f"{_CREATORS[command.name]}({cmake.quoted(sources)})"
            message = f"{command.name} is of the old module: under HIP a plain target does"
            yield cmake.finding(RULE, file, command, message, cmake.gated(file, command, instead))
        else:
            yield cmake.finding(RULE, file, command, f"{command.name} is of the old module and has no HIP form")
