"""CMake: CUDA:: targets

What: `target_link_libraries(... CUDA::cublas)` and `find_package(CUDAToolkit)`.
Why: The targets do not exist without CUDA's toolkit.
Fix: Under USE_HIP the packages and targets of ROCm (port/tables/libraries.csv): CUDA::cudart is hip::host,
    CUDA::cublas is roc::hipblas, CUDA::curand is hip::hiprand. A library without a counterpart of the same interface
    is left to you.
Source: https://github.com/bitsandbytes-foundation/bitsandbytes/blob/main/CMakeLists.txt
"""

from __future__ import annotations

from collections.abc import Iterator

from kernel_pytorch.core.findings import Finding, Safety
from kernel_pytorch.port.build_files import cmake
from kernel_pytorch.port.build_files.cmake_text import Command
from kernel_pytorch.port.rule import Rule

RULE = Rule(
    "KP405", "cmake-cuda-targets", languages=("cmake",), safety=Safety.SAFE, triggers=(b"CUDA::", b"CUDAToolkit")
)


def check(file: cmake.CMakeFile) -> Iterator[Finding]:
    """Each link against the toolkit, and each search for it."""
    used: list[str] = []
    for command in cmake.open_commands(file, "target_link_libraries", "link_libraries"):
        targets = cmake.cuda_targets(command)
        if not targets:
            continue
        used += targets
        unknown = [target for target in targets if cmake.hip_target(target) is None]
        if unknown:
            yield cmake.finding(RULE, file, command, f"{', '.join(unknown)}: ROCm has no library with that interface")
            continue
        words = [cmake.hip_target(word) if word.startswith("CUDA::") else word for word in command.words()]
        kept = list(dict.fromkeys(word for word in words if word))
        message = f"{', '.join(targets)}: targets of CUDA's toolkit"
        yield cmake.finding(
            RULE, file, command, message, cmake.gated(file, command, f"{command.name}({cmake.quoted(kept)})")
        )
    for command in cmake.open_commands(file, "find_package"):
        if command.words()[:1] == ("CUDAToolkit",):
            packages = list(dict.fromkeys(["hip", *cmake.hip_packages(used)]))
            instead = "\n".join(f"find_package({package} REQUIRED)" for package in packages)
            message = "find_package(CUDAToolkit): ROCm has a package for each library"
            before = cmake.OPTION if _is_first_to_ask(file, command) else ""
            yield cmake.finding(RULE, file, command, message, cmake.gated(file, command, instead, before))


def _is_first_to_ask(file: cmake.CMakeFile, command: Command) -> bool:
    """Whether a project of C++ alone asks for CUDA's toolkit here: no project() declares the option (KP401)."""
    if command.is_in_function or cmake.OPTION in file.text:
        return False
    begins = any(one.name == "project" for one in file.commands)
    languages = (one for one in file.commands if one.name in ("project", "enable_language", "set", "list"))
    searches = [one for one in file.commands if one.name == "find_package" and one.words()[:1] == ("CUDAToolkit",)]
    return begins and searches[0] is command and not any("CUDA" in one.words()[1:] for one in languages)
