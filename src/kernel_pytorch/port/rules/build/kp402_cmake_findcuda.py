"""CMake: the old FindCUDA module

What: `find_package(CUDA)`, and the commands of that module that make PTX, cubins or object files by hand.
Why: The module has no HIP twin, and CMake itself removed it (policy CMP0146). Its commands and variables
    (cuda_add_library, CUDA_NVCC_FLAGS, CUDA_LIBRARIES) are used all over a project.
Fix: kpt adds an option USE_HIP, off by default. If it is on, CMake includes kpt_findcuda_hip.cmake in place of the
    module. It enables the HIP language and provides the module's commands and variables for HIP: targets whose .cu
    files are HIP sources, nvcc's flags in clang's spelling, CUDA_SEPARABLE_COMPILATION as -fgpu-rdc, CUDA_LIBRARIES as
    hip::host. The other lines stay as they are. CUDA_VERSION is 12.0, a stand-in. If it is off, CMake runs the
    original line. CMake cannot enable a language inside a function, so there kpt leaves out the search, which was made
    before. Custom commands for PTX are left to you.
Source: https://cmake.org/cmake/help/latest/module/FindCUDA.html
"""

from __future__ import annotations

from collections.abc import Iterator

from kernel_pytorch.core.findings import Finding, Safety
from kernel_pytorch.port.build_files import cmake
from kernel_pytorch.port.build_files.findcuda import INCLUDE
from kernel_pytorch.port.rule import Rule

RULE = Rule("KP402", "cmake-findcuda", languages=("cmake",), safety=Safety.SAFE, triggers=(b"CUDA", b"cuda_", b"Cuda_"))

_BY_HAND = (
    "cuda_compile", "cuda_compile_ptx", "cuda_compile_cubin", "cuda_compile_fatbin", "cuda_wrap_srcs",
    "cuda_link_separable_compilation_objects",
)  # fmt: skip


def check(file: cmake.CMakeFile) -> Iterator[Finding]:
    """Each search for the module, and each command of it that has no HIP form."""
    is_optional = False
    for command in cmake.open_commands(file, "find_package", *_BY_HAND):
        words = list(command.words())
        if command.name != "find_package":
            yield cmake.finding(
                RULE, file, command, f"{command.name} belongs to CMake's old CUDA module and has no HIP form"
            )
        elif words[:1] == ["CUDA"]:
            message = "find_package(CUDA) loads CMake's old CUDA module, which has no HIP counterpart"
            if command.is_in_function:
                edits = cmake.left_out(file, command)
            else:
                option = "" if is_optional or cmake.OPTION in file.text else cmake.OPTION
                edits, is_optional = cmake.gated(file, command, INCLUDE, option), True
            yield cmake.finding(RULE, file, command, message, edits)
