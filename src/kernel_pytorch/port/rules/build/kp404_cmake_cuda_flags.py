"""CMake: flags for the CUDA compiler

What: `$<$<COMPILE_LANGUAGE:CUDA>:...>` in options and definitions, CMAKE_CUDA_FLAGS, CMAKE_CUDA_STANDARD, and the
    feature cuda_std_NN.
Why: HIP sources get none of them, and clang does not know nvcc's spellings.
Fix: A twin for HIP under USE_HIP, from the flag table (port/tables/nvcc_flags.csv); the CUDA expression stays. A C++
    standard below 17 becomes 17, because rocThrust and hipCUB of ROCm 7 refuse an older one. --use_fast_math never
    becomes -ffast-math, which also reorders sums and assumes that there is no NaN. Where flags come from a variable,
    lines behind the twin take out those of nvcc's that the file names.
Source: facebookresearch/xformers#1162; https://github.com/jeffdaily/moat/blob/main/PORTING_GUIDE.md (-ffast-math)
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from kernel_pytorch.core.findings import Finding, Safety
from kernel_pytorch.port.build_files import cmake
from kernel_pytorch.port.build_files.cmake_flag_filter import filter_lines
from kernel_pytorch.port.rule import Rule

if TYPE_CHECKING:
    from kernel_pytorch.port.build_files.cmake_text import Command

RULE = Rule("KP404", "cmake-cuda-flags", languages=("cmake",), safety=Safety.SAFE, triggers=(b"CUDA", b"cuda_std"))

_STANDARD = 17
_FILTERED = "kpt_hip_flags"
_OPTIONS = ("target_compile_options", "add_compile_options", "target_compile_definitions", "add_compile_definitions")
_EXPRESSION = re.compile(r"\$<\$<(?:COMPILE_LANGUAGE|COMPILE_LANG_AND_ID):[^>]*\bCUDA\b[^>]*>:(.*)>\Z", re.DOTALL)


def check(file: cmake.CMakeFile) -> Iterator[Finding]:
    """Each command whose flags HIP sources would miss."""
    for command in cmake.open_commands(file, *_OPTIONS):
        yield from _options(file, command)
    for command in cmake.open_commands(file, "set", "string", "list"):
        yield from _variables(file, command)
    for command in cmake.open_commands(file, "target_compile_features"):
        if any(word.startswith("cuda_std_") for word in command.words()):
            words = [re.sub(r"^cuda_std_", "hip_std_", word) for word in command.words()]
            message = "cuda_std is a feature of the CUDA language, which a HIP build does not enable"
            yield cmake.finding(
                RULE,
                file,
                command,
                message,
                cmake.gated(file, command, f"target_compile_features({cmake.quoted(words)})"),
            )


def _options(file: cmake.CMakeFile, command: Command) -> Iterator[Finding]:
    expressions = [found.group(1) for word in _joined(command) if (found := _EXPRESSION.match(word))]
    if not expressions or cmake.has_addition(file, command):
        return
    is_flags = command.name.endswith("options")
    kept: list[str] = []
    for text in expressions:
        flags, obstacles = cmake.hip_flags(text) if is_flags else (re.split(r"[;\s]+", text), [])
        if obstacles:
            yield cmake.finding(RULE, file, command, f"nvcc flags without a HIP form: {'; '.join(obstacles)}")
            return
        kept += flags
    head = " ".join(word for word in command.words()[:2]) if command.name.startswith("target") else ""
    if not kept:
        return
    scope = f"{head} " if head else ""
    lines: list[str] = []
    if is_flags and any("${" in flag for flag in kept):
        lines = _filtered(kept, file.text)
        kept = [f"${{{_FILTERED}}}"]
    twin = "\n".join([*lines, f'{command.name}({scope}"$<$<COMPILE_LANGUAGE:HIP>:{";".join(kept)}>")'])
    yield cmake.finding(
        RULE, file, command, "flags for CUDA sources: HIP sources get none of them", cmake.added(file, command, twin)
    )


def _filtered(flags: list[str], text: str) -> list[str]:
    """Lines that set a list of flags, some of them in variables, without those of nvcc's that the file names."""
    return [
        f'string(REPLACE ";" " " {_FILTERED} " {";".join(flags)}")',
        *filter_lines(_FILTERED, text),
        f"separate_arguments({_FILTERED})",
    ]


def _joined(command: Command) -> list[str]:
    """Arguments, with a generator expression that was split at spaces put together again."""
    words: list[str] = []
    open_brackets = 0
    for word in command.words():
        if open_brackets > 0:
            words[-1] += f";{word}"
        else:
            words.append(word)
        open_brackets = words[-1].count("$<") - words[-1].count(">")
    return words


def _setting(name: str, value: str) -> str:
    """The twin's line; a standard below the one that ROCm's libraries ask for is raised to it."""
    if not name.endswith("_STANDARD") or (value.isdigit() and value != "98" and int(value) >= _STANDARD):
        return f"set({name} {value})"
    why = "# rocThrust and hipCUB ask for it"
    if value.isdigit():
        return f"set({name} {_STANDARD}) {why}"
    return f"set({name} {value})\nif({name} LESS {_STANDARD})\n  set({name} {_STANDARD}) {why}\nendif()"


def _variables(file: cmake.CMakeFile, command: Command) -> Iterator[Finding]:
    words = list(command.words())
    at = 0 if command.name == "set" else 1
    if len(words) <= at + 1 or cmake.has_addition(file, command):
        return
    name = words[at]
    found = re.fullmatch(r"CMAKE_CUDA_(FLAGS(?:_[A-Z]+)?|STANDARD(?:_REQUIRED)?|EXTENSIONS)", name)
    if not found:
        return
    twin_name = f"CMAKE_HIP_{found.group(1)}"
    if not found.group(1).startswith("FLAGS"):
        yield cmake.finding(
            RULE,
            file,
            command,
            f"{name} is not read for HIP sources",
            cmake.added(file, command, _setting(twin_name, words[at + 1])),
        )
        return
    text = " ".join(word for word in words[at + 1 :] if word not in ("CACHE", "STRING", "FORCE"))
    flags, obstacles = cmake.hip_flags(re.sub(r"\$\{CMAKE_CUDA_FLAGS\w*\}", "", text))
    if obstacles:
        yield cmake.finding(RULE, file, command, f"nvcc flags without a HIP form: {'; '.join(obstacles)}")
    elif flags:
        twin = f'set({twin_name} "${{{twin_name}}} {" ".join(flags)}")'
        if any("${" in flag for flag in flags):
            twin = "\n".join([twin, *filter_lines(twin_name, file.text)])
        yield cmake.finding(
            RULE, file, command, f"{name} is not read for HIP sources", cmake.added(file, command, twin)
        )
