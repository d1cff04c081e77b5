"""CMake: commands with the HIP option off, compared argument by argument."""

from __future__ import annotations

import re
from dataclasses import dataclass

from kernel_pytorch.verify.isolation.verdict import FileVerdict, Isolation

_GATES = re.compile(
    r"^(USE|ENABLE|WITH|BUILD|GGML|LLAMA|\w+_USE|\w+_ENABLE)_(HIP|ROCM|AMD|HIPBLAS)$|^(HIP_FOUND|hip_FOUND|USE_ROCM)$"
)
_TOKEN = re.compile(
    r"(?P<space>\s+)|(?P<bracket_comment>\#\[(?P<c>=*)\[.*?\](?P=c)\])|(?P<comment>\#[^\n]*)"
    r"|(?P<bracket>\[(?P<b>=*)\[.*?\](?P=b)\])|(?P<quoted>\"(?:[^\"\\]|\\.)*\")|(?P<paren>[()])"
    r"|(?P<word>(?:[^\s()#\"\\]|\\.|\"(?:[^\"\\]|\\.)*\")+)",
    re.DOTALL,
)

_OPENINGS, _CLOSINGS = re.compile(r"\[=*\["), re.compile(r"\]=*\]")
_MOST_UNCLOSED = 100


@dataclass(frozen=True)
class Command:
    """One `name(arguments)`, its name in lower case as CMake does not mind."""

    name: str
    arguments: tuple[str, ...]
    line: int
    unsure: bool = False


def read_commands(source: str) -> list[Command] | None:
    """All commands, or None where the text is not CMake as we read it."""
    if len(_OPENINGS.findall(source)) > len(_CLOSINGS.findall(source)) + _MOST_UNCLOSED:
        return None  # each would be looked for to the end of the text
    commands: list[Command] = []
    name, line, depth = "", 1, 0
    arguments: list[str] = []
    at = 1
    for match in _TOKEN.finditer(source):
        kind, text = match.lastgroup, match.group()
        if kind in ("space", "comment", "bracket_comment", "c"):
            pass
        elif text == "(" and kind == "paren":
            depth += 1
            if depth > 1:
                arguments.append(text)
        elif text == ")" and kind == "paren":
            depth -= 1
            if depth == 0:
                commands.append(Command(name.lower(), tuple(arguments), line))
                arguments = []
            elif depth < 0:
                return None
            else:
                arguments.append(text)
        elif depth == 0:
            name, line = text, at
        else:
            arguments.append(text)
        at += text.count("\n")
    return commands if depth == 0 else None


def _value(arguments: tuple[str, ...]) -> bool | None:
    """A condition with the HIP options off: True, False, or None where it asks for something else as well."""
    words = list(arguments)
    if len(words) == 1:
        return False if _GATES.match(words[0].strip('"').removeprefix("${").removesuffix("}")) else None
    if len(words) == 3 and words[1].upper() == "STREQUAL":
        # `if(GPU_LANG STREQUAL "HIP")`: a variable that names the language of the build.
        language = words[2].strip('"').upper()
        return False if language in ("HIP", "ROCM") else True if language == "CUDA" else None
    # CMake's order: NOT binds closer than AND, AND closer than OR.
    for joiner, decides in (("OR", True), ("AND", False)):
        parts = _split(words, joiner)
        if len(parts) > 1:
            values = [_value(tuple(part)) for part in parts]
            if any(value is decides for value in values):
                return decides
            return (not decides) if all(value is not None for value in values) else None
    if words and words[0].upper() == "NOT":
        inner = _value(tuple(words[1:]))
        return None if inner is None else not inner
    if words and words[0] == "(" and words[-1] == ")":
        return _value(tuple(words[1:-1]))
    return None


def _reduced(arguments: tuple[str, ...]) -> tuple[str, ...]:
    """A condition that asks for something else as well, without what the HIP options decide: `USE_HIP OR (X)` is X."""
    for joiner in ("OR", "AND"):
        parts = _split(list(arguments), joiner)
        left = [part for part in parts if _value(tuple(part)) is None]
        if len(parts) > 1 and len(left) < len(parts):
            if len(left) == 1:
                return tuple(left[0][1:-1] if _is_in_brackets(left[0]) else left[0])
            return tuple(word for number, part in enumerate(left) for word in ([joiner] if number else []) + part)
    return arguments


def _is_in_brackets(words: list[str]) -> bool:
    """Whether the first bracket is closed by the last one."""
    depth = 0
    for number, word in enumerate(words):
        depth += (word == "(") - (word == ")")
        if depth == 0:
            return number == len(words) - 1 and word == ")"
    return False


def _split(words: list[str], joiner: str) -> list[list[str]]:
    parts: list[list[str]] = [[]]
    depth = 0
    for word in words:
        depth += (word == "(") - (word == ")")
        if word.upper() == joiner and depth == 0:
            parts.append([])
        else:
            parts[-1].append(word)
    return parts


def fold_commands(commands: list[Command]) -> list[Command]:
    """The commands that run with the HIP options off."""
    out: list[Command] = []
    # Per open if(): (the text around it runs, a branch is certainly taken, the current one runs, one was written)
    stack: list[list[bool]] = []
    for command in commands:
        live = not stack or (stack[-1][0] and stack[-1][2])
        if command.name == "if":
            known = _value(command.arguments)
            stack.append([live, known is True, known is not False, live and known is None])
            if live and known is None:
                out.append(_marked(command))
        elif command.name == "elseif" and stack:
            frame = stack[-1]
            known = _value(command.arguments)
            frame[2] = not frame[1] and known is not False
            if frame[0] and frame[2] and known is None:
                out.append(_marked(command) if frame[3] else _marked(Command("if", command.arguments, command.line)))
                frame[3] = True
            elif frame[0] and frame[2] and frame[3]:
                out.append(Command("else", (), command.line))
            frame[1] = frame[1] or known is True
        elif command.name == "else" and stack:
            frame = stack[-1]
            frame[2] = not frame[1]
            if frame[0] and frame[2] and frame[3]:
                out.append(Command("else", (), command.line))
            frame[1] = True
        elif command.name == "endif" and stack:
            frame = stack.pop()
            if frame[0] and frame[3]:
                out.append(Command("endif", (), command.line))
        elif live and not _is_gate_definition(command):
            out.append(command)
    return out


def _marked(command: Command) -> Command:
    arguments = _reduced(command.arguments)
    unsure = any(re.search(r"hip|rocm", word, re.IGNORECASE) for word in arguments)
    return Command(command.name, arguments, command.line, unsure)


def _is_gate_definition(command: Command) -> bool:
    if command.name in ("option", "cmake_dependent_option") and command.arguments:
        off = command.arguments[-1].upper() in ("OFF", "FALSE", "0", "NO") or len(command.arguments) < 3
        return bool(_GATES.match(command.arguments[0])) and off
    return False


def compare_cmake(path: str, old: bytes, new: bytes) -> FileVerdict:
    """Whether both files run the same commands with the HIP options off."""
    before = read_commands(old.decode("utf-8-sig", errors="replace"))
    after = read_commands(new.decode("utf-8-sig", errors="replace"))
    if before is None or after is None:
        return FileVerdict(path, Isolation.NOT_PROVEN, "brackets do not match: not read as CMake")
    left, right = fold_commands(before), fold_commands(after)
    for a, b in zip(left, right, strict=False):
        if (a.name, a.arguments) != (b.name, b.arguments):
            unsure = a.unsure or b.unsure
            verdict = Isolation.NOT_PROVEN if unsure else Isolation.CHANGED
            return FileVerdict(path, verdict, f"{_shown(a)} became {_shown(b)}", b.line, a.line)
    if len(left) != len(right):
        longer = right if len(right) > len(left) else left
        extra = longer[min(len(left), len(right))]
        which = "new" if longer is right else "gone"
        verdict = Isolation.NOT_PROVEN if extra.unsure else Isolation.CHANGED
        return FileVerdict(path, verdict, f"{_shown(extra)} is {which}", extra.line if which == "new" else None)
    return FileVerdict(path, Isolation.PROVEN, "the same commands with the HIP options off")


def _shown(command: Command) -> str:
    text = f"{command.name}({' '.join(command.arguments)})"
    return f"`{text if len(text) < 70 else text[:67] + '...'}`"
