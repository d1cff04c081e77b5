"""The surgery rungs as the ladder uses them: by recipe, checked on fresh inputs, and on one another's results."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from kernel_pytorch.models.check.reference import take_reference
from kernel_pytorch.models.fx.rewrite import NotApplicable
from kernel_pytorch.models.inputs import Inputs
from kernel_pytorch.perf.ladder.recipe import apply_recipe
from kernel_pytorch.perf.ladder.rung import ModelRung, Recipe, Step
from kernel_pytorch.perf.ladder.rungs.surgery import RUNGS


class Block(nn.Module):
    """Everything there is to operate on: separate projections, repeats, a causal mask, attention by hand, a gate."""

    def __init__(self) -> None:
        super().__init__()
        self.q, self.o = nn.Linear(32, 32), nn.Linear(32, 32)
        self.k, self.v = nn.Linear(32, 16), nn.Linear(32, 16)
        self.gate, self.up, self.down = nn.Linear(32, 48), nn.Linear(32, 48), nn.Linear(48, 32)

    def forward(self, x: Tensor) -> Tensor:
        batch, length, size = x.shape
        y = x.to(torch.float64).to(x.dtype)
        q = self.q(y).view(batch, length, 4, 8).transpose(1, 2)
        k, v = (layer(y).view(batch, length, 2, 8).transpose(1, 2) for layer in (self.k, self.v))
        k, v = (item.repeat_interleave(2, dim=1) for item in (k, v))
        keep = torch.ones(length, length, dtype=torch.bool, device=x.device).tril()
        scores = torch.where(keep, q @ k.transpose(-2, -1) * 8**-0.5, float("-inf"))
        y = (torch.softmax(scores, dim=-1) @ v).transpose(1, 2).reshape(batch, length, size)
        x = x + self.o(y)
        return x + self.down(functional.silu(self.gate(x)) * self.up(x))


NAMES = ("qkv_fusion", "gate_up_fusion", "sdpa", "causal_mask", "repeat_kv", "dtype_copies")


def made() -> tuple[nn.Module, Inputs]:
    torch.manual_seed(0)
    return nn.Sequential(Block(), Block()).eval(), Inputs((torch.randn(2, 10, 32),))


def test_they_are_model_rungs_of_level_three_with_names_of_their_own() -> None:
    assert {rung.level for rung in RUNGS} == {3} and all(isinstance(rung, ModelRung) for rung in RUNGS)
    assert len({rung.name for rung in RUNGS}) == len(RUNGS) and set(NAMES) <= {rung.name for rung in RUNGS}


def test_each_alone_and_all_together_pass_the_ladders_check() -> None:
    model, inputs = made()
    reference = take_reference(model, inputs)
    recipe: Recipe = tuple(Step(name) for name in NAMES)
    for steps in (*((step,) for step in recipe), recipe):
        built = apply_recipe(model, inputs, steps)
        checked = reference.compare(built, built)
        assert checked.is_right, (steps, checked.reason)
    assert reference.still_right()


def test_all_together_in_any_order() -> None:
    model, inputs = made()
    expected = inputs.call(model)
    for names in (NAMES, ("dtype_copies", "gate_up_fusion", "sdpa", "repeat_kv", "qkv_fusion")):
        tree = model
        for name in names:
            tree = next(rung for rung in RUNGS if rung.name == name).apply(tree, inputs, {})
        assert (inputs.call(tree) - expected).abs().max() < 1e-5


def test_blocks_that_were_alike_still_are_and_compile_once() -> None:
    model, inputs = made()
    tree = model
    for name in NAMES:
        tree = next(rung for rung in RUNGS if rung.name == name).apply(tree, inputs, {})
    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()
    with torch.no_grad():
        expected = inputs.call(model)
        for block in tree.children():
            block.compile(backend="eager", fullgraph=True)
        assert (inputs.call(tree) - expected).abs().max() < 1e-5
    assert torch._dynamo.utils.counters["stats"]["unique_graphs"] == 1


def test_a_model_without_anything_of_the_kind_is_told_so() -> None:
    model, inputs = nn.Sequential(nn.Linear(4, 4), nn.ReLU()), Inputs((torch.randn(2, 4),))
    for rung in RUNGS:
        for attempt in (lambda rung=rung: rung.find(model, inputs), lambda rung=rung: rung.apply(model, inputs, {})):
            try:
                attempt()
            except NotApplicable as reason:
                assert str(reason).startswith("no ")
            else:
                raise AssertionError(f"{rung.name} found something")
