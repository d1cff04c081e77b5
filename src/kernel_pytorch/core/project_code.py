"""Whether code of the project that is looked at may run. Everything that imports or starts it asks here first."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from kernel_pytorch.core.errors import UsageError

VARIABLE = "KPT_NO_RUN"  # a variable: the processes that we start inherit it


@contextmanager
def project_code_forbidden(forbidden: bool = True) -> Iterator[None]:
    """Forbids it within, here and in the processes that are started. False leaves everything as it is."""
    before = os.environ.get(VARIABLE)
    if forbidden:
        os.environ[VARIABLE] = "1"
    try:
        yield
    finally:
        if before is not None:
            os.environ[VARIABLE] = before
        elif forbidden:
            del os.environ[VARIABLE]


def is_project_code_forbidden() -> bool:
    """Whether --no-run or KPT_NO_RUN was given."""
    return os.environ.get(VARIABLE, "") not in ("", "0")


def require_project_code(what: str) -> None:
    """Raises UsageError where code of the project must not run."""
    if is_project_code_forbidden():
        raise UsageError(f"{what}: runs code of the project, which --no-run ({VARIABLE}) forbids")
