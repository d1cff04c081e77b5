"""How checks are found, and how they are run: every file of `checks/` is one."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import kernel_pytorch.doctor.checks as folder
from kernel_pytorch.core.findings import CheckResult
from kernel_pytorch.doctor.check import NOT_APPLICABLE, Check
from kernel_pytorch.doctor.machine import Machine


@dataclass(frozen=True)
class LoadedCheck:
    """A check with its function and its page."""

    check: Check
    run: Callable[[Machine], Iterable[CheckResult]]
    module: str
    page: str


@cache
def all_checks() -> tuple[LoadedCheck, ...]:
    """Every check in the folder, by code."""
    found = []
    for info in pkgutil.iter_modules(folder.__path__):
        module: Any = importlib.import_module(f"{folder.__name__}.{info.name}")
        found.append(LoadedCheck(module.CHECK, module.check, info.name, module.__doc__ or ""))
    return tuple(sorted(found, key=lambda item: item.check.code))


def run_checks(machine: Machine, checks: Iterable[LoadedCheck] | None = None) -> Iterator[CheckResult]:
    """Every check's results. A check that does not apply here says so; that is never a pass."""
    for item in all_checks() if checks is None else checks:
        reason = item.check.applies.reason_not_to(machine)
        if reason:
            yield item.check.not_run(NOT_APPLICABLE + reason)
        else:
            yield from item.run(machine)
