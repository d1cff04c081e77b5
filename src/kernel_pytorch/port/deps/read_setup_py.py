"""Read setup.py without running it."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

from kernel_pytorch.port.deps.model import Declared, DependencyFileError, NotRead, PythonRange, Reading
from kernel_pytorch.port.deps.packages import normalize
from kernel_pytorch.port.deps.read_requirements import read_text
from kernel_pytorch.port.deps.requirement_text import parse, strip_comment
from kernel_pytorch.port.deps.static_python import StaticModule, TooLong
from kernel_pytorch.port.deps.static_values import UNKNOWN, Unknown


def read_setup_py(path: Path, shown: str) -> Reading:
    """What `setup(...)` would be told, where that can be worked out; the rest is listed with its line."""
    text = read_text(path, shown)
    try:
        tree = ast.parse(text)
    except SyntaxError as error:
        raise DependencyFileError(shown, error.lineno or 1, f"not valid Python: {error.msg}") from error
    try:
        module = StaticModule(tree, path.parent)
    except (TooLong, RecursionError):
        reason = "too much computation to follow without running it"
        return Reading(shown, "setup.py", not_read=(NotRead(shown, 1, reason),))
    found = _Found(shown, text.splitlines())
    for call, scope in module.setup_calls:
        for keyword in call.keywords:
            if keyword.arg is None:
                held = module.value(keyword.value, scope)
                for name, value in (held if isinstance(held, dict) else {}).items():
                    found.argument(str(name), value, keyword.value.lineno)
                if not isinstance(held, dict):
                    found.missing(keyword.value.lineno, ast.unparse(keyword.value))
            else:
                found.argument(keyword.arg, module.value(keyword.value, scope), keyword.value.lineno)
    unread = [
        NotRead(shown, line, f"computed when it runs, so not read: {', '.join(dict.fromkeys(what))}")
        for line, what in found.unread.items()
    ]
    notes = tuple(
        f"{shown}:{line}: this condition is decided when setup.py runs; both sides were read"
        for line in module.conditions
        if found.declared and _mentions_requirements(tree, line, module)
    )
    return Reading(
        shown, "setup.py", tuple(found.declared), python=tuple(found.python), not_read=(*found.not_read, *unread),
        notes=notes, names=tuple(found.names),
    )  # fmt: skip


def _mentions_requirements(tree: ast.Module, line: int, module: StaticModule) -> bool:
    """Whether the `if` on this line names one of the variables handed to setup()."""
    handed = {
        name.id
        for call, _ in module.setup_calls
        for keyword in call.keywords
        if keyword.arg in {"install_requires", "extras_require", None}
        for name in ast.walk(keyword.value)
        if isinstance(name, ast.Name)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and node.lineno == line:
            return any(isinstance(name, ast.Name) and name.id in handed for name in ast.walk(node))
    return False


class _Found:
    def __init__(self, shown: str, lines: list[str]) -> None:
        self.shown = shown
        self.lines = lines
        self.declared: list[Declared] = []
        self.python: list[PythonRange] = []
        self.not_read: list[NotRead] = []
        self.names: list[str] = []
        self.unread: dict[int, list[str]] = {}

    def argument(self, name: str, value: Any, line: int) -> None:
        if name == "install_requires":
            self._requirements(value, line, "", "runtime", name)
        elif name == "setup_requires":
            self._requirements(value, line, "", "build", name)
        elif name == "extras_require":
            if not isinstance(value, dict):
                self.missing(line, name)
                return
            for extra, values in value.items():
                group, _, marker = str(extra).partition(":")
                self._requirements(values, line, normalize(group), "runtime", f"{name}[{extra!r}]", marker)
        elif name == "python_requires" and isinstance(value, str):
            self.python.append(PythonRange(value, self.shown, line))
        elif name == "name" and isinstance(value, str):
            self.names.append(normalize(value))

    def missing(self, line: int, what: str) -> None:
        self.unread.setdefault(line, []).append(what)

    def _requirements(self, value: Any, line: int, group: str, role: str, what: str, marker: str = "") -> None:
        if isinstance(value, str):
            value = value.splitlines()
        if isinstance(value, Unknown) or not isinstance(value, (list, tuple)):
            if value not in (None, []):
                self.missing(line, what)
            return
        if any(entry is UNKNOWN for entry in value):
            self.missing(line, f"part of {what}")
        for entry in value:
            body = strip_comment(entry) if isinstance(entry, str) else ""
            if not body or body.startswith("-"):
                continue
            place = self._line(body, line)
            try:
                text = f"{body}; {marker}" if marker else body
                self.declared.append(parse(text, self.shown, place, group=group, role=role))
            except ValueError as error:
                self.not_read.append(NotRead(self.shown, place, str(error)))

    def _line(self, text: str, default: int) -> int:
        return next((number for number, line in enumerate(self.lines, 1) if text in line), default)
