"""softmax(q @ k^T * scale + mask) @ v, written by hand, as scaled_dot_product_attention.

Found by walking up from each softmax. Scale, mask and dropout are taken over exactly; where one of them has a form
that SDPA does not have, or the attention weights are used elsewhere, the code is left alone and the reason noted.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from kernel_pytorch.models.fx.forwards import is_plain
from kernel_pytorch.models.fx.graph_nodes import argument, operation, softmax_axis
from kernel_pytorch.models.fx.rewrite import Change, Rewrite
from kernel_pytorch.models.fx.trace import TracedForward

if TYPE_CHECKING:
    from torch import Tensor, fx, nn

# Above this a masked score is not surely zero after the softmax, so adding it is not the same as filling it in.
_SURELY_MASKED = -1e4


class _Refused(Exception):
    pass


@dataclass
class _Pattern:
    """One attention, as found."""

    softmax: Any
    result: Any = None
    query: Any = None
    keys_transposed: Any = None
    value: Any = None
    scales: list[tuple[str, Any]] = field(default_factory=list)
    masks: list[tuple[Any, ...]] = field(default_factory=list)
    dropout: Any = None
    returned: list[Any] = field(default_factory=list)
    """Forms of the attention weights that are returned, and that no caller uses."""


def edit(traced: TracedForward) -> list[Change]:
    """Replace every hand-written attention in the graph."""
    changes = []
    for node in list(traced.graph.nodes):
        if softmax_axis(traced, node) != -1:
            continue
        try:
            found = _Pattern(node)
            if not _walk_down(traced, found) or not _walk_up(traced, found):
                continue
            _check_shapes(traced, found)
            changes.append(_replace(traced, found))
        except _Refused as reason:
            traced.refuse(traced.where, f"attention left as it is: {reason}")
    return changes


def active_dropout(module: nn.Module) -> float:
    """The probability with which a Dropout module drops right now."""
    return float(module.p) if module.training else 0.0


def additive_mask(mask: Tensor, fill: float, query: Tensor) -> Any:
    """Zero where a score counts and `fill` where it does not."""
    import torch

    return torch.zeros_like(mask, dtype=query.dtype).masked_fill(mask, fill)


def _walk_down(traced: TracedForward, found: _Pattern) -> bool:
    """From the softmax to the product with the values, through casts and dropout."""
    from torch import nn
    from torch.nn import functional

    node = found.softmax
    if node.op == "call_module" and not is_plain(traced.submodule(node)):
        return False
    while True:
        users = [user for user in node.users if not _drops(traced, user, node)]
        if len(users) < len(node.users):
            found.returned.append(node)
        if len(users) != 1:
            if any(operation(user) == "matmul" and user.args[0] is node for user in users):
                raise _Refused("the attention weights are also used elsewhere")
            return False
        user = users[0]
        module = traced.submodule(user)
        if operation(user) == "matmul" and argument(user, 0, "input") is node:
            found.result = user
            found.value = argument(user, 1, "mat2" if "mat2" in user.kwargs else "other")
            return True
        if type(module) is nn.Dropout and is_plain(module) and found.dropout is None and not module.inplace:
            found.dropout = ("module", user.target)
        elif user.op == "call_function" and user.target is functional.dropout and found.dropout is None:
            training = argument(user, 2, "training", True)
            probability = argument(user, 1, "p", 0.5)
            if not isinstance(training, bool) or not isinstance(probability, (int, float)):
                raise _Refused("whether dropout is on is decided by a tensor")
            found.dropout = ("number", float(probability) if training else 0.0)
        elif operation(user) != "cast":
            return False
        node = user


def _drops(traced: TracedForward, user: Any, node: fx.Node) -> bool:
    """Is this the return of a node in places that no caller uses?"""
    if user.op != "output" or type(user.args[0]) is not tuple:
        return False
    places = [place for place, item in enumerate(user.args[0]) if item is node]
    return bool(places) and traced.unused_outputs.issuperset(places)


def _walk_up(traced: TracedForward, found: _Pattern) -> bool:
    """From the softmax to the product of queries and keys, through scale, mask and casts."""
    node = argument(found.softmax, 0, "input")
    while getattr(node, "op", "") in ("call_function", "call_method"):
        name = operation(node)
        if name == "matmul":
            found.query = argument(node, 0, "input")
            found.keys_transposed = argument(node, 1, "mat2" if "mat2" in node.kwargs else "other")
            if len(node.users) != 1:
                raise _Refused("the scores are also used elsewhere")
            return True
        if len(node.users) != 1:
            return False
        if name in ("mul", "div"):
            left, right = argument(node, 0, "input"), argument(node, 1, "other")
            if name == "mul" and traced.value(left).number is not None:
                left, right = right, left
            if traced.value(right).number is None:
                raise _Refused("the scores are scaled by a tensor")
            if _mask_above(traced, left):
                raise _Refused("the scores are scaled after the mask was applied")
            found.scales.append((name, right))
            node = left
        elif name == "add":
            left, right = argument(node, 0, "input"), argument(node, 1, "other")
            if node.kwargs.get("alpha", 1) != 1:
                raise _Refused("the mask is added with a factor")
            if not _holds_product(traced, left):
                left, right = right, left
            if not traced.value(right).is_tensor:
                return False
            found.masks.append(("add", right))
            node = left
        elif name in ("masked_fill", "where"):
            mask, node = _filled(traced, node, name)
            found.masks.append(mask)
        elif name == "cast":
            node = node.args[0]
        else:
            return False
    return False


def _filled(traced: TracedForward, node: fx.Node, name: str) -> tuple[tuple[Any, ...], Any]:
    if name == "masked_fill":
        scores, mask, fill, keep = node.args[0], argument(node, 1, "mask"), argument(node, 2, "value"), False
    else:
        mask, scores, fill = (argument(node, i, n) for i, n in enumerate(("condition", "input", "other")))
        keep = True
    number = traced.value(fill).number
    if number is None or not traced.value(mask).is_tensor:
        raise _Refused("masked scores are filled with a tensor")
    if number > _SURELY_MASKED:
        raise _Refused(f"masked scores are set to {number:g}, which still counts")
    if (
        not math.isinf(number)
        and "float16" in str(traced.value(scores).dtype)
        and "bfloat" not in str(traced.value(scores).dtype)
    ):
        raise _Refused("a finite fill value in fp16 leaves no room to add")
    return ("keep" if keep else "fill", mask, number), scores


def _mask_above(traced: TracedForward, node: fx.Node) -> bool:
    return _reaches(traced, node, ("add", "masked_fill", "where"), ("mul", "div", "cast"))


def _holds_product(traced: TracedForward, node: fx.Node) -> bool:
    return _reaches(traced, node, ("matmul",), ("mul", "div", "cast", "masked_fill", "where", "add"))


def _reaches(traced: TracedForward, node: fx.Node, wanted: tuple[str, ...], through: tuple[str, ...]) -> bool:
    """Is one of the wanted operations found going up the scores, through these operations only?"""
    name = operation(node)
    if name in wanted:
        return True
    if name not in through:
        return False
    if name == "where":
        above = [argument(node, 1, "input")]
    elif name in ("add", "mul"):
        above = [item for item in node.args if traced.value(item).is_tensor]
    else:
        above = [node.args[0]]
    return any(_reaches(traced, item, wanted, through) for item in above)


def _check_shapes(traced: TracedForward, found: _Pattern) -> None:
    query, keys, value = (traced.value(item) for item in (found.query, found.keys_transposed, found.value))
    if query.shape is None or keys.shape is None or value.shape is None:
        raise _Refused("the shapes of its parts are not known")
    if len({len(item.shape or ()) for item in (query, keys, value)}) != 1 or len(query.shape) not in (3, 4):
        raise _Refused(f"queries have {len(query.shape)} axes: SDPA takes 3 or 4")
    if not query.shape[:-2] == keys.shape[:-2] == value.shape[:-2]:
        raise _Refused("queries, keys and values have different batch axes")
    if len({query.dtype, keys.dtype, value.dtype}) != 1:
        raise _Refused("queries, keys and values differ in dtype")
    for _, node, *_ in found.masks:
        mask = traced.value(node)
        if mask.shape is None or len(mask.shape) > len(query.shape) or len(mask.shape) < 2:
            raise _Refused("the mask has a shape that SDPA does not take")


def _replace(traced: TracedForward, found: _Pattern) -> Change:
    from torch.nn import functional

    graph, result = traced.graph, found.result
    axes = len(traced.value(found.query).shape or ())
    with graph.inserting_before(result):
        keys = graph.call_method("transpose", (found.keys_transposed, -2, -1))
        mask = _mask_node(traced, found)
        tensors = [found.query, keys, found.value]
        if axes == 3:
            # The fused kernels take four axes; with three, torch falls back to separate products.
            tensors = [graph.call_method("unsqueeze", (item, 0)) for item in tensors]
            if any(len(traced.value(item[1]).shape or ()) == 3 for item in found.masks):
                mask = graph.call_method("unsqueeze", (mask, 0))
        new = graph.call_function(
            functional.scaled_dot_product_attention,
            tuple(tensors),
            {"attn_mask": mask, "dropout_p": _dropout_node(traced, found), "scale": _scale_node(traced, found)},
        )
        if axes == 3:
            new = graph.call_method("squeeze", (new, 0))
    result.replace_all_uses_with(new)
    output = next(iter(reversed(graph.nodes)))
    if found.returned:
        output.args = (tuple(None if item in found.returned else item for item in output.args[0]),)
    _erase_upwards(graph, result)
    parts = ["scale"] if found.scales else []
    parts += ["mask"] if found.masks else []
    parts += ["dropout"] if found.dropout is not None else []
    kept = f" with its {', '.join(parts)}" if parts else ""
    what = f"softmax(q k^T) v{kept} as scaled_dot_product_attention"
    return Change(traced.where or "the model", what, drops_output=bool(found.returned))


def _mask_node(traced: TracedForward, found: _Pattern) -> Any:
    """One mask for all that are applied: of bool where every one hides for certain, else to be added."""
    import torch

    if any(kind == "add" and traced.value(mask).dtype == torch.bool for kind, mask, *_ in found.masks):
        raise _Refused("a bool mask is added as numbers")
    graph = traced.graph
    only_bool = all(kind != "add" and math.isinf(fill[0]) for kind, _, *fill in found.masks)
    total = None
    for kind, mask, *fill in found.masks:
        if kind == "add":
            part = graph.call_method("type_as", (mask, found.query))
        else:
            part = graph.call_method("bool", (mask,))
            if (kind == "keep") is not only_bool:
                part = graph.call_method("logical_not", (part,))
            if not only_bool:
                part = graph.call_function(additive_mask, (part, fill[0], found.query))
        method = "logical_and" if only_bool else "add"
        total = part if total is None else graph.call_method(method, (total, part))
    return total


def _dropout_node(traced: TracedForward, found: _Pattern) -> Any:
    if found.dropout is None:
        return 0.0
    kind, value = found.dropout
    if kind == "number":
        return value
    return traced.graph.call_function(active_dropout, (traced.graph.get_attr(value),))


def _scale_node(traced: TracedForward, found: _Pattern) -> Any:
    """The product of all scales: a number, or a node where it is computed from a shape."""
    import operator

    total: Any = 1.0
    for name, scale in found.scales:
        if isinstance(scale, (int, float)) and isinstance(total, float):
            total = total * scale if name == "mul" else total / scale
        else:
            function = operator.mul if name == "mul" else operator.truediv
            total = traced.graph.call_function(function, (total, scale))
    return total


def _erase_upwards(graph: fx.Graph, node: fx.Node) -> None:
    """Remove a node, and what only it needed."""
    inputs = list(node.all_input_nodes)
    graph.erase_node(node)
    for item in inputs:
        if not item.users and item.op in ("call_function", "call_method", "call_module"):
            _erase_upwards(graph, item)


REWRITE = Rewrite(
    name="attention",
    level="balanced",
    effect="no score matrix in memory: traffic grows with the length, not its square, where a fused kernel serves it",
    edit=edit,
    is_fusion=True,
    drops_unused_outputs=True,
)
