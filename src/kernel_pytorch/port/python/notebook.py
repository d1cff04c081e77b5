"""A Jupyter notebook: its code cells as one Python file, its shell lines, and where each line is."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

_SHELL_CELL = re.compile(r"%%(?:bash|sh|shell|script|cmd|system|!)\b|%%!")
_OTHER_CELL = re.compile(r"%%(?!time\b|timeit\b|capture\b|prun\b|debug\b)\w+")
_PYTHON_FILE = re.compile(r"%%(?:writefile|file)\b.*\.py\s*$")
_CUDA_CELL = re.compile(r"%%(?:(?:writefile|file)\b.*\.cuh?\s*$|(?:cu|cuda|nvcc|nvcc_run|cuda_run|cuda_group_save)\b)")
_MAGIC = re.compile(r"^(\s*)(?:[\w, .\[\]]+=\s*)?([!%?])(?!=)\s*(.*)$")
_HELP = re.compile(r"^(\s*)[\w.]+\?{1,2}\s*$")  # `torch.compile?`


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
    for cell in map(_from_its_magic, cells):
        if cell and _SHELL_CELL.match(cell[0].text):
            yield from cell[1:]
            continue
        for line in _whole_magics(cell):
            match = _MAGIC.match(line.text)
            if match is not None and match[2] in "!%":
                yield replace(line, text=match[3].lstrip("!%"))


def _whole_magics(cell: list[NotebookLine]) -> Iterator[NotebookLine]:
    """The lines of a cell, shell commands with the lines that a backslash joins to them."""
    at = 0
    while at < len(cell):
        line, end = cell[at], _magic_end(cell, at)
        parts = [one.text.rstrip().removesuffix("\\") for one in cell[at : end - 1]] + [cell[end - 1].text]
        yield replace(line, text=" ".join(part.strip() if number else part for number, part in enumerate(parts)))
        at = end


def _magic_end(cell: list[NotebookLine], at: int) -> int:
    """Behind the last line of the command that begins at a line; the next line where none begins there."""
    end = at + 1
    if _MAGIC.match(cell[at].text):
        while end < len(cell) and cell[end - 1].text.rstrip().endswith("\\"):
            end += 1
    return end


def _without_magics(cell: list[NotebookLine]) -> list[str]:
    """The lines of a cell with `pass` for what IPython alone understands."""
    plain: list[str] = []
    while len(plain) < len(cell):
        at = len(plain)
        magic = _MAGIC.match(cell[at].text) or _HELP.match(cell[at].text)
        end = _magic_end(cell, at)
        plain += [f"{magic[1]}pass"] * (end - at) if magic else [cell[at].text]
    return plain


def _from_its_magic(cell: list[NotebookLine]) -> list[NotebookLine]:
    """A cell without the comments that Colab writes before its `%%` line."""
    for at, line in enumerate(cell):
        if line.text.startswith("%%"):
            return cell[at:]
        if line.text.strip() and not line.text.startswith("#"):
            break
    return cell


def cuda_cells(cells: list[list[NotebookLine]]) -> Iterator[list[NotebookLine]]:
    """The lines of cells that a magic gives to nvcc or writes into a CUDA file, without the magic."""
    for cell in map(_from_its_magic, cells):
        if cell and _CUDA_CELL.match(cell[0].text):
            yield cell[1:]


def python_text(cells: list[list[NotebookLine]]) -> tuple[bytes, list[NotebookLine]]:
    """All Python of a notebook as one file, and the notebook's line for each of its lines."""
    lines: list[str] = []
    places: list[NotebookLine] = []
    for cell in map(_from_its_magic, cells):
        if cell and _PYTHON_FILE.match(cell[0].text):
            cell = cell[1:]
        elif cell and (_SHELL_CELL.match(cell[0].text) or _OTHER_CELL.match(cell[0].text)):
            continue
        plain = _without_magics(cell)
        try:
            ast.parse("\n".join(plain))
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue  # a sketch, or another kernel's language
        lines += plain
        places += cell
    return "\n".join(lines).encode(), places
