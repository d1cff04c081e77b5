"""The attention adapter under torch.compile: one graph on every tier, and the libraries' operators in it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch._dynamo.backends.debugging import aot_eager

from kernel_pytorch.port.templates import rocm_attention as adapter
from tests.port.templates.attention_libraries import registered
from tests.port.templates.reference_attention import inputs, reference

OPS = {
    "aiter": "mha_fwd",
    "flash_attn": "_flash_attn_forward",
    "sdpa": "scaled_dot_product_attention",
    "eager": "einsum",
}


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No library, a CPU tensor that counts as one of an MI300X, and nothing chosen or compiled yet."""
    for name in ("aiter", "flash_attn"):
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setattr(adapter, "_runs_kernels", lambda device, dtype: True)
    monkeypatch.setattr(adapter, "_target", lambda device: "gfx942")
    forget()
    yield
    forget()


def forget() -> None:
    torch._dynamo.reset()
    adapter._choose.cache_clear()
    adapter._entry.cache_clear()
    adapter._OFFERED._destroy()
    for name in [name for name in torch.ops.rocm_attention.__dict__ if name.startswith(("aiter", "flash_attn"))]:
        delattr(torch.ops.rocm_attention, name)
    adapter._OFFERED = torch.library.Library("rocm_attention", "FRAGMENT")


@pytest.fixture(params=["aiter", "flash_attn", "sdpa", "eager"])
def tier(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The tier that must serve: the library is there, or it is not and PyTorch does."""
    name: str = request.param
    if name == "eager":
        monkeypatch.setattr(adapter, "_FORCED", "eager")
    if name in ("sdpa", "eager"):
        yield name
        return
    with registered(name) as module:
        monkeypatch.setitem(sys.modules, name, module)
        yield name


def compiled(
    function: Callable[..., Any], graphs: list[torch.fx.GraphModule], differentiated: bool = False, **options: Any
) -> Callable[..., Any]:
    """In one graph or not at all; the graphs are kept. `differentiated`: by AOTAutograd, as Inductor has it."""

    def keep(graph: torch.fx.GraphModule, inputs: Any) -> Any:
        graphs.append(graph)
        return aot_eager(graph, inputs) if differentiated else graph.forward

    return torch.compile(function, fullgraph=True, backend=keep, **options)  # type: ignore[no-any-return]


def calls(graph: torch.fx.GraphModule) -> str:
    return "\n".join(module.code for module in graph.modules() if isinstance(module, torch.fx.GraphModule))


def test_one_graph_forward_and_backward(tier: str) -> None:
    graphs: list[torch.fx.GraphModule] = []
    q, k, v = (item.requires_grad_() for item in inputs(2, 5, 7, 4, 2, 12, torch.float32))
    out = compiled(adapter.flash_attn_func, graphs, differentiated=True)(q, k, v, causal=True)
    assert len(graphs) == 1 and OPS[tier] in calls(graphs[0]) and adapter.last_tier() == tier
    expected, _ = reference(q, k, v, causal=True)
    torch.testing.assert_close(out.double(), expected, rtol=1e-5, atol=1e-5)
    weight = torch.randn(out.shape, generator=torch.Generator().manual_seed(0))
    ours = torch.autograd.grad((out * weight).sum(), (q, k, v))
    theirs = torch.autograd.grad((expected * weight).sum(), (q, k, v))
    for mine, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(mine, other, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("tier", ["aiter", "sdpa"], indirect=True)
def test_twelve_layers_are_one_graph(tier: str) -> None:
    def layers(q: torch.Tensor, k: torch.Tensor) -> torch.Tensor:
        for _ in range(12):
            q = adapter.flash_attn_func(q, k, k, causal=True)
        return q

    q, k, _ = inputs(1, 4, 4, 2, 2, 8, torch.float32)
    seen = torch._dynamo.explain(layers)(q, k)
    assert (seen.graph_count, seen.graph_break_count) == (1, 0), seen.break_reasons
    assert calls(seen.graphs[0]).count(OPS[tier] + ("(" if tier == "sdpa" else "")) >= 12


def test_sequences_end_to_end_ask_the_host_for_nothing(tier: str) -> None:
    lengths = [3, 5, 1]
    single = [inputs(1, size, size, 4, 2, 8, torch.float32) for size in lengths]
    q, k, v = (torch.cat([item[part][0] for item in single]) for part in range(3))
    ends = torch.tensor([0, *lengths]).cumsum(0, dtype=torch.int32)
    graphs: list[torch.fx.GraphModule] = []
    out = compiled(adapter.flash_attn_varlen_func, graphs)(q, k, v, ends, ends, 5, 5, causal=True)
    # The stand-in for flash_attn has the dense operators only.
    assert len(graphs) == 1 and adapter.last_tier() == ("sdpa" if tier == "flash_attn" else tier)
    expected = torch.cat([reference(*one, causal=True)[0][0] for one in single])
    torch.testing.assert_close(out.double(), expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("tier", ["aiter", "sdpa"], indirect=True)
def test_one_graph_serves_many_lengths(tier: str) -> None:
    graphs: list[torch.fx.GraphModule] = []

    run = compiled(adapter.flash_attn_func, graphs, dynamic=True)
    for length in (5, 6, 9):
        q, k, v = inputs(2, length, length, 4, 2, 16, torch.float32)
        torch.testing.assert_close(
            run(q, k, v, causal=True).double(), reference(q, k, v, causal=True)[0], rtol=1e-5, atol=1e-5
        )
    assert len(graphs) == 1 and adapter.last_tier() == tier


def test_a_cache_is_written_inside_the_graph() -> None:
    q, k, v = inputs(2, 1, 1, 4, 2, 8, torch.float32)
    _, old_k, old_v = inputs(2, 1, 8, 4, 2, 8, torch.float32)
    held = torch.tensor([3, 6], dtype=torch.int32)
    caches = [(old_k.clone(), old_v.clone()) for _ in range(2)]
    graphs: list[torch.fx.GraphModule] = []

    def step(q: Any, k: Any, v: Any, cache_k: Any, cache_v: Any, held: Any) -> Any:
        return adapter.flash_attn_with_kvcache(q, cache_k, cache_v, k, v, cache_seqlens=held, causal=True)

    ours = compiled(step, graphs)(q, k, v, *caches[0], held)
    torch.testing.assert_close(ours, step(q, k, v, *caches[1], held))
    torch.testing.assert_close(caches[0], caches[1])
    assert len(graphs) == 1 and not torch.equal(caches[0][0], old_k)


def test_what_an_operator_lacks_goes_to_the_next_tier(monkeypatch: pytest.MonkeyPatch) -> None:
    q, k, v = (item.requires_grad_() for item in inputs(1, 3, 3, 2, 2, 8, torch.float32))
    with registered("aiter") as module:
        monkeypatch.setitem(sys.modules, "aiter", module)
        run = compiled(adapter.flash_attn_func, [])
        run(q, k, v, softcap=2.0)
        assert adapter.last_tier() == "eager", "aiter's dense operator has no softcap"
        ends = torch.tensor([0, 3], dtype=torch.int32)
        flat = [item[0] for item in (q, k, v)]
        packed = compiled(adapter.flash_attn_varlen_func, [])
        packed(*(item.detach() for item in flat), ends, ends, 3, 3, softcap=2.0)
        assert adapter.last_tier() == "aiter"
        packed(*flat, ends, ends, 3, 3, softcap=2.0)
        assert adapter.last_tier() == "eager", "aiter's backward pass leaves softcap out"


@pytest.mark.parametrize("tier", ["aiter"], indirect=True)
def test_one_tensor_may_be_keys_and_values(tier: str) -> None:
    x = inputs(2, 5, 5, 4, 4, 16, torch.float32)[0].requires_grad_()
    out = compiled(adapter.flash_attn_func, [], differentiated=True)(x, x, x, causal=True)
    expected, _ = reference(x, x, x, causal=True)
    (mine,) = torch.autograd.grad(out.square().sum(), x)
    (other,) = torch.autograd.grad(expected.square().sum(), x)
    torch.testing.assert_close(mine, other, rtol=1e-4, atol=1e-5)
    assert adapter.last_tier() == tier


def test_an_operator_with_an_argument_nobody_knows_is_not_called(monkeypatch: pytest.MonkeyPatch) -> None:
    with registered("flash_attn") as module, torch.library._scoped_library("aiter", "FRAGMENT") as library:
        library.define("mha_fwd(Tensor q, Tensor k, Tensor v, Tensor page_map) -> Tensor")
        monkeypatch.setitem(sys.modules, "aiter", module)
        assert "asks for page_map" in str(adapter._entry("aiter", "flash_attn_func", 0))
