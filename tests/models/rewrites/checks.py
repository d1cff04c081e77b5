"""What must hold for every new tree."""

from __future__ import annotations

import copy
import io
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils import _pytree

from kernel_pytorch.models.comparison import tensors_in
from kernel_pytorch.models.inputs import Inputs, copied_inputs


def outputs(model: Any, inputs: Inputs) -> list[Tensor]:
    with torch.no_grad():
        return [item for item in tensors_in(copied_inputs(inputs).call(model)) if item.is_floating_point()]


def farthest(one: list[Tensor], other: list[Tensor]) -> float:
    """The largest difference, relative to the largest value."""
    assert [item.shape for item in one] == [item.shape for item in other]
    pairs = [(a.double(), b.double()) for a, b in zip(one, other, strict=True)]
    return max((a - b).abs().max().item() / max(b.abs().max().item(), 1e-3) for a, b in pairs)


def refereed(model: nn.Module, inputs: Inputs) -> list[Tensor]:
    """The original in double precision."""
    args, kwargs = _pytree.tree_map(_double, (inputs.args, inputs.kwargs))
    return outputs(copy.deepcopy(model).double(), Inputs(args, kwargs))


def _double(leaf: Any) -> Any:
    return leaf.double() if isinstance(leaf, Tensor) and leaf.is_floating_point() else leaf


def gradients(model: nn.Module, inputs: Inputs) -> dict[str, Tensor]:
    model.zero_grad()
    torch.manual_seed(3)
    next(tensors_in(copied_inputs(inputs).call(model))).square().sum().backward()
    found = {name: item.grad.clone() for name, item in model.named_parameters() if item.grad is not None}
    model.zero_grad()
    return found


def check_tree(model: nn.Module, tree: nn.Module, inputs: Inputs, *, trains: bool = True) -> None:
    """Same parameters and keys, same outputs, and all of that still after copying, saving, loading and a step."""
    assert tree is not model
    assert not {id(item) for item in model.modules()} & {id(item) for item in tree.modules()}
    assert [id(item) for item in tree.parameters()] == [id(item) for item in model.parameters()]
    assert list(tree.state_dict()) == list(model.state_dict())
    assert [item.training for item in tree.modules()] == [item.training for item in model.modules()]
    expected = refereed(model, inputs)
    before = {name: value.clone() for name, value in model.state_dict().items()}
    assert farthest(outputs(tree, inputs), expected) < 1e-5
    assert farthest(outputs(model, inputs), expected) < 1e-5
    # Another checkpoint, loaded into the new tree, shows in both; and the other way round.
    trained = dict(model.named_parameters())
    other = {name: value + 0.01 if name in trained else value for name, value in before.items()}
    tree.load_state_dict(other)
    changed = refereed(model, inputs)
    assert farthest(changed, expected) > 1e-4
    assert farthest(outputs(tree, inputs), changed) < 1e-5
    model.load_state_dict(before)
    assert farthest(outputs(tree, inputs), expected) < 1e-5
    # A copy and a saved one are the same function with weights of their own.
    buffer = io.BytesIO()
    torch.save(tree, buffer)
    buffer.seek(0)
    for twin in (copy.deepcopy(tree), torch.load(buffer, weights_only=False)):
        assert farthest(outputs(twin, inputs), expected) < 1e-5
        twin.load_state_dict(other)
        assert farthest(outputs(twin, inputs), changed) < 1e-5
        assert farthest(outputs(tree, inputs), expected) < 1e-5
    if trains:
        wanted, got = gradients(model, inputs), gradients(tree, inputs)
        assert wanted.keys() == got.keys()
        assert farthest(list(got.values()), list(wanted.values())) < 1e-4


def compiled_calls(model: nn.Module, inputs: Inputs) -> tuple[list[Tensor], list[Any]]:
    """Outputs of the model in one graph, and the functions that the graph calls."""
    called: list[Any] = []

    def backend(graph: Any, example: Any) -> Any:
        called.extend(node.target for node in graph.graph.nodes if node.op in ("call_function", "call_method"))
        return graph

    torch._dynamo.reset()
    return outputs(torch.compile(model, backend=backend, fullgraph=True), inputs), called
