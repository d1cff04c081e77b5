"""A code's page: what is found, why it matters, what to do, who says so.

Pages are the docstrings of the files named after their code (`kp103_rocm_torch_overwritten.py`), read without
importing them. A new family of rules plugs in by naming its folder in `FOLDERS`.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent.parent
FOLDERS = ("doctor/checks", "port/rules")
SECTIONS = ("What", "Why", "Fix", "Source")


@dataclass(frozen=True)
class Page:
    """One page. `sections` maps What, Why, Fix and Source to their text."""

    code: str
    name: str
    title: str
    sections: dict[str, str]

    def text(self) -> str:
        """The page for a terminal."""
        parts = [f"{self.code} {self.name}", self.title, ""]
        parts += [f"{name}: {body}\n" for name, body in self.sections.items()]
        return "\n".join(parts).rstrip() + "\n"

    def markdown(self) -> str:
        """The page for docs/rules."""
        parts = [f"# {self.code} {self.name}", "", self.title, ""]
        for name, body in self.sections.items():
            parts += [f"## {name}", "", body, ""]
        return "\n".join(parts).rstrip() + "\n"


def page(code: str) -> Page | None:
    """The page of a code such as KP103, in any case; None if there is no such code."""
    return all_pages().get(code.strip().upper())


@cache
def all_pages() -> dict[str, Page]:
    """Every page by code."""
    pages = {}
    for folder in FOLDERS:
        for path in sorted((PACKAGE / folder).rglob("kp[0-9]*_*.py")):
            found = _read(path)
            pages[found.code] = found
    return dict(sorted(pages.items()))


def _read(path: Path) -> Page:
    code, _, name = path.stem.partition("_")
    docstring = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    title, _, rest = docstring.partition("\n")
    sections: dict[str, str] = {}
    current = ""
    for line in rest.splitlines():
        match = re.match(rf"({'|'.join(SECTIONS)}):\s*(.*)", line)
        if match:
            current, text = match.groups()
            sections[current] = text
        elif current and line.strip():
            sections[current] += "\n" + line.strip()
    return Page(code.upper(), name.replace("_", "-"), title.strip(), sections)
