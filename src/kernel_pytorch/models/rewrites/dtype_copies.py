"""Casts that copy without need: there and back again, the same twice, and of a weight in every call."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

from kernel_pytorch.models.fx.graph_nodes import operation
from kernel_pytorch.models.fx.live_values import ALL
from kernel_pytorch.models.fx.rewrite import Change, Rewrite
from kernel_pytorch.models.fx.trace import TracedForward, between, mutates

if TYPE_CHECKING:
    from torch import fx

_LAYOUT = (
    *("transpose", "permute", "view", "reshape", "unsqueeze", "squeeze", "expand", "flatten", "contiguous"),
    *("getitem", "chunk", "split", "swapaxes"),
)


def edit(traced: TracedForward) -> list[Change]:
    """Remove them. The dtypes are those of the example, so the edit holds for those."""
    if mutates(traced, iter(traced.graph.nodes)):
        return []
    changes = [*_there_and_back(traced), *_twice(traced), *_of_weights(traced)]
    if changes:
        traced.dependence = ALL
    return changes


def weight_as(weight: Any, dtype: Any) -> Any:
    """weight.to(dtype), kept until the weight changes, where no gradient is asked for."""
    import torch

    if torch.compiler.is_compiling() or weight.is_inference() or (torch.is_grad_enabled() and weight.requires_grad):
        return weight.to(dtype)
    kept = _kept()
    stamp = (weight._version, weight.data_ptr(), dtype)
    known = kept.get(weight)
    if known is None or known[0] != stamp:
        # Made outside of inference mode, so that later calls under other modes may use it.
        with torch.inference_mode(False), torch.no_grad():
            known = (stamp, weight.detach().to(dtype))
        kept[weight] = known
    return known[1]


@lru_cache(maxsize=1)
def _kept() -> Any:
    from torch.utils.weak import WeakIdKeyDictionary

    return WeakIdKeyDictionary()


def _there_and_back(traced: TracedForward) -> list[Change]:
    """x.float() and back without arithmetic in between: every value of x is one of the wider dtype."""
    changes = []
    for node in list(traced.graph.nodes):
        if not _casts(traced, node):
            continue
        source = node.args[0]
        while operation(source) in _LAYOUT and len(source.users) == 1 and source.args:
            source = source.args[0]
        if source is node or not _casts(traced, source) or len(source.users) != 1:
            continue
        narrow, wide = traced.value(source.args[0]).dtype, traced.value(source).dtype
        if traced.value(node).dtype != narrow or not _holds(wide, narrow):
            continue
        source.replace_all_uses_with(source.args[0])
        node.replace_all_uses_with(node.args[0])
        traced.graph.erase_node(node)
        traced.graph.erase_node(source)
        changes.append(Change(traced.where or "the model", f"{_name(narrow)} to {_name(wide)} and back removed"))
    return changes


def _twice(traced: TracedForward) -> list[Change]:
    changes = []
    first: dict[tuple[Any, Any], Any] = {}
    for node in list(traced.graph.nodes):
        if not _casts(traced, node):
            continue
        dtype = traced.value(node).dtype
        known = first.setdefault((node.args[0], dtype), node)
        if known is not node and not mutates(traced, between(known, node)):
            node.replace_all_uses_with(known)
            traced.graph.erase_node(node)
            changes.append(Change(traced.where or "the model", f"second cast of a tensor to {_name(dtype)} removed"))
    return changes


def _of_weights(traced: TracedForward) -> list[Change]:
    changes = []
    for node in list(traced.graph.nodes):
        if not _casts(traced, node) or node.args[0].op != "get_attr":
            continue
        dtype = traced.value(node).dtype
        with traced.graph.inserting_before(node):
            new = traced.graph.call_function(weight_as, (node.args[0], dtype))
        node.replace_all_uses_with(new)
        traced.graph.erase_node(node)
        changes.append(Change(traced.where or "the model", f"a weight cast to {_name(dtype)} once, not in every call"))
    return changes


def _casts(traced: TracedForward, node: fx.Node) -> bool:
    """Does it change the dtype, and nothing else?"""
    if operation(node) != "cast" or not node.args or set(node.kwargs) - {"dtype"}:
        return False
    before, after = traced.value(node.args[0]), traced.value(node)
    return before.is_tensor and after.is_tensor and before.shape == after.shape and before.dtype != after.dtype


def _holds(wide: Any, narrow: Any) -> bool:
    import torch

    both = wide.is_floating_point and narrow.is_floating_point
    return bool(both and wide != narrow and torch.promote_types(wide, narrow) == wide)


def _name(dtype: Any) -> str:
    return str(dtype).removeprefix("torch.")


REWRITE = Rewrite(
    name="dtype copies",
    level="balanced",
    effect="no copies that only change the dtype and back",
    edit=edit,
    is_exact=True,
)
