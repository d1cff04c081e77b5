"""What the dependency plan says of the project that a Dockerfile installs."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from kernel_pytorch.core.errors import UsageError
from kernel_pytorch.core.read_file import read_if_there
from kernel_pytorch.port.deploy.install_steps import InstallPlan

_TORCH = ("torch", "torchvision", "torchaudio")


def install_plan(root: Path, listed: Sequence[str]) -> InstallPlan:
    """The plan of a project. The dependency files are read when a Dockerfile turns out to install them, not before."""

    @cache
    def folders() -> dict[str, tuple[str, ...]]:
        # Imported here: most projects have no Dockerfile that asks.
        from kernel_pytorch.port.deps.plan import make_plan
        from kernel_pytorch.port.deps.write import needs_list

        try:
            plan = make_plan(root, sys.executable)
        except UsageError:
            return {}
        found: dict[str, tuple[str, ...]] = {}
        for project in plan.projects:
            if needs_list(project):
                names = {decision.requirement.name.lower() for decision in project.decisions}
                found[project.folder or "."] = tuple(name for name in _TORCH if name in names)
        return found

    return InstallPlan(frozenset(listed), _own_names(root), folders)


def _own_names(root: Path) -> frozenset[str]:
    """What the project in the root is called on a package index."""
    names = set()
    for file, pattern in (
        ("pyproject.toml", r"^name\s*=\s*[\"']([\w.-]+)[\"']"),
        ("setup.cfg", r"^name\s*=\s*([\w.-]+)"),
        ("setup.py", r"\bname\s*=\s*[\"']([\w.-]+)[\"']"),
    ):
        text = (read_if_there(root / file, root) or b"").decode("utf-8", "replace")
        found = re.search(pattern, text, re.MULTILINE)
        names.update([re.sub(r"[-_.]+", "-", found[1]).lower()] if found else [])
    return frozenset(names)
