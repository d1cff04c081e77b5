"""What `make -n` prints, read as nvcc commands: which sources they compile, with which macros and include folders."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath

_FOLDER = re.compile(r"\S*make(?:\[\d+\])?: (Entering|Leaving) directory [`'\"](.*)['\"]")
_BETWEEN_COMMANDS = re.compile(r"[;&|()]+")
# A word that hands its value on to the host's compiler.
_HANDS_ON = ("-Xcompiler", "--compiler-options")
_KINDS = {
    "-D": "D", "--define-macro": "D",
    "-I": "I", "-isystem": "I", "--include-path": "I", "--system-include": "I",
    "-include": "include", "--pre-include": "include",
    "-std": "std", "--std": "std",
}  # fmt: skip
# A switch that is on or off, not a folder or a list of flags.
_GPU = re.compile(r"(?:\A|_)(?:CUDA|GPU|NVIDIA|CUBLAS)(?:_|\Z)", re.IGNORECASE)
_NO_SWITCH = re.compile(
    r"(?:PATH|DIR|HOME|ROOT|FLAGS?|LIBS?|INC\w*|ARCH\w*|CC|VERSION|PREFIX|TOOLKIT|GENCODE\w*)\Z", re.IGNORECASE
)
_VARIABLE = r"\$[({](?P<name>\w+)[)}]"
_EQUAL = re.compile(
    rf"\s*ifeq\s*(?:\(\s*{_VARIABLE}\s*,\s*(?P<value>\w+)\s*\)|\(\s*(?P<before>\w+)\s*,\s*\$[({{](?P<after>\w+)[)}}]\s*\)"
    rf"|[\"']\$[({{](?P<quoted>\w+)[)}}][\"']\s+[\"'](?P<its>\w+)[\"'])"
)
_SET = re.compile(
    rf"\s*(?:ifdef\s+(?P<defined>\w+)|ifneq\s*\(\s*{_VARIABLE}\s*,\s*(?:0|no|off|false)?\s*\))", re.IGNORECASE
)
_OFF = frozenset({"0", "no", "off", "false", "n"})


@dataclass(frozen=True)
class MakeUnit:
    """A source that a Makefile gives to nvcc. Folders are absolute."""

    source: Path
    defines: tuple[str, ...] = ()
    include_dirs: tuple[Path, ...] = ()
    included: tuple[str, ...] = ()  # headers that a flag includes first
    std: str = ""


def gpu_switches(text: str) -> tuple[str, ...]:
    """`GPU=1` for every condition of a Makefile that asks whether GPU code is wanted, as make takes it."""
    found: dict[str, str] = {}
    for line in text.splitlines():
        asked = _EQUAL.match(line)
        if asked:
            name = asked["name"] or asked["after"] or asked["quoted"]
            value = asked["value"] or asked["before"] or asked["its"]
        elif asked := _SET.match(line):
            name, value = asked["defined"] or asked["name"], "1"
        else:
            continue
        if value.lower() not in _OFF and _GPU.search(name) and not _NO_SWITCH.search(name):
            found.setdefault(name, value)
    return tuple(f"{name}={value}" for name, value in found.items())


def nvcc_units(output: str, start: Path) -> tuple[MakeUnit, ...]:
    """The .cu sources of the nvcc commands in what `make -n -w` printed in the folder `start`, each once."""
    units: dict[Path, MakeUnit] = {}
    folders = [start]
    for line in _joined(output):
        moved = _FOLDER.match(line)
        if moved and moved[1] == "Entering":
            folders.append(Path(moved[2]))
        elif moved:
            folders = folders[:-1] or [start]
        elif "nvcc" in line and ".cu" in line:
            for folder, words in _commands(line, folders[-1]):
                for unit in _units(folder, words):
                    units.setdefault(unit.source, unit)
    return tuple(units.values())


def _joined(output: str) -> Iterator[str]:
    yield from re.sub(r"\\\r?\n", " ", output).splitlines()


def _commands(line: str, folder: Path) -> Iterator[tuple[Path, list[str]]]:
    """The simple commands of a line of shell, each with the folder that it runs in."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars=";&|()")
    lexer.whitespace_split = True
    lexer.commenters = ""
    try:
        words = list(lexer)
    except ValueError:
        return  # a quote that never ends: no command that can be read
    command: list[str] = []
    for word in [*words, ";"]:
        if not _BETWEEN_COMMANDS.fullmatch(word):
            command.append(word)
            continue
        if len(command) == 2 and command[0] == "cd":
            folder = folder / command[1]
        elif command:
            yield folder, command
        command = []


def _units(folder: Path, words: Sequence[str]) -> Iterator[MakeUnit]:
    # Behind ccache, or behind variables that are set for it.
    at = next((index for index, word in enumerate(words) if PurePath(word).name == "nvcc"), None)
    if at is None:
        return
    flags = list(_flags(words[at + 1 :]))
    defines = tuple(value for kind, value in flags if kind == "D")
    included = tuple(value for kind, value in flags if kind == "include")
    include_dirs = tuple(dict.fromkeys(folder / value for kind, value in flags if kind == "I"))
    std = next((value for kind, value in flags if kind == "std"), "")
    for word in words[at + 1 :]:
        if word.endswith(".cu") and not word.startswith("-"):
            yield MakeUnit(folder / word, defines, include_dirs, included, std)


def _flags(words: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Kind and value of each flag that matters, those for the host's compiler too."""
    rest = list(words)
    while rest:
        word = rest.pop(0)
        name, equals, value = word.partition("=")
        if word in _HANDS_ON or (name in _HANDS_ON and equals):
            handed = value if equals else (rest.pop(0) if rest else "")
            yield from _flags([part for piece in handed.split() for part in piece.strip("\"'").split(",")])
        elif word in _KINDS:
            if rest:
                yield _KINDS[word], rest.pop(0)
        elif name in _KINDS and equals and (name.startswith("--") or name == "-std"):
            yield _KINDS[name], value
        elif word[:2] in ("-D", "-I"):
            yield word[1], word[2:]
