"""What an activity is: by the operator that launched it first, by its kernel's name second.

Both tables are data (`data/operators.csv`, `data/kernels.csv`): patterns in order, first match wins. An operator that
the table does not know (a custom one) leaves the word to the kernel, then to the operators around it.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable
from functools import cache
from importlib import resources

CATEGORIES = (
    "gemm", "attention", "convolution", "norm", "elementwise", "reduction", "copy", "communication", "other",
)  # fmt: skip
TITLES = {
    "gemm": "GEMM",
    "attention": "attention",
    "convolution": "convolution",
    "norm": "normalisation",
    "elementwise": "elementwise",
    "reduction": "reduction",
    "copy": "copies and data movement",
    "communication": "communication",
    "other": "other",
}
# Operators that launch whatever they are asked to: their name says nothing about the kernel.
_OPAQUE = re.compile(
    r"^(triton_|## |Torch-Compiled|CompiledFunction|CUDAGraph|cudagraph|graph_|hipGraph|Inductor|inductor|ProfilerStep|"
    r"autograd::engine|torch::autograd|TorchDynamo|Pregraph|_run_|custom_op|PythonOp|aten::_foreach_noop|cuda_graph)"
)
_AUTOGRAD = re.compile(r"^(autograd::engine::evaluate_function: |torch::autograd::)")


def category_of(operator: str | None, kernel: str, ancestors: Iterable[str] = ()) -> str:
    """One of CATEGORIES. `ancestors` are the operators around `operator`, innermost first."""
    if operator and not _OPAQUE.match(operator):
        found = _operator_category(operator)
        if found:
            return found
    found = kernel_category(kernel)
    if found:
        return found
    for name in (operator, *ancestors):
        if name:
            outer = _operator_category(_AUTOGRAD.sub("", name))
            if outer:
                return outer
    return "other"


def launches_anything(operator: str) -> bool:
    """Whether an operator's name says nothing about its kernels: a compiled region, a replayed graph."""
    return _OPAQUE.match(operator) is not None and not operator.startswith("triton_")


@cache
def kernel_category(kernel: str) -> str | None:
    """By the kernel's name alone."""
    return _first(_kernel_table(), kernel)


@cache
def _operator_category(operator: str) -> str | None:
    return _first(_operator_table(), operator)


def _first(table: tuple[tuple[re.Pattern[str], str], ...], name: str) -> str | None:
    for pattern, category in table:
        if pattern.search(name):
            return category
    return None


@cache
def _operator_table() -> tuple[tuple[re.Pattern[str], str], ...]:
    return _load("operators.csv")


@cache
def _kernel_table() -> tuple[tuple[re.Pattern[str], str], ...]:
    return _load("kernels.csv")


def _load(name: str) -> tuple[tuple[re.Pattern[str], str], ...]:
    text = resources.files("kernel_pytorch.perf.classify").joinpath("data").joinpath(name).read_text(encoding="utf-8")
    rows = csv.DictReader(text.splitlines(), restkey="rest")
    return tuple((re.compile(row["pattern"]), row["category"]) for row in rows)
