"""What comes out is a model: it saves, loads, trains, copies and goes into DDP as the original did.

With the real rungs of level 3, which rewrite the model; which of them apply is the ladder's business.
"""

from __future__ import annotations

import copy
import socket
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from kernel_pytorch.perf.ladder.optimize import Optimized, optimize
from tests.perf.ladder.made import FakeMeasure


class Layer(nn.Module):
    """Attention with separate projections and a gated MLP: what level 3 is for."""

    def __init__(self, width: int = 32, heads: int = 4) -> None:
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.q, self.k, self.v, self.o = (nn.Linear(width, width) for _ in range(4))
        self.gate, self.up, self.down = nn.Linear(width, 64), nn.Linear(width, 64), nn.Linear(64, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        b, n, d = x.shape
        h = self.norm1(x)
        q, k, v = (p(h).view(b, n, self.heads, -1).transpose(1, 2) for p in (self.q, self.k, self.v))
        scores = q @ k.transpose(-1, -2) / (d // self.heads) ** 0.5
        x = x + self.o((scores.softmax(-1) @ v).transpose(1, 2).reshape(b, n, d))
        h = self.norm2(x)
        return x + self.down(torch.nn.functional.silu(self.gate(h)) * self.up(h))


class Tiny(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(50, 32)
        self.layers = nn.ModuleList(Layer() for _ in range(2))
        self.head = nn.Linear(32, 50, bias=False)
        self.head.weight = self.embed.weight  # tied, as in most language models

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        x = self.embed(ids)
        for layer in self.layers:
            x = layer(x)
        return self.head(x)


def make() -> tuple[nn.Module, tuple[torch.Tensor, ...]]:
    torch.manual_seed(0)
    return Tiny().eval(), (torch.randint(0, 50, (2, 6)),)


@pytest.fixture(scope="module")
def climbed() -> tuple[nn.Module, tuple[torch.Tensor, ...], Optimized]:
    model, inputs = make()
    result = optimize(model, inputs, levels={3, 4}, measure=FakeMeasure(), budget_s=600)
    assert result.recipe, result.explain()
    return model, inputs, result


Climbed = tuple[nn.Module, tuple[torch.Tensor, ...], Optimized]


@pytest.fixture
def fresh(climbed: Climbed) -> tuple[nn.Module, tuple[torch.Tensor, ...], nn.Module]:
    """The recipe on a model of its own, for tests that change weights."""
    from kernel_pytorch.models.inputs import as_inputs
    from kernel_pytorch.perf.ladder.recipe import build

    model, inputs = make()
    return model, inputs, build(model, as_inputs(inputs), climbed[2].recipe).model


def close(one: torch.Tensor, other: torch.Tensor) -> None:
    torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5)


def test_outputs(climbed: Climbed) -> None:
    model, inputs, result = climbed
    assert result.model is not model
    close(result(*inputs), model(*inputs))


def test_state_dict_goes_both_ways(fresh: Any) -> None:
    model, inputs, optimised = fresh
    assert list(optimised.state_dict()) == list(model.state_dict())
    torch.manual_seed(7)
    other = Tiny().eval()
    optimised.load_state_dict(other.state_dict())
    close(optimised(*inputs), other(*inputs))
    close(model(*inputs), other(*inputs))  # the parameters are shared
    again = Tiny().eval()
    again.load_state_dict(optimised.state_dict())
    close(again(*inputs), other(*inputs))


def test_loading_into_the_original_shows_in_the_result(fresh: Any) -> None:
    model, inputs, optimised = fresh
    torch.manual_seed(8)
    other = Tiny().eval()
    model.load_state_dict(other.state_dict())
    close(optimised(*inputs), other(*inputs))


def test_a_step_of_training_is_the_same(fresh: Any) -> None:
    _, inputs, optimised = fresh
    twin, _ = make()
    for one in (twin.train(), optimised.train()):
        optimizer = torch.optim.AdamW(one.parameters(), lr=1e-2)
        for _ in range(3):
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(one(*inputs).flatten(0, 1), inputs[0].flatten()).backward()
            optimizer.step()
    # AdamW divides by the gradient's size: where that is zero but for rounding, the step is of any sign.
    torch.testing.assert_close(optimised.eval()(*inputs), twin.eval()(*inputs), rtol=1e-2, atol=1e-2)
    assert [name for name, _ in optimised.named_parameters()] == [name for name, _ in twin.named_parameters()]


def test_deepcopy_is_independent(fresh: Any) -> None:
    _, inputs, optimised = fresh
    twin = copy.deepcopy(optimised)
    before = optimised(*inputs).detach()
    close(twin(*inputs), before)
    with torch.no_grad():
        for parameter in twin.parameters():
            parameter.mul_(1.5)
    close(optimised(*inputs), before)
    assert not torch.allclose(twin(*inputs), before)
    reference = Tiny().eval()
    reference.load_state_dict(twin.state_dict())
    close(twin(*inputs), reference(*inputs))


def test_torch_save_and_load(fresh: Any, tmp_path: Path) -> None:
    _, inputs, optimised = fresh
    torch.save(optimised, tmp_path / "model.pt")
    loaded = torch.load(tmp_path / "model.pt", weights_only=False)
    close(loaded(*inputs), optimised(*inputs))
    torch.save(optimised.state_dict(), tmp_path / "state.pt")
    plain = Tiny().eval()
    plain.load_state_dict(torch.load(tmp_path / "state.pt", weights_only=True))
    close(plain(*inputs), optimised(*inputs))


def test_data_parallel(fresh: Any) -> None:
    _, inputs, optimised = fresh
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    torch.distributed.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{port}", rank=0, world_size=1)
    try:
        wrapped = nn.parallel.DistributedDataParallel(optimised.train())
        optimizer = torch.optim.SGD(wrapped.parameters(), lr=0.1)
        before = wrapped(*inputs).detach()
        wrapped(*inputs).square().mean().backward()
        assert all(parameter.grad is not None for parameter in optimised.parameters())
        optimizer.step()
        assert not torch.allclose(wrapped(*inputs), before)
    finally:
        torch.distributed.destroy_process_group()


def test_moving_to_another_type(fresh: Any) -> None:
    _, inputs, optimised = fresh
    twin, _ = make()
    optimised.double()
    torch.testing.assert_close(optimised(*inputs), twin.double()(*inputs), rtol=1e-9, atol=1e-9)
