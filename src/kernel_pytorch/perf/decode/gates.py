"""Activations in a graph: SiLU by its form, GELU by the values that its operators give.

A compiler has written GELU out, in one of several forms. So what stands before a product is computed for numbers from
-12 to 12, and if it gives what GELU gives it is GELU.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import TYPE_CHECKING

from kernel_pytorch.perf.decode.form import GELU_ERF, GELU_TANH, SILU
from kernel_pytorch.perf.decode.patterns import is_call, is_convert, through_converts

if TYPE_CHECKING:
    from torch.fx import Node
    from torch.fx.node import Argument

# What a graph's operators do to numbers. Tensors would do, but a pass runs where all tensors are fake.
POINTWISE: dict[str, Callable[..., float]] = {
    "add.Tensor": operator.add,
    "sub.Tensor": operator.sub,
    "mul.Tensor": operator.mul,
    "div.Tensor": operator.truediv,
    "neg": operator.neg,
    "tanh": math.tanh,
    "erf": math.erf,
    "pow.Tensor_Scalar": operator.pow,
    "pow.Tensor_Tensor": operator.pow,
}
MOST_OPERATORS = 32
NEAR = 1e-6  # the two forms of GELU differ by 5e-4
NUMBERS = [place / 20 for place in range(-240, 241)]


def activation(node: Argument) -> tuple[Node, str] | None:
    """What an activation is taken of, and its name in `form.GATES`."""
    inner = _silu(node)
    if inner is not None:
        return inner, SILU
    return _gelu(through_converts(node))


def _silu(node: Argument) -> Node | None:
    """What silu is taken of, as the graph has it (x / (1 + exp(-x)) or x * sigmoid(x)); None where it is not that."""
    node = through_converts(node)
    if is_call(node, "silu"):
        return node.args[0]
    if is_call(node, "div.Tensor"):
        x, below = node.args
        one_more = is_call(below, "add.Tensor") and below.args[1] == 1 and is_call(below.args[0], "exp")
        if one_more and is_call(below.args[0].args[0], "neg") and below.args[0].args[0].args[0] is x:
            return x
    if is_call(node, "mul.Tensor"):
        for x, other in (node.args, node.args[::-1]):
            if is_call(other, "sigmoid") and other.args[0] is x:
                return x
    return None


def _gelu(node: Argument) -> tuple[Node, str] | None:
    if is_call(node, "gelu"):
        return node.args[0], GELU_TANH if node.kwargs.get("approximate", "none") == "tanh" else GELU_ERF
    source = _source(node)
    if source is None or source is node:
        return None
    found = [_value(node, source, number) for number in NUMBERS]
    for name, function in ((GELU_TANH, _gelu_tanh), (GELU_ERF, _gelu_erf)):
        if all(abs(mine - function(number)) <= NEAR for mine, number in zip(found, NUMBERS, strict=True)):
            return source, name
    return None


def _gelu_tanh(x: float) -> float:
    return 0.5 * x * (1 + math.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def _gelu_erf(x: float) -> float:
    return 0.5 * x * (1 + math.erf(x / math.sqrt(2)))


def _is_pointwise(node: Node) -> bool:
    return is_convert(node) or (is_call(node, *POINTWISE) and not node.kwargs)


def _source(node: Argument) -> Node | None:
    """The one node that a few pointwise operators start from."""
    sources: set[Node] = set()
    seen: set[Node] = set()
    waiting = [node]
    while waiting and len(seen) <= MOST_OPERATORS:
        one = waiting.pop()
        if not hasattr(one, "op") or one in seen:
            continue
        if _is_pointwise(one):
            seen.add(one)
            waiting += one.all_input_nodes
        else:
            sources.add(one)
    return sources.pop() if len(sources) == 1 and not waiting else None


def _value(node: Argument, source: Node, number: float) -> float:
    """What the operators give for a number, without rounding on the way; NaN where they give none."""
    if node is source:
        return number
    if not hasattr(node, "op"):
        return float(node)
    args = [_value(one, source, number) for one in (node.args[:1] if is_convert(node) else node.args)]
    if is_convert(node):
        return args[0]
    name = next(name for name in POINTWISE if is_call(node, name))
    try:
        return float(POINTWISE[name](*args))
    except (ArithmeticError, ValueError, TypeError):
        return math.nan
