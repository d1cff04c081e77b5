"""Lines of a port that are longer than the project's own formatter lets them be."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from kernel_pytorch.core.errors import UsageError
from kernel_pytorch.core.findings import Patch
from kernel_pytorch.core.toml_file import read_toml

_DEFAULTS = {"ruff": 88, "black": 88}


def line_limit(root: Path) -> tuple[int, str] | None:
    """The project's limit and the formatter that has it; None where pyproject.toml names neither ruff nor black."""
    try:
        tools: Any = read_toml(root / "pyproject.toml").get("tool", {})
    except UsageError:
        return None
    for name, default in _DEFAULTS.items():
        table = tools.get(name) if isinstance(tools, dict) else None
        if isinstance(table, dict):
            limit = table.get("line-length", default)
            return (limit, name) if isinstance(limit, int) else None
    return None


def long_lines(patches: Iterable[Patch], limit: int) -> list[str]:
    """`path:line` of every Python line that the port made too long."""
    found = []
    for patch in patches:
        if patch.before is None or not patch.path.endswith(".py"):
            continue
        known = set(patch.before.splitlines())
        for number, line in enumerate(patch.after.splitlines(), 1):
            if line not in known and len(line.decode("utf-8", "replace")) > limit:
                found.append(f"{patch.path}:{number}")
    return found
