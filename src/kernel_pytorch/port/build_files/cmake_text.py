"""CMake's syntax: commands with their arguments and places. Any text is read; what is no command is skipped."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache


@dataclass(frozen=True)
class Argument:
    """One argument: its text without quotes, its place with them."""

    text: str
    start: int
    end: int
    quoted: bool


@dataclass(frozen=True)
class Command:
    """One command. `conditions` are the if() conditions around it, outermost first, the branch it is in included."""

    name: str
    start: int
    end: int
    arguments: tuple[Argument, ...]
    conditions: tuple[str, ...]
    is_in_function: bool = False

    def words(self) -> tuple[str, ...]:
        """The arguments' texts."""
        return tuple(argument.text for argument in self.arguments)


_SKIP = re.compile(r"(?:\s|#\[(=*)\[.*?\]\1\]|#[^\n]*)+", re.DOTALL)
_NAME = re.compile(r"([A-Za-z_]\w*)[ \t]*\(")
_BRACKET = re.compile(r"\[(=*)\[\n?(.*?)\]\1\]", re.DOTALL)
_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"', re.DOTALL)
_UNQUOTED = re.compile(r"(?:[^\s()#\"\\]|\\.|\"(?:[^\"\\]|\\.)*\"|\$\([^()]*\))+", re.DOTALL)


@lru_cache(maxsize=8)
def commands(text: str) -> tuple[Command, ...]:
    """The commands of a file, in order."""
    found: list[Command] = []
    stack: list[str] = []
    functions = 0
    position = 0
    while position < len(text):
        skipped = _SKIP.match(text, position)
        if skipped:
            position = skipped.end()
            continue
        name = _NAME.match(text, position)
        if not name:
            position += 1
            continue
        arguments, end = _arguments(text, name.end())
        command = name.group(1).lower()
        condition = " ".join(argument.text for argument in arguments)
        if command == "endif" and stack:
            stack.pop()
        if command in ("else", "elseif") and stack:
            stack[-1] = f"{stack[-1]} | {command} {condition}"
        functions += (command == "function") - (command == "endfunction")
        found.append(Command(command, name.start(), end, tuple(arguments), tuple(stack), functions > 0))
        if command == "if":
            stack.append(condition)
        position = end
    return tuple(found)


def _arguments(text: str, position: int) -> tuple[list[Argument], int]:
    """The arguments after an opening parenthesis, and where the command ends. Nested parentheses are arguments too."""
    found: list[Argument] = []
    depth = 1
    while position < len(text):
        skipped = _SKIP.match(text, position)
        if skipped:
            position = skipped.end()
            continue
        char = text[position]
        if char == "(":
            depth += 1
            position += 1
        elif char == ")":
            depth -= 1
            position += 1
            if depth == 0:
                return found, position
        else:
            bracket = _BRACKET.match(text, position)
            quoted = _QUOTED.match(text, position)
            match = bracket or quoted or _UNQUOTED.match(text, position)
            if match is None:
                position += 1
                continue
            value = bracket.group(2) if bracket else quoted.group(1) if quoted else match.group()
            found.append(Argument(value, match.start(), match.end(), bool(bracket or quoted)))
            position = match.end()
    return found, len(text)


def is_gated(command: Command) -> bool:
    """Whether the command stands in an if() that asks for HIP or ROCm."""
    return any(
        re.search(r"\b(?:USE_HIP|USE_ROCM|HIP_FOUND|\w*_HIP\b|ROCM)", condition) for condition in command.conditions
    )


def knows_hip(text: str) -> bool:
    """Whether a file has HIP support of its own: enable_language(HIP) or find_package(hip) without our option."""
    if "USE_HIP" in text:
        return False
    return any(
        (command.name in ("enable_language", "project", "check_language") and "HIP" in command.words())
        or (command.name == "find_package" and command.words()[:1] in (("hip",), ("HIP",)))
        for command in commands(text)
    )
