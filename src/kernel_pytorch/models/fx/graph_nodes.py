"""Asking what a node of a graph does, however it was written: function, operator, method or module."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

from kernel_pytorch.models.fx.trace import TracedForward

if TYPE_CHECKING:
    from torch import fx

_NAMES = {
    operator.matmul: "matmul",
    operator.mul: "mul",
    operator.truediv: "div",
    operator.add: "add",
    operator.sub: "sub",
    operator.pow: "pow",
    operator.invert: "invert",
    operator.getitem: "getitem",
}
_SYNONYMS = {
    "bmm": "matmul",
    "masked_fill_": "masked_fill",
    "mul_": "mul",
    "div_": "div",
    "add_": "add",
    "multiply": "mul",
    "divide": "div",
    "true_divide": "div",
    "_softmax": "softmax",
    "float": "cast",
    "to": "cast",
    "type_as": "cast",
    "half": "cast",
    "bfloat16": "cast",
    "type": "cast",
}


def operation(node: Any) -> str:
    """ "matmul" of torch.matmul(a, b), a @ b, a.matmul(b) and torch.bmm(a, b); "" for what is no such node."""
    op = getattr(node, "op", "")
    if op == "call_method":
        return _SYNONYMS.get(node.target, str(node.target))
    if op == "call_function":
        name = str(_NAMES.get(node.target) or getattr(node.target, "__name__", ""))
        return _SYNONYMS.get(name, name)
    return ""


def argument(node: fx.Node, position: int, name: str, default: Any = None) -> Any:
    """An argument of a node, given by position or by name."""
    return node.args[position] if len(node.args) > position else node.kwargs.get(name, default)


def softmax_axis(traced: TracedForward, node: fx.Node) -> Any:
    """The axis along which a node takes a softmax, counted from the end; None if it does not."""
    from torch import nn

    module = traced.submodule(node)
    if module is not None:
        axis = module.dim if type(module) is nn.Softmax and len(node.args) == 1 else None
    elif operation(node) == "softmax":
        axis = argument(node, 1, "dim")
    else:
        return None
    shape = traced.value(node).shape
    if not isinstance(axis, int) or shape is None:
        return None
    return axis if axis < 0 else axis - len(shape)
