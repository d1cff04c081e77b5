"""Gates for a CMake file that a trial asked for. Which of them helps is decided by another trial, not here."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kernel_pytorch.core.findings import Edit, Span
from kernel_pytorch.port.build_files.cmake import SOURCES, CMakeFile, left_out
from kernel_pytorch.port.build_files.cmake_text import Command, commands, is_gated
from kernel_pytorch.port.source import SourceFile

_VENDOR = re.compile(r"hip|rocm|amd", re.IGNORECASE)
_BLOCKS = ("if", "elseif", "else", "endif", "foreach", "endforeach", "function", "endfunction", "macro", "endmacro")


def cmake_of(src: SourceFile) -> CMakeFile:
    """Any CMake file, as the edits need it."""
    text = src.data.decode("latin-1")
    return CMakeFile(src, text, commands(text))


def gated_condition(file: CMakeFile, start: int, on_cuda: bool) -> tuple[Edit, ...] | None:
    """The condition of an if(), with CUDA's answer where USE_HIP is on. None where it asks for the vendor itself."""
    command = next((one for one in file.commands if one.start == start), None)
    if command is None or not command.arguments or _VENDOR.search(" ".join(command.words())) or is_gated(command):
        return None
    first, last = file.text.index("(", command.start) + 1, command.end - 1
    gate = "USE_HIP OR (" if on_cuda else "NOT USE_HIP AND ("
    return (Edit(Span(first, first), gate.encode()), Edit(Span(last, last), b")"))


def hip_sources(src: SourceFile) -> tuple[Edit, ...]:
    """The .cu files of a folder's targets marked as HIP sources, at the end of its file; nothing where they are."""
    text = src.data.decode("latin-1")
    if "kpt_targets" in text:
        return ()
    addition = SOURCES if text.endswith("\n") else "\n" + SOURCES
    newline = "\r\n" if "\r\n" in text else "\n"
    return (Edit(Span(len(src.data), len(src.data)), addition.replace("\n", newline).encode()),)


def past_line(file: CMakeFile, line: int) -> Iterator[tuple[Edit, ...]]:
    """Ways around a command that stops the configuration where USE_HIP is on."""
    command = _at(file, line)
    if command is None or is_gated(command):
        return
    if command.name in ("if", "elseif"):
        for answer in (True, False):
            edits = gated_condition(file, command.start, answer)
            if edits is not None:
                yield edits
    elif command.name not in _BLOCKS:
        yield left_out(file, command)


def _at(file: CMakeFile, line: int) -> Command | None:
    found = None
    for command in file.commands:
        if file.text.count("\n", 0, command.start) + 1 <= line:
            found = command
    return found
