"""What a CMake file needs for HIP, as insertions only: with USE_HIP off the file does what it did."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from kernel_pytorch.core.findings import Edit, Finding, Span
from kernel_pytorch.port.build_files.cmake_text import Command, commands, is_gated, knows_hip
from kernel_pytorch.port.build_files.nvcc_flags import libraries, map_flags
from kernel_pytorch.port.rule import Rule
from kernel_pytorch.port.source import SourceFile

OPTION = 'option(USE_HIP "Build for AMD GPUs with HIP" OFF)'
# CMake detects the architectures itself where nothing is said; these two are what ROCm's own projects are given.
ARCHITECTURES = """if(NOT DEFINED CMAKE_HIP_ARCHITECTURES AND DEFINED GPU_TARGETS)
  set(CMAKE_HIP_ARCHITECTURES "${GPU_TARGETS}")
elseif(NOT DEFINED CMAKE_HIP_ARCHITECTURES AND DEFINED AMDGPU_TARGETS)
  set(CMAKE_HIP_ARCHITECTURES "${AMDGPU_TARGETS}")
endif()"""
# CMake's HIP language does not define it, and the gates of ported sources ask for it.
PLATFORM = "add_compile_definitions(__HIP_PLATFORM_AMD__=1)"
SOURCES = """
if(USE_HIP)
  # The .cu files of this folder's targets are HIP sources.
  get_property(kpt_targets DIRECTORY PROPERTY BUILDSYSTEM_TARGETS)
  foreach(kpt_target IN LISTS kpt_targets)
    get_target_property(kpt_sources ${kpt_target} SOURCES)
    if(kpt_sources)
      list(FILTER kpt_sources INCLUDE REGEX "\\\\.cu$")
      set_source_files_properties(${kpt_sources} PROPERTIES LANGUAGE HIP)
    endif()
  endforeach()
endif()
"""
# The same for the copy layout.
TWIN_SOURCES = """
if(USE_HIP)
  # The .hip twins of this folder's .cu files are built.
  get_property(kpt_targets DIRECTORY PROPERTY BUILDSYSTEM_TARGETS)
  foreach(kpt_target IN LISTS kpt_targets)
    get_target_property(kpt_sources ${kpt_target} SOURCES)
    if(kpt_sources)
      list(TRANSFORM kpt_sources REPLACE "\\\\.cu$" ".hip")
      set_property(TARGET ${kpt_target} PROPERTY SOURCES ${kpt_sources})
    endif()
  endforeach()
endif()
"""


@dataclass(frozen=True)
class CMakeFile:
    """A file with its text and commands, ready to be asked."""

    src: SourceFile
    text: str
    commands: tuple[Command, ...]


@lru_cache(maxsize=4)
def cmake_file(src: SourceFile) -> CMakeFile | None:
    """The file, or None where nothing is to be done: no CUDA in it, or HIP support of its own."""
    # latin-1: one character per byte, so offsets are byte offsets whatever the encoding.
    text = src.data.decode("latin-1")
    if ("cuda" not in text.lower() and ".cu" not in text) or knows_hip(text):
        return None
    return CMakeFile(src, text, commands(text))


def indent_of(file: CMakeFile, command: Command) -> str:
    """White space before a command on its line."""
    start = file.text.rfind("\n", 0, command.start) + 1
    lead = file.text[start : command.start]
    return lead if not lead.strip() else ""


def newline_of(file: CMakeFile) -> str:
    """The file's own line ending."""
    return "\r\n" if "\r\n" in file.text else "\n"


def gated(file: CMakeFile, command: Command, instead: str, before: str = "") -> tuple[Edit, ...]:
    """`if(USE_HIP) instead else() command endif()`, as insertions around the command's own bytes."""
    indent, newline = indent_of(file, command), newline_of(file)
    lines = [*before.splitlines(), "if(USE_HIP)", *(f"  {line}" for line in instead.splitlines()), "else()"]
    start = command.start - len(indent)
    head = "".join(f"{indent}{line}{newline}" for line in lines)
    end = _line_end(file, command)
    return (_insert(start, head), _insert(end, f"{newline}{indent}endif()"))


def left_out(file: CMakeFile, command: Command) -> tuple[Edit, ...]:
    """`if(NOT USE_HIP) command endif()`."""
    indent, newline = indent_of(file, command), newline_of(file)
    start = command.start - len(indent)
    return (
        _insert(start, f"{indent}if(NOT USE_HIP){newline}"),
        _insert(_line_end(file, command), f"{newline}{indent}endif()"),
    )


def added(file: CMakeFile, command: Command, addition: str) -> tuple[Edit, ...]:
    """`if(USE_HIP) addition endif()` after a command."""
    indent, newline = indent_of(file, command), newline_of(file)
    lines = ["if(USE_HIP)", *(f"  {line}" for line in addition.splitlines()), "endif()"]
    return (_insert(_line_end(file, command), "".join(f"{newline}{indent}{line}" for line in lines)),)


def has_addition(file: CMakeFile, command: Command) -> bool:
    """Whether the next command is an if(USE_HIP): the addition is there already."""
    following = next((one for one in file.commands if one.start >= command.end), None)
    return following is not None and following.name == "if" and "USE_HIP" in " ".join(following.words())


def _line_end(file: CMakeFile, command: Command) -> int:
    """After the command, and after a comment that follows it on its line."""
    found = re.compile(r"[ \t]*(?:#[^\n]*?)?(?=\r?\n|\Z)").match(file.text, command.end)
    return found.end() if found else command.end


def _insert(position: int, text: str) -> Edit:
    return Edit(Span(position, position), text.encode("latin-1"))


def with_twins(after: bytes) -> bytes:
    """A ported file for the copy layout, whose .cu sources have .hip twins."""
    for newline in ("\n", "\r\n"):
        mine, twins = (text.replace("\n", newline).encode() for text in (SOURCES, TWIN_SOURCES))
        after = after.replace(mine, twins)
    return after


def finding(rule: Rule, file: CMakeFile, command: Command, message: str, edits: tuple[Edit, ...] = ()) -> Finding:
    """A finding at a command."""
    return rule.finding(file.src, Span(command.start, command.end), message, edits)


def open_commands(file: CMakeFile, *names: str) -> Iterator[Command]:
    """Commands of these names that are not behind a gate for HIP yet."""
    for command in file.commands:
        if command.name in names and not is_gated(command):
            yield command


def quoted(words: list[str]) -> str:
    """Words as CMake arguments."""
    return " ".join(f'"{word}"' if re.search(r"[\s;]", word) else word for word in words)


def hip_flags(text: str) -> tuple[list[str], list[str]]:
    """Flags for HIP's compiler out of nvcc's, and what stands against it. Architectures are CMake's business."""
    words = _flag_words(text)
    mapped = map_flags(words, arch_flag="")
    flags = [word for word in mapped.words if word and not word.startswith("--offload-arch")]
    return [f'\\"{flag}\\"' if " " in flag and flag in words else flag for flag in flags], mapped.obstacles


def _flag_words(text: str) -> list[str]:
    """The flags of a string. In `-Xcudafe \\"--a --b\\"` what stands between the quotes is one word."""
    plain = text.replace('\\"', '"')
    if plain.count('"') % 2:
        return [word for word in re.split(r"[;\s]+", text) if word]
    return [word.replace('"', "") for word in re.findall(r'(?:"[^"]*"|[^\s;"])+', plain)]


def cuda_targets(command: Command) -> list[str]:
    """The CUDA:: targets among a command's arguments."""
    return [word for word in command.words() if word.startswith("CUDA::")]


def hip_target(name: str) -> str | None:
    """HIP's target for `CUDA::name`; None where a person has to choose; empty where nothing is linked."""
    row = libraries().get(name.removeprefix("CUDA::"))
    if row is None or row.hip == "?":
        return None
    return row.cmake_target or (row.hip if row.hip else "")


def hip_packages(targets: list[str]) -> list[str]:
    """The packages that define HIP's targets."""
    rows = [libraries().get(target.removeprefix("CUDA::")) for target in targets]
    return list(dict.fromkeys(row.cmake_package for row in rows if row is not None and row.cmake_package))
