"""CMake: CUDA architectures and separable compilation

What: CMAKE_CUDA_ARCHITECTURES demanded by a test, and `CUDA_SEPARABLE_COMPILATION ON`.
Why: HIP has CMAKE_HIP_ARCHITECTURES instead, which CMake finds out by itself; a number like 80 means nothing there. A
  test that stops without CUDA's variable stops a HIP build too. CUDA's relocatable device code is a property, HIP's
  is a flag.
Fix: separable compilation gets -fgpu-rdc when USE_HIP is on. A fatal test is a person's. Settings of CUDA's own
  variable and property are left alone: HIP does not read them.
Source: rules catalogue row 76; https://cmake.org/cmake/help/latest/variable/CMAKE_HIP_ARCHITECTURES.html
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from kernel_pytorch.core.findings import Finding, Safety
from kernel_pytorch.port.build_files import cmake
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
                RULE, file, command, "the configuration stops where CMAKE_CUDA_ARCHITECTURES is not set, HIP or not"
            )
    for command in cmake.open_commands(file, "set_target_properties", "set_property"):
        words = list(command.words())
        if "CUDA_SEPARABLE_COMPILATION" not in words:
            continue
        position = words.index("CUDA_SEPARABLE_COMPILATION")
        if (
            words[position + 1 : position + 2]
            and words[position + 1].upper() in _TRUE
            and not cmake.has_addition(file, command)
        ):
            targets = _targets(words)
            lines = []
            for target in targets:
                lines.append(f"target_compile_options({target} PRIVATE $<$<COMPILE_LANGUAGE:HIP>:-fgpu-rdc>)")
                lines.append(f"target_link_options({target} PRIVATE -fgpu-rdc --hip-link)")
            if not lines:
                continue
            message = "CUDA_SEPARABLE_COMPILATION does nothing for HIP: -fgpu-rdc is its counterpart"
            yield cmake.finding(RULE, file, command, message, cmake.added(file, command, "\n".join(lines)))


def _targets(words: list[str]) -> list[str]:
    """The targets of set_target_properties(t... PROPERTIES ...) or set_property(TARGET t... PROPERTY ...)."""
    if "PROPERTIES" in words:
        return words[: words.index("PROPERTIES")]
    if "PROPERTY" in words and words[0] == "TARGET":
        return words[1 : words.index("PROPERTY")]
    return []
