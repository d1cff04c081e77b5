"""Words that belong to another command: those after `--`, and a command given as the value of an option."""

from __future__ import annotations

import argparse
import shlex
import shutil
import sys
from collections.abc import Sequence
from typing import Any

from kernel_pytorch.core.errors import UsageError


def keep_words_after_dashes(parser: argparse.ArgumentParser, name: str) -> None:
    """Everything after `--` becomes the list `name`; argparse alone would take it for more files."""
    parse = parser.parse_known_args

    def split(args: Sequence[str] | None = None, namespace: Any = None) -> tuple[Any, list[str]]:
        words = list(sys.argv[1:] if args is None else args)
        at = words.index("--") if "--" in words else len(words)
        parsed, unknown = parse(words[:at], namespace)
        setattr(parsed, name, words[at + 1 :])
        return parsed, unknown

    parser.parse_known_args = split  # type: ignore[method-assign, assignment]


def command_words(option: str, command: str | None) -> tuple[str, ...]:
    """A command as a shell would split it. Raises UsageError where it is none, or not installed."""
    if command is None:
        return ()
    try:
        words = tuple(shlex.split(command))
    except ValueError as error:
        raise UsageError(f"{option} {command!r}: {error}") from error
    if not words or shutil.which(words[0]) is None:
        raise UsageError(f"{option} {command!r}: no such command here")
    return words
