from __future__ import annotations

import math
import subprocess
import sys
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn import functional

from kernel_pytorch.models.fx.rewrite import NotApplicable
from kernel_pytorch.models.inputs import Inputs
from kernel_pytorch.perf.decode import passes
from kernel_pytorch.perf.decode.ops import register
from kernel_pytorch.perf.ladder import inductor_passes
from kernel_pytorch.perf.ladder.rung import Step
from kernel_pytorch.perf.ladder.rungs import one_row
from tests.perf.decode.small_decoder import HEADS, LENGTH, SIZE, WIDTH, Decoder, is_ours, ours, passed


@pytest.fixture
def graphs() -> list[Any]:
    """The graphs as the pass left them."""
    return []


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"joined": True},
        {"bias": True},
        {"head_norms": True},
        {"part": 8},
        {"cap": 2.0},
        {"part": 4, "cap": 5.0, "head_norms": True},
    ],
    ids=["plain", "joined gate", "bias", "head norms", "rotated in part", "capped", "all three"],
)
def test_five_kernels_a_layer_and_the_same_numbers(options: dict[str, Any], graphs: list[Any]) -> None:
    torch.manual_seed(0)
    model = Decoder(**options).eval().requires_grad_(False)
    call = passed(model, graphs)
    with torch.no_grad():
        for token, at in ((7, 9), (31, 10), (2, 3)):
            given = (torch.tensor([[token]]), torch.tensor([at]))
            caches = [(layer.keys.clone(), layer.values.clone()) for layer in model.layers]
            expected = model(*given)
            written = [(layer.keys.clone(), layer.values.clone()) for layer in model.layers]
            for layer, (keys, values) in zip(model.layers, caches, strict=True):
                layer.keys.copy_(keys)
                layer.values.copy_(values)
            torch.testing.assert_close(call(*given), expected, rtol=1e-4, atol=1e-5)
            for layer, (keys, values) in zip(model.layers, written, strict=True):
                torch.testing.assert_close(layer.keys, keys)
                torch.testing.assert_close(layer.values, values)
    (graph,) = graphs
    layer_ops = ["row_products", "attend_and_store", "row_products", "row_gated", "row_products"]
    assert ours(graph) == [*layer_ops, *layer_ops, "row_products"]
    left = [node for node in graph.nodes if node.op == "call_function" and "mm" in str(node.target)]
    assert left == []
    attends = [node for node in graph.nodes if is_ours(node) and "attend" in str(node.target)]
    assert all((node.args[10] is not None) == bool(options.get("head_norms")) for node in attends)
    assert {node.args[13] for node in attends} == {options.get("cap", 0.0)}
    assert {node.args[7].meta["val"].numel() for node in attends} == {options.get("part", SIZE)}
    assert not any("rsqrt" in str(node.target) for node in graph.nodes)  # every norm is inside a kernel of ours


def test_only_the_first_kernel_waits_for_everything_before_it(graphs: list[Any]) -> None:
    model = Decoder().eval().requires_grad_(False)
    with torch.no_grad():
        passed(model, graphs)(torch.tensor([[7]]), torch.tensor([9]))
    overlaps = [node.args[-1] for node in graphs[0].nodes if is_ours(node)]
    assert overlaps == [False] + [True] * (len(overlaps) - 1)


def test_every_layer_shares_one_mask(graphs: list[Any]) -> None:
    model = Decoder().eval().requires_grad_(False)
    with torch.no_grad():
        passed(model, graphs)(torch.tensor([[7]]), torch.tensor([9]))
    biases = {node.args[6] for node in graphs[0].nodes if is_ours(node) and "attend" in str(node.target)}
    cosines = {node.args[7] for node in graphs[0].nodes if is_ours(node) and "attend" in str(node.target)}
    assert len(cosines) == 1 and None not in cosines
    assert len(biases) == 1


def test_keys_made_in_the_graph_are_not_read_ahead(graphs: list[Any]) -> None:
    class Fresh(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.q = nn.Linear(WIDTH, WIDTH)

        def forward(self, x: torch.Tensor, keys: torch.Tensor) -> torch.Tensor:
            q = self.q(x).view(1, 1, HEADS, SIZE).transpose(1, 2)
            return functional.scaled_dot_product_attention(q, (keys * 2).contiguous(), keys)

    model, keys = Fresh().eval(), torch.randn(1, HEADS, LENGTH, SIZE)
    x = torch.randn(1, 1, WIDTH)
    with torch.no_grad():
        found = passed(model, graphs)(x, keys)
        torch.testing.assert_close(found, model(x, keys), rtol=1e-4, atol=1e-5)
    (attend,) = [node for node in graphs[0].nodes if is_ours(node) and "attend" in str(node.target)]
    assert attend.args[-1] is False


def test_what_is_not_one_row_stays(graphs: list[Any]) -> None:
    model = nn.Sequential(nn.Linear(WIDTH, WIDTH, bias=False), nn.Linear(WIDTH, WIDTH)).eval()
    x = torch.randn(2, WIDTH)
    with torch.no_grad():
        torch.testing.assert_close(passed(model, graphs)(x), model(x))
    assert ours(graphs[0]) == []


def test_a_norm_of_each_head_is_not_a_norm_of_the_row(graphs: list[Any]) -> None:
    class PerHead(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = nn.Parameter(torch.rand(SIZE) + 0.5)
            self.o = nn.Linear(WIDTH, WIDTH, bias=False)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            heads = x.view(1, HEADS, SIZE)
            normed = self.weight * (heads * torch.rsqrt(heads.pow(2).mean(-1, keepdim=True) + 1e-5))
            return self.o(normed.reshape(1, WIDTH))

    model, x = PerHead().eval().requires_grad_(False), torch.randn(1, WIDTH)
    with torch.no_grad():
        torch.testing.assert_close(passed(model, graphs)(x), model(x), rtol=1e-4, atol=1e-5)
    assert ours(graphs[0]) == ["row_products"]


def test_a_cap_that_is_not_taken_off_again_is_no_cap(graphs: list[Any]) -> None:
    """tanh(x / 2) * 3 has no name of ours: it stays as it is."""
    q, keys = torch.randn(1, HEADS, 1, SIZE), torch.randn(1, HEADS, LENGTH, SIZE)

    def attend(q: torch.Tensor, keys: torch.Tensor) -> torch.Tensor:
        scores = torch.tanh(q @ keys.transpose(2, 3) / 2.0) * 3.0
        return scores.softmax(-1) @ keys

    with torch.no_grad():
        torch.testing.assert_close(passed(attend, graphs)(q, keys), attend(q, keys))
    assert ours(graphs[0]) == []


def test_a_causal_flag_is_left_to_torch(graphs: list[Any]) -> None:
    """torch aligns it to the top left: with one query it sees the first key alone."""
    q, k = torch.randn(1, HEADS, 1, SIZE), torch.randn(1, HEADS, LENGTH, SIZE)

    def attend(q: torch.Tensor, k: torch.Tensor) -> torch.Tensor:
        return functional.scaled_dot_product_attention(q, k, k, is_causal=True)

    with torch.no_grad():
        torch.testing.assert_close(passed(attend, graphs)(q, k), attend(q, k))
    assert ours(graphs[0]) == []


def test_a_weight_that_the_call_writes_to_is_not_read_ahead(graphs: list[Any]) -> None:
    class Writes(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = torch.randn(WIDTH, WIDTH)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.weight.mul_(0.5)
            return functional.linear(x, self.weight)

    model, x = Writes(), torch.randn(1, WIDTH)
    before = model.weight.clone()
    with torch.no_grad():
        torch.testing.assert_close(passed(model, graphs)(x), functional.linear(x, before * 0.5))
    assert ours(graphs[0]) == []


def one_layer() -> tuple[Any, ...]:
    x, norm = torch.randn(1, 32), torch.rand(32)
    weights = [torch.randn(*shape) for shape in ((32, 32), (16, 32), (16, 32), (32, 32), (24, 32), (24, 32), (32, 24))]
    caches = [torch.randn(1, 1, 5, 16) for _ in range(2)]
    angles = torch.randn(16)
    bias = torch.zeros(1, 1, 1, 5)
    at = torch.tensor([3])
    return x, weights, [norm] * 3, caches, torch.randn(9, 32), at, bias, angles.cos(), angles.sin(), 0.25, 1e-5


def test_operators_have_fake_kernels_that_agree() -> None:
    operators = register()
    x, weight, norm = torch.randn(1, 8), torch.randn(6, 8), torch.rand(8)
    cache = torch.randn(2, 2, 5, 16)
    q, k = torch.randn(2, 4, 1, 16), torch.randn(2, 2, 1, 16)
    at = torch.tensor([3])
    none = None
    for operator, args in (
        (operators.row_products, (x, [weight, weight], norm, 1e-5, [], none, False)),
        (operators.row_gated, (x, weight, weight, none, 0.0, True)),
        (operators.attend, (q, cache, cache, none, none, none, 0.25, none, 0.0, 0.0, False)),
        (
            operators.attend_and_store,
            (
                q,
                k,
                k,
                cache.clone(),
                cache.clone(),
                at,
                none,
                none,
                none,
                0.25,
                torch.rand(16),
                torch.rand(16),
                1e-6,
                3.0,
                True,
            ),
        ),
        (operators.decoder, one_layer()),
    ):
        torch.library.opcheck(operator.default, args, test_utils=("test_schema", "test_faketensor"))


def test_attention_is_what_torch_computes() -> None:
    operators = register()
    q, cache = torch.randn(2, 4, 1, 16), torch.randn(2, 4, 7, 16)
    found = operators.attend(q, cache, cache, None, None, None, 1 / math.sqrt(16), None, 0.0, 0.0, False)
    torch.testing.assert_close(found, functional.scaled_dot_product_attention(q, cache, cache))


def test_a_product_over_one_column_is_a_multiplication() -> None:
    from torch.fx.experimental.proxy_tensor import make_fx

    a, b = torch.randn(1, 8, 1), torch.randn(1, 1, 3)
    for function, given in ((torch.bmm, (a, b)), (torch.mm, (a[0], b[0]))):
        module = make_fx(function, tracing_mode="fake")(*given)
        passes.one_row(module.graph)
        module.recompile()
        assert not any("mm" in str(node.target) for node in module.graph.nodes)
        torch.testing.assert_close(module(*given), function(*given), rtol=0, atol=0)


def test_a_graph_from_inductors_cache_finds_the_operators() -> None:
    """There the pass does not run: naming it must be enough."""
    code = "from kernel_pytorch.perf.ladder.inductor_passes import pass_named; pass_named(('one row',)); import torch; "
    code += "torch.ops.kpt_decode.decoder.default; torch.ops.kpt_decode.row_products.default; print('there')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False)
    assert done.stdout.strip() == "there", done.stderr[-500:]


def test_unknown_passes_are_refused() -> None:
    with pytest.raises(ValueError, match="no pass 'two rows'"):
        inductor_passes.pass_named(("two rows",))
    alone, both = ("one row",), ("one row", "aiter attention")
    assert inductor_passes.pass_named(alone).uuid() != inductor_passes.pass_named(both).uuid()


# -- the rung


def test_the_rung_counts_what_it_would_change() -> None:
    model = Decoder().eval()
    one = Inputs((torch.tensor([[7]]), torch.tensor([9])))
    assert one_row.one_row_work(model, one) == one_row.OneRowWork(15, 2, 0, frozenset({16}))
    assert one_row.one_row_work(Decoder(bias=True).eval(), one).biases == 6
    wide = nn.Linear(8, 8)
    assert one_row.one_row_work(wide, Inputs((torch.randn(3, 8),))) == one_row.OneRowWork(0, 0, 0, frozenset())
    with pytest.raises(NotApplicable, match="GPU"):
        one_row.ONE_ROW.find(model, one)


def test_the_rung_adds_its_pass_to_the_kept_compile() -> None:
    model, given = Decoder(), Inputs()
    kept = (Step("coordinate_descent", {"inductor": {"coordinate_descent_tuning": True}}), Step("graph_capture"))
    (options,) = one_row.ONE_ROW.choices(model, given, kept)
    assert options == {"inductor": {"coordinate_descent_tuning": False}, "passes": ["one row"]}
    (alone,) = one_row.ONE_ROW.choices(model, given, (Step("graph_capture"),))
    assert alone == options  # no other compile has to come first
    (both,) = one_row.ONE_KERNEL.choices(model, given, ())
    assert both["passes"] == ["one row", "one kernel"]
    with pytest.raises(NotApplicable, match="one kernel already"):
        one_row.ONE_ROW.choices(model, given, (Step("one_kernel_decoder", both),))
