"""CMake: a command that runs nvcc

What: add_custom_command, add_custom_target and execute_process whose command is nvcc, by name, by CMake's variables for
    it or by one that find_program(... nvcc) set.
Why: ROCm has no nvcc. CMake's HIP language and its flags do not reach commands that a project writes itself.
Fix: Under USE_HIP run hipcc: `hipcc --genco --offload-arch=gfx942 -o FILE` writes AMD's code object where nvcc writes
    PTX, a cubin or a fatbin; hipModuleLoad takes it. A command that asks nvcc for its version can be left out.
Source: https://rocm.docs.amd.com/projects/HIP/en/latest/how-to/hip_porting_guide.html
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePosixPath

from kernel_pytorch.core.findings import Finding, Safety
from kernel_pytorch.port.build_files import cmake
from kernel_pytorch.port.rule import Rule

RULE = Rule(
    "KP408", "cmake-nvcc-command", languages=("cmake",), safety=Safety.MANUAL,
    triggers=(b"nvcc", b"NVCC", b"CMAKE_CUDA_COMPILER"),
)  # fmt: skip

_RUNNERS = ("add_custom_command", "add_custom_target", "execute_process", "exec_program")
_VARIABLES = frozenset((
    "CUDAToolkit_NVCC_EXECUTABLE", "CUDA_NVCC_EXECUTABLE", "CMAKE_CUDA_COMPILER", "CUDA_NVCC",
))  # fmt: skip
_REFERENCE = re.compile(r"\$\{(\w+)\}\Z")


def check(file: cmake.CMakeFile) -> Iterator[Finding]:
    """Each command of the project's own that starts nvcc."""
    variables = _VARIABLES | {
        command.words()[0]
        for command in file.commands
        if command.name in ("set", "find_program") and any(_is_nvcc(word) for word in command.words()[1:])
    }
    for command in cmake.open_commands(file, *_RUNNERS):
        for word in _programs(command.name, command.words()):
            reference = _REFERENCE.match(word)
            if _is_nvcc(word) or (reference is not None and reference[1] in variables):
                yield cmake.finding(RULE, file, command, f"{command.name} runs {word}, which ROCm does not have")
                break


def _is_nvcc(word: str) -> bool:
    return PurePosixPath(word.replace("\\", "/")).name.lower() in ("nvcc", "nvcc.exe")


def _programs(name: str, words: tuple[str, ...]) -> Iterator[str]:
    """The first word of each command that CMake is to run, also behind `${CMAKE_COMMAND} -E env NAME=value`."""
    if name == "exec_program":
        yield from words[:1]
        return
    starts = [at + 1 for at, word in enumerate(words) if word == "COMMAND"]
    starts += [1] if name == "add_custom_target" and len(words) > 1 and words[1] != "ALL" else []
    for start in starts:
        rest = list(words[start:])
        if rest[1:3] == ["-E", "env"]:
            rest = [word for word in rest[3:] if "=" not in word]
        yield from rest[:1]
