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


# Every pattern takes time in proportion to what it takes in, also where it fails: a text may be a megabyte of anything.
_SPACE = re.compile(r"\s+")
_COMMENT = re.compile(r"#[^\n]*")
_OPENING = re.compile(r"\[(=*)\[\n?")
_NAME = re.compile(r"([A-Za-z_]\w*)([ \t]*\()?")
_MOST_CONDITIONS = 200
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
        behind = _skipped(text, position)
        if behind > position:
            position = behind
            continue
        name = _NAME.match(text, position)
        if name is None or name.group(2) is None:
            position = name.end() if name is not None else position + 1
            continue
        arguments, end = _arguments(text, name.end())
        command = name.group(1).lower()
        condition = " ".join(argument.text for argument in arguments)
        if command == "endif" and stack:
            stack.pop()
        if command in ("else", "elseif") and stack:
            stack[-1] = f"{stack[-1]} | {command} {condition}"
        functions += (command == "function") - (command == "endfunction")
        found.append(
            Command(command, name.start(), end, tuple(arguments), tuple(stack[:_MOST_CONDITIONS]), functions > 0)
        )
        if command == "if":
            stack.append(condition)
        position = end
    return tuple(found)


def _skipped(text: str, position: int) -> int:
    """Where the white space or comment at a position ends; the position itself where there is none."""
    space = _SPACE.match(text, position)
    if space is not None:
        return space.end()
    if text[position] != "#":
        return position
    bracket = _bracket(text, position + 1)
    comment = _COMMENT.match(text, position)
    return bracket[1] if bracket is not None else comment.end() if comment is not None else position


def _bracket(text: str, position: int) -> tuple[str, int] | None:
    """What stands between `[==[` and `]==]`, and where that ends."""
    opening = _OPENING.match(text, position)
    if opening is None:
        return None
    closing = f"]{opening.group(1)}]"
    if _last(text, closing) < opening.end():
        return None
    end = text.index(closing, opening.end())
    return text[opening.end() : end], end + len(closing)


@lru_cache(maxsize=64)
def _last(text: str, mark: str) -> int:
    """Where a mark stands last. Kept: thousands of brackets that nothing closes must not be looked for one by one."""
    return text.rfind(mark)


def _arguments(text: str, position: int) -> tuple[list[Argument], int]:
    """The arguments after an opening parenthesis, and where the command ends. Nested parentheses are arguments too."""
    found: list[Argument] = []
    depth = 1
    while position < len(text):
        behind = _skipped(text, position)
        if behind > position:
            position = behind
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
            bracket = _bracket(text, position)
            if bracket is not None:
                found.append(Argument(bracket[0], position, bracket[1], True))
                position = bracket[1]
                continue
            quoted = _QUOTED.match(text, position)
            match = quoted or _UNQUOTED.match(text, position)
            if match is None:
                position += 1
                continue
            value = quoted.group(1) if quoted else match.group()
            found.append(Argument(value, match.start(), match.end(), bool(quoted)))
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
