"""What a launch passes is told from the function around it."""

from __future__ import annotations

import ast
from typing import Any

import pytest

from kernel_pytorch.perf.inspect.call_sites import Argument, launches, told

FUNCTION = """
def forward(x: torch.Tensor, bias=None, eps=1e-5, causal: bool = False, ctx=None):
    rows, columns = x.shape
    y = torch.empty_like(x)
    mean = torch.empty((rows,), dtype=torch.float32, device=x.device)
    picked = x.argmax(-1).to(torch.int64)
    weight, grad = ctx.saved_tensors
    has_bias = bias is not None
    block = triton.next_power_of_2(columns)
    largest = min(65536, triton.next_power_of_2(columns))
    scale = 1.0 / columns
    maybe = y if causal else None
    biased = bias.contiguous() if bias is not None else None
    kernel[(rows,)](ARGUMENT)
"""


def passed(text: str) -> Argument:
    [(name, call, around)] = launches(ast.parse(FUNCTION.replace("ARGUMENT", text)))
    assert name == "kernel"
    return told(call.args[0], around)


@pytest.mark.parametrize(
    "text, kind",
    [
        ("x", "tensor"),
        ("y", "tensor"),
        ("weight", "tensor"),
        ("maybe", "tensor"),
        ("biased", "tensor"),
        ("x.view(-1)", "tensor"),
        ("x[0]", "tensor"),
        ("rows", "int"),
        ("x.stride(0)", "int"),
        ("x.shape[1]", "int"),
        ("rows * columns", "int"),
        ("math.ceil(rows / 8)", "int"),
        ("block", "int"),
        ("eps", "float"),
        ("scale", "float"),
        ("causal", "bool"),
        ("has_bias", "bool"),
        ("x.max()", ""),
        ("unheard_of(x)", ""),
    ],
)
def test_the_kind_of_an_argument(text: str, kind: str) -> None:
    assert passed(text).kind == kind


@pytest.mark.parametrize("text, value", [("128", 128), ("-1", -1), ("largest", 65536), ("'silu'", "silu")])
def test_values_that_are_written_down(text: str, value: Any) -> None:
    assert (passed(text).known, passed(text).value) == (True, value)


def test_a_size_that_is_not_written_down_stays_unknown() -> None:
    assert not passed("block").known


@pytest.mark.parametrize("text, element", [("mean", "fp32"), ("picked", "i64"), ("y", "")])
def test_element_types_that_are_written_down(text: str, element: str) -> None:
    assert passed(text).element == element


def test_a_kernel_that_is_chosen_first_counts_for_each() -> None:
    tree = ast.parse("def f(x, wide):\n    k = _wide if wide else _narrow\n    k[(1,)](x)\n")
    assert {name for name, _, _ in launches(tree)} == {"k", "_wide", "_narrow"}


def test_launches_in_methods_and_at_the_top_are_seen() -> None:
    tree = ast.parse("class A:\n    def f(self, x):\n        one[(1,)](x)\ntwo[(1,)](3)\n")
    assert {name for name, _, _ in launches(tree)} == {"one", "two"}
