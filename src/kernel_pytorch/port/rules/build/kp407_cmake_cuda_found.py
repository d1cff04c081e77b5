"""CMake: a condition that asks whether CUDA was found, or whether it is too old

What: `if(CUDAToolkit_FOUND)`, `if(NOT CUDA_FOUND)`, `if(CMAKE_CUDA_COMPILER)`,
    `if(CMAKE_CUDA_COMPILER_VERSION VERSION_LESS 11.6)`, `if(NOT NVCC)` after `find_program(NVCC nvcc)`.
Why: With HIP nothing looks for CUDA, so these variables are empty. CMake then skips the code inside the condition
    without an error, or stops because an empty version is less than any other.
Fix: With USE_HIP the condition gets the answer it has on a machine with a current CUDA. If the condition asks for more
    than that, you decide. Conditions that only choose nvcc's architectures stay: HIP does not read those.
Source: https://cmake.org/cmake/help/latest/module/FindCUDAToolkit.html;
    https://cmake.org/cmake/help/latest/command/if.html (an unset variable is an empty string);
    https://github.com/ggml-org/llama.cpp/pull/1087
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from kernel_pytorch.core.findings import Finding, Safety
from kernel_pytorch.port.build_files import cmake
from kernel_pytorch.port.build_files.cmake_gates import gated_condition
from kernel_pytorch.port.rule import Rule

if TYPE_CHECKING:
    from kernel_pytorch.port.build_files.cmake_text import Command

_FOUND = ("CUDAToolkit_FOUND", "CUDA_FOUND", "CMAKE_CUDA_COMPILER")
_VERSIONS = ("CMAKE_CUDA_COMPILER_VERSION", "CUDAToolkit_VERSION", "CUDA_VERSION", "CUDA_VERSION_STRING")
RULE = Rule(
    "KP407",
    "cmake-cuda-found",
    ("cmake",),
    Safety.SAFE,
    (b"nvcc", *(name.encode() for name in (*_FOUND, *_VERSIONS))),
)
_LESS = ("VERSION_LESS", "VERSION_LESS_EQUAL", "LESS", "LESS_EQUAL")
_SETTINGS = ("set", "unset", "list", "string")
_FOR_NVCC = re.compile(r"ARCH|GENCODE|NVCC|CMAKE_CUDA_", re.IGNORECASE)


def check(file: cmake.CMakeFile) -> Iterator[Finding]:
    found = (*_FOUND, *_found_programs(file))
    for command in cmake.open_commands(file, "if", "elseif"):
        words = list(command.words())
        asked = next((word for word in words if _name(word) in (*found, *_VERSIONS)), None)
        if asked is None or _chooses_architectures(file, command):
            continue
        name = _name(asked)
        is_nested = file.text.count("(", command.start, command.end) > 1
        answer = None if is_nested else _answer_of_today(words, found)
        edits = gated_condition(file, command.start, answer) if answer is not None else None
        if name in found and (edits is not None or len(words) > 2):
            message = f"{name} is empty in a HIP build, which does not look for CUDA"
        elif name in _VERSIONS and (edits is not None or any(word in _LESS for word in words)):
            message = f"{name} is empty in a HIP build, which makes it less than any version"
        else:
            continue
        yield cmake.finding(RULE, file, command, message, edits or ())


def _found_programs(file: cmake.CMakeFile) -> list[str]:
    """The variables of `find_program(NVCC nvcc)`."""
    searches = (command.words() for command in file.commands if command.name == "find_program")
    return [words[0] for words in searches if words and "nvcc" in words[1:]]


def _chooses_architectures(file: cmake.CMakeFile, command: Command) -> bool:
    """Whether all that an if() decides is the value of variables for nvcc: its architectures and flags."""
    depth, body = 1, []
    for one in file.commands[file.commands.index(command) + 1 :]:
        depth += (one.name == "if") - (one.name == "endif")
        if depth == 0:
            break
        body.append(one)
    settings = [one for one in body if one.name not in ("if", "else", "elseif", "endif", "message")]
    return bool(settings) and all(
        one.name in _SETTINGS and any(_FOR_NVCC.search(word) for word in one.words()[:2]) for one in settings
    )


def _name(word: str) -> str:
    return word.removeprefix("${").removesuffix("}")


def _answer_of_today(words: list[str], found: tuple[str, ...]) -> bool | None:
    """What a machine with CUDA answers; None where the condition asks for more."""
    for joiner, decides in (("OR", True), ("AND", False)):
        if joiner in words:
            parts = [_answer_of_today(part, found) for part in _split(words, joiner)]
            return decides if decides in parts else None
    if len(words) == 1 and _name(words[0]) in found:
        return True
    if len(words) == 2 and words[0] == "NOT" and _name(words[1]) in found:
        return False
    # "${NAME}" is empty, and a condition without its left side is an error also behind a gate.
    return False if len(words) == 3 and words[0] in _VERSIONS and words[1] in _LESS else None


def _split(words: list[str], joiner: str) -> list[list[str]]:
    parts: list[list[str]] = [[]]
    for word in words:
        if word == joiner:
            parts.append([])
        else:
            parts[-1].append(word)
    return parts
