"""A Jupyter notebook: its code cells as one Python file, its shell lines, and where each line is."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

_SHELL_CELL = re.compile(r"%%(?:bash|sh|shell|script|cmd|system|!)\b|%%!")
_OTHER_CELL = re.compile(r"%%(?!time\b|timeit\b|capture\b|prun\b|debug\b)\w+")
_MAGIC = re.compile(r"^(\s*)(?:[\w, .\[\]]+=\s*)?([!%?])(?!=)\s*(.*)$")


@dataclass(frozen=True)
class NotebookLine:
    """One line of a code cell. `number` is its line in the file, `cell` counts the code cells from 1."""

    text: str
    number: int
    cell: int


def notebook_cells(data: bytes) -> list[list[NotebookLine]] | None:
    """The code cells of a notebook; None where the file is no notebook."""
    try:
        text = data.decode("utf-8-sig")
        cells = json.loads(text)["cells"]
        sources = [cell.get("source", "") for cell in cells if cell.get("cell_type") == "code"]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
    found: list[list[NotebookLine]] = []
    at, number = 0, 1
    for index, source in enumerate(sources, 1):
        cell: list[NotebookLine] = []
        for line in "".join(source).splitlines(keepends=True) if isinstance(source, (str, list)) else ():
            before, at = at, _place(text, line, at)
            number += text.count("\n", before, at)
            cell.append(NotebookLine(line.rstrip("\n"), number, index))
        found.append(cell)
    return found


def _place(text: str, line: str, start: int) -> int:
    """Where a line of a cell stands in the file, behind `start`: usually a JSON string of its own."""
    for written in (json.dumps(line, ensure_ascii=False), json.dumps(line)):
        at = text.find(written[1:-1], start)
        if at >= 0:
            return at
    return start


def shell_lines(cells: list[list[NotebookLine]]) -> Iterator[NotebookLine]:
    """`!pip install x`, `%pip install x`, and the lines of a %%bash cell, without their marks."""
    for cell in cells:
        if cell and _SHELL_CELL.match(cell[0].text):
            yield from cell[1:]
            continue
        for line in cell:
            match = _MAGIC.match(line.text)
            if match is not None and match[2] in "!%":
                yield replace(line, text=match[3].lstrip("!%"))


def python_text(cells: list[list[NotebookLine]]) -> tuple[bytes, list[NotebookLine]]:
    """All Python of a notebook as one file, and the notebook's line for each of its lines."""
    lines: list[str] = []
    places: list[NotebookLine] = []
    for cell in cells:
        if cell and (_SHELL_CELL.match(cell[0].text) or _OTHER_CELL.match(cell[0].text)):
            continue
        plain = [_MAGIC.sub(r"\1pass", line.text) for line in cell]
        try:
            ast.parse("\n".join(plain))
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue  # a sketch, or another kernel's language
        lines += plain
        places += cell
    return "\n".join(lines).encode(), places
