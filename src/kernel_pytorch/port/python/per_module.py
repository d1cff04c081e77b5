"""Results that belong to one parsed file and live as long as it does."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TypeVar, cast

from kernel_pytorch.port.python.module import PythonModule

Result = TypeVar("Result")


def per_module(function: Callable[[PythonModule], Result]) -> Callable[[PythonModule], Result]:
    """Makes a function of a module run once for each module. Rules follow values from file to file and back."""
    key = f"{function.__module__}.{function.__name__}"

    @wraps(function)
    def once(module: PythonModule) -> Result:
        known = module.__dict__
        if key not in known:
            known[key] = function(module)
        return cast("Result", known[key])

    return once
