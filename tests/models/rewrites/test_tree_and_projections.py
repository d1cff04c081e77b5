"""A new tree over the same parameters, and linear layers as one product in it."""

from __future__ import annotations

import threading
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from kernel_pytorch.models.fx.rewrite import NotApplicable
from kernel_pytorch.models.inputs import Inputs
from kernel_pytorch.models.rewrites import projections
from kernel_pytorch.models.tree import shallow_tree

from .checks import check_tree, compiled_calls, farthest, outputs, refereed
from .models import Decoder, GatedMLP, UnevenBias


def ids() -> Inputs:
    torch.manual_seed(1)
    return Inputs((), {"input_ids": torch.randint(0, 50, (2, 12))})


def joined(model: nn.Module, inputs: Inputs) -> nn.Module:
    tree = shallow_tree(model)
    projections.join(tree, projections.find(model, inputs).groups)
    return tree


class Odd(nn.Module):
    """Attributes of all kinds."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 4)
        self.again = self.layer
        self.hidden = [self.layer]
        self.table = torch.arange(4.0)
        self.lock = threading.Lock()
        self.calls: list[int] = []

    def forward(self, x: Tensor) -> Tensor:
        self.calls.append(1)
        return self.hidden[0](x) + self.again(x) + self.table


def test_a_tree_has_modules_of_its_own_and_the_same_tensors() -> None:
    model, x = Odd(), torch.randn(2, 4)
    handle = model.layer.register_forward_hook(lambda module, args, output: output + 1)
    tree: Any = shallow_tree(model)
    assert tree.layer is tree.again is tree.hidden[0] is not model.layer
    assert tree.layer.weight is model.layer.weight and tree.table is model.table
    assert torch.equal(tree(x), model(x)) and model.calls == [1]
    handle.remove()
    assert tree.layer._forward_hooks and not model.layer._forward_hooks


def test_a_compiled_or_scripted_part_is_not_called_through_the_other_tree() -> None:
    model = nn.Sequential(nn.Linear(4, 4), torch.jit.script(nn.ReLU()))
    model.compile(backend="eager")
    tree = shallow_tree(model)
    assert tree._compiled_call_impl is None
    x = torch.randn(2, 4)
    assert torch.equal(tree(x), model[1](model[0](x)))


def test_query_key_value_and_gate_up_are_found_by_what_they_read() -> None:
    found = projections.find(Decoder().eval(), ids())
    assert [group.names for group in found.groups[:2]] == [
        ("blocks.0.attention.q_proj", "blocks.0.attention.k_proj", "blocks.0.attention.v_proj"),
        ("blocks.0.mlp.gate", "blocks.0.mlp.up"),
    ]
    assert found.groups[0].rows == (32, 16, 16) and len(found.groups) == 4 and not found.refusals


@pytest.mark.parametrize("training", [False, True])
def test_joined_layers_are_the_same_model(training: bool) -> None:
    model, inputs = Decoder().train(training), ids()
    check_tree(model, joined(model, inputs), inputs)


def test_a_bias_that_is_not_there_counts_as_zero() -> None:
    model, inputs = UnevenBias().eval(), Inputs((torch.randn(2, 5, 16),))
    tree = joined(model, inputs)
    check_tree(model, tree, inputs)
    assert tree.q.joint.bias is not None and tree.q.joint.bias.shape == (48,)


def test_compiled_it_is_one_product_in_one_graph() -> None:
    model, inputs = Decoder().eval(), ids()
    tree = joined(model, inputs)
    expected, before = compiled_calls(model, inputs)
    got, after = compiled_calls(tree, inputs)
    linear = torch._C._nn.linear
    assert (before.count(linear), after.count(linear)) == (15, 9)
    assert farthest(got, expected) < 1e-5


def test_compiled_calls_see_weights_that_were_loaded_moved_or_assigned() -> None:
    inputs = Inputs((torch.randn(3, 8),))
    model = GatedMLP(8).eval()
    tree = joined(model, inputs)
    torch._dynamo.reset()
    fast = torch.compile(tree, backend="eager", fullgraph=True)
    outputs(fast, inputs)
    other = {name: torch.randn_like(value) for name, value in model.state_dict().items()}
    tree.load_state_dict(other, assign=True)
    twin = GatedMLP(8)
    twin.load_state_dict(other)
    assert farthest(outputs(fast, inputs), outputs(twin, inputs)) < 1e-6
    tree.double().float()
    other = {name: torch.randn_like(value) for name, value in other.items()}
    tree.load_state_dict(other)
    twin.load_state_dict(other)
    assert farthest(outputs(fast, inputs), outputs(twin, inputs)) < 1e-6


def test_an_optimizer_made_before_moves_both_trees() -> None:
    model, inputs = GatedMLP(8), Inputs((torch.randn(3, 8),))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    tree = joined(model, inputs)
    before = outputs(tree, inputs)
    inputs.call(tree).square().mean().backward()
    optimizer.step()
    assert farthest(outputs(tree, inputs), before) > 1e-6
    assert farthest(outputs(tree, inputs), refereed(model, inputs)) < 1e-6


def test_a_layer_called_alone_or_with_another_tensor_computes_by_itself() -> None:
    model, inputs = GatedMLP(8).eval(), Inputs((torch.randn(3, 8),))
    tree: Any = joined(model, inputs)
    x, y = torch.randn(2, 8), torch.randn(2, 8)
    with torch.no_grad():
        tree.gate(x)
        assert torch.allclose(tree.up(y), model.up(y), atol=1e-6)
        tree.gate(x)
        x.add_(1.0)
        assert torch.allclose(tree.up(x), functional.linear(x, model.up.weight), atol=1e-6)


def test_a_weight_replaced_by_hand_is_used() -> None:
    model, inputs = GatedMLP(8).eval(), Inputs((torch.randn(3, 8),))
    tree: Any = joined(model, inputs)
    tree.up.weight = nn.Parameter(torch.zeros(16, 8))
    assert outputs(tree, inputs)[0].abs().max() == 0


class Shared(nn.Module):
    def __init__(self, style: str) -> None:
        super().__init__()
        self.a, self.b = nn.Linear(8, 8, bias=False), nn.Linear(8, 8, bias=False)
        if style == "tied":
            self.b.weight = self.a.weight
        elif style == "storage":
            self.b.weight = nn.Parameter(self.a.weight.detach().view(8, 8).t())
        elif style == "dtype":
            self.b.half()
        elif style == "hooked":
            self.b.register_forward_hook(lambda module, args, output: output * 2)

    def forward(self, x: Tensor) -> Tensor:
        return self.a(x) + (self.b(x.half()).float() if self.b.weight.dtype == torch.half else self.b(x))


@pytest.mark.parametrize(
    ("style", "reason"),
    [("tied", "share a weight"), ("storage", "shares its storage"), ("hooked", "hooks"), ("dtype", "read the same")],
)
def test_layers_that_must_stay_apart_are_left_alone(style: str, reason: str) -> None:
    model, inputs = Shared(style).eval(), Inputs((torch.randn(3, 8),))
    found = projections.find(model, inputs)
    assert not found.groups
    if found.refusals:
        assert reason in found.refusals[0][1]
    with pytest.raises(NotApplicable, match="read the same"):
        projections.join(model, found.groups)


def test_trees_of_trees_share_the_same_joint_weights() -> None:
    model, inputs = Decoder().eval(), ids()
    first = joined(model, inputs)
    second: Any = shallow_tree(first)
    weight = second.blocks[0].mlp.gate.joint.weight
    assert weight is not None and weight.data_ptr() == model.blocks[0].mlp.gate.weight.data_ptr()
    assert farthest(outputs(second, inputs), refereed(model, inputs)) < 1e-5
    del first, second
    assert farthest(outputs(model, inputs), refereed(model, inputs)) < 1e-5
