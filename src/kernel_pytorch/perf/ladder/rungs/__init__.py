"""All rungs, in the order they are tried.

Each module of this folder has `RUNGS`: a tuple of rungs. ORDER is the one place that says which modules there are.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable

from kernel_pytorch.core.errors import UsageError
from kernel_pytorch.perf.ladder.rung import Rung

ORDER: tuple[str, ...] = (
    "environment",
    "tunable_op",
    "graph_breaks",
    "compile",
    "regional_compile",
    "capture",
    "surgery",
    "one_row",
    "few_rows",
    "triton_kernels",
    "inductor_tuning",
    "hipblaslt",
    "aiter",
    "fp8",
    "narrow_weights",
)
"""Modules of this folder. Rungs go up by level; within a level, in this order."""


def rungs() -> tuple[Rung, ...]:
    """Every rung, in ladder order."""
    found: list[Rung] = []
    for module in ORDER:
        found += importlib.import_module(f"{__name__}.{module}").RUNGS
    return tuple(sorted(found, key=lambda rung: rung.level))


def rung_named(name: str, among: Iterable[Rung] | None = None) -> Rung:
    """The rung of that name. Raises UsageError naming those there are."""
    known = tuple(among) if among is not None else rungs()
    for rung in known:
        if rung.name == name:
            return rung
    raise UsageError(f"no rung {name!r}; there are: {', '.join(rung.name for rung in known)}")
