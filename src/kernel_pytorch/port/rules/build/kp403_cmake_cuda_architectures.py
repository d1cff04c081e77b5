"""CMake: CUDA architectures and separable compilation

What: CMAKE_CUDA_ARCHITECTURES demanded by a test, and `CUDA_SEPARABLE_COMPILATION ON`, for a target or for all.
Why: HIP has CMAKE_HIP_ARCHITECTURES instead, which CMake finds out itself; a number like 80 means nothing there. A
    test that stops without CUDA's variable stops a HIP build too. CUDA's relocatable device code is a property, HIP's
    is a flag.
Fix: Separable compilation gets -fgpu-rdc when USE_HIP is on. A fatal test is left to you. Settings of CUDA's own
    variable and property stay: HIP does not read them.
Source: https://cmake.org/cmake/help/latest/variable/CMAKE_HIP_ARCHITECTURES.html;
    https://github.com/jeffdaily/moat/blob/main/PORTING_GUIDE.md
"""

from __future__ import annotations

from collections.abc import Iterator, Set

from kernel_pytorch.core.findings import Finding, Safety
from kernel_pytorch.port.build_files import cmake
from kernel_pytorch.port.build_files.cmake_text import Command
from kernel_pytorch.port.rule import Rule

RULE = Rule(
    "KP403",
    "cmake-cuda-architectures",
    languages=("cmake",),
    safety=Safety.SAFE,
    triggers=(b"CUDA_ARCHITECTURES", b"CUDA_SEPARABLE_COMPILATION"),
)

_TRUE = ("ON", "TRUE", "1", "YES")


def check(file: cmake.CMakeFile) -> Iterator[Finding]:
    """Each fatal test and each target with relocatable device code."""
    for command in cmake.open_commands(file, "message"):
        if command.words()[:1] == ("FATAL_ERROR",) and "CMAKE_CUDA_ARCHITECTURES" in " ".join(command.conditions):
            yield cmake.finding(
                RULE,
                file,
                command,
                "CMake stops here if CMAKE_CUDA_ARCHITECTURES is not set, and a HIP build does not set it",
            )
    of_headers = {
        words[0]
        for words in (one.words() for one in file.commands if one.name == "add_library")
        if words[1:2] == ("INTERFACE",)
    }
    for command in cmake.open_commands(file, "set_target_properties", "set_property", "set"):
        lines = _relocatable(command, of_headers)
        if lines and not cmake.has_addition(file, command):
            message = "CUDA_SEPARABLE_COMPILATION does nothing for HIP: -fgpu-rdc is its counterpart"
            yield cmake.finding(RULE, file, command, message, cmake.added(file, command, "\n".join(lines)))


def _relocatable(command: Command, of_headers: Set[str]) -> list[str]:
    """The lines that give HIP relocatable device code where a command gives it to CUDA: all targets or some.

    `of_headers` are targets that compile nothing: the property does nothing for them.
    """
    words = list(command.words())
    if command.name == "set":
        if words[:1] != ["CMAKE_CUDA_SEPARABLE_COMPILATION"] or not _is_true(words[1:2]):
            return []
        return [
            "add_compile_options($<$<COMPILE_LANGUAGE:HIP>:-fgpu-rdc>)",
            'add_link_options("$<$<LINK_LANGUAGE:HIP>:-fgpu-rdc;--hip-link>")',
        ]
    if "CUDA_SEPARABLE_COMPILATION" not in words:
        return []
    position = words.index("CUDA_SEPARABLE_COMPILATION")
    if not _is_true(words[position + 1 : position + 2]):
        return []
    lines = []
    for target in _targets(words):
        if target in of_headers:
            continue
        lines.append(f"target_compile_options({target} PRIVATE $<$<COMPILE_LANGUAGE:HIP>:-fgpu-rdc>)")
        lines.append(f"target_link_options({target} PRIVATE -fgpu-rdc --hip-link)")
    return lines


def _is_true(words: list[str]) -> bool:
    return bool(words) and words[0].upper() in _TRUE


def _targets(words: list[str]) -> list[str]:
    """The targets of set_target_properties(t... PROPERTIES ...) or set_property(TARGET t... PROPERTY ...)."""
    if "PROPERTIES" in words:
        return words[: words.index("PROPERTIES")]
    if "PROPERTY" in words and words[0] == "TARGET":
        return words[1 : words.index("PROPERTY")]
    return []
