"""CMake: a condition that asks whether CUDA was found, or whether it is too old

What: `if(CUDAToolkit_FOUND)`, `if(NOT CUDA_FOUND)`, `if(CMAKE_CUDA_COMPILER)`,
    `if(CMAKE_CUDA_COMPILER_VERSION VERSION_LESS 11.6)`.
Why: With HIP nothing looks for CUDA, so these variables are empty. CMake then skips the code inside the condition
    without an error, or stops because an empty version is less than any other.
Fix: With USE_HIP the condition gets the answer it has on a machine with a current CUDA. If the condition asks for more
    than that, a person decides.
Source: https://cmake.org/cmake/help/latest/module/FindCUDAToolkit.html;
    https://cmake.org/cmake/help/latest/command/if.html (an unset variable is an empty string);
    https://github.com/ggml-org/llama.cpp/pull/1087
"""

from __future__ import annotations

from collections.abc import Iterator

from kernel_pytorch.core.findings import Finding, Safety
from kernel_pytorch.port.build_files import cmake
from kernel_pytorch.port.build_files.cmake_gates import gated_condition
from kernel_pytorch.port.rule import Rule

_FOUND = ("CUDAToolkit_FOUND", "CUDA_FOUND", "CMAKE_CUDA_COMPILER")
_VERSIONS = ("CMAKE_CUDA_COMPILER_VERSION", "CUDAToolkit_VERSION", "CUDA_VERSION", "CUDA_VERSION_STRING")
RULE = Rule(
    "KP407", "cmake-cuda-found", ("cmake",), Safety.SAFE, tuple(name.encode() for name in (*_FOUND, *_VERSIONS))
)


def check(file: cmake.CMakeFile) -> Iterator[Finding]:
    for command in cmake.open_commands(file, "if", "elseif"):
        words = list(command.words())
        asked = next((word for word in words if _name(word) in (*_FOUND, *_VERSIONS)), None)
        if asked is None:
            continue
        name = _name(asked)
        answer = _answer_of_today(words)
        edits = gated_condition(file, command.start, answer) if answer is not None else None
        if name in _FOUND and (edits is not None or len(words) > 2):
            message = f"{name} is empty with HIP, which does not look for CUDA"
        elif name in _VERSIONS and (edits is not None or _is_less(words)):
            message = f"{name} is empty with HIP, and less than any version"
        else:
            continue
        yield cmake.finding(RULE, file, command, message, edits or ())


def _name(word: str) -> str:
    return word.removeprefix("${").removesuffix("}")


def _answer_of_today(words: list[str]) -> bool | None:
    """What a machine with CUDA answers; None where the condition asks for more."""
    if len(words) == 1 and _name(words[0]) in _FOUND:
        return True
    if len(words) == 2 and words[0] == "NOT" and _name(words[1]) in _FOUND:
        return False
    # "${NAME}" is empty, and a condition without its left side is an error also behind a gate.
    return False if len(words) == 3 and words[0] in _VERSIONS and _is_less(words) else None


def _is_less(words: list[str]) -> bool:
    return any(word in ("VERSION_LESS", "VERSION_LESS_EQUAL", "LESS", "LESS_EQUAL") for word in words)
