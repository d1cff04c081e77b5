"""TOML with line numbers: the standard parser gives none, so places are looked up in the text."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

from kernel_pytorch.port.deps.model import DependencyFileError
from kernel_pytorch.port.deps.read_requirements import read_text

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

_AT_LINE = re.compile(r"\(at line (\d+)")


class TomlText:
    """A parsed TOML file that can say on which line a string or a key stands."""

    def __init__(self, path: Path, shown: str) -> None:
        text = read_text(path, shown)
        try:
            self.data: dict[str, Any] = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            place = _AT_LINE.search(str(error))
            line = int(place[1]) if place else max(1, text.count("\n"))
            raise DependencyFileError(shown, line, f"not valid TOML: {error}") from error
        self.shown = shown
        self.lines = text.splitlines()

    def table_line(self, dotted: str) -> int:
        """Line of the header `[dotted]`, or of the first header below it, or 1."""
        plain = re.compile(r"^\s*\[+\s*" + re.escape(dotted) + r"\s*(\.|\])")
        for number, line in enumerate(self.lines, 1):
            if plain.match(line.replace('"', "").replace("'", "")):
                return number
        return 1

    def string_line(self, value: str, table: str, key: str = "") -> int:
        """Line of a quoted string at or below a key or a table's header; the header itself if it is not found."""
        header = self.table_line(table)
        start = self.key_line(key, table) if key else header
        quoted = (f'"{value}"', f"'{value}'", '"' + value.replace('"', '\\"') + '"')
        for number in range(start, len(self.lines) + 1):
            if any(form in self.lines[number - 1] for form in quoted):
                return number
        return self.string_line(value, table) if start > header else header

    def key_line(self, key: str, table: str) -> int:
        """Line of `key = ...` below a table's header, or of `[table.key]`, or the header itself."""
        start = self.table_line(table)
        wanted = re.compile(r"""^\s*["']?""" + re.escape(key) + r"""["']?\s*[=.]""")
        for number in range(start, len(self.lines) + 1):
            line = self.lines[number - 1]
            if wanted.match(line):
                return number
            if number > start and re.match(r"^\s*\[", line):
                break
        nested = self.table_line(f"{table}.{key}")
        return nested if nested > 1 else start

    def get(self, *keys: str) -> Any:
        """The value under nested keys, or None."""
        value: Any = self.data
        for key in keys:
            if not isinstance(value, dict):
                return None
            value = value.get(key)
        return value
