from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn

from kernel_pytorch.models.blocks import blocks_of_one_shape
from kernel_pytorch.models.fx.rewrite import NotApplicable
from kernel_pytorch.models.inputs import Inputs
from kernel_pytorch.perf.ladder.rung import SLOTS, Step, WrapRung
from kernel_pytorch.perf.ladder.rungs import capture, compile, graph_breaks, inductor_tuning, regional_compile

WRAPS = (*compile.RUNGS, *capture.RUNGS, *graph_breaks.RUNGS, *regional_compile.RUNGS, *inductor_tuning.RUNGS)


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Linear(8, 8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + torch.tanh(self.inner(x))


class Stack(nn.Module):
    def __init__(self, blocks: int = 4) -> None:
        super().__init__()
        self.layers = nn.ModuleList(Block() for _ in range(blocks))
        self.head = nn.Linear(8, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for layer in self.layers:
            x = layer(x)
        return self.head(x)


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """torch.compile with graphs run as they are, and what it was called with."""
    calls: list[dict[str, Any]] = []
    real = torch.compile

    def fake(model: Any = None, **arguments: Any) -> Any:
        calls.append(arguments)
        return real(model, backend="eager", fullgraph=arguments.get("fullgraph", False))

    torch._dynamo.reset()
    monkeypatch.setattr(torch, "compile", fake)
    return calls


def test_every_rung_is_well_formed() -> None:
    names = [rung.name for rung in WRAPS]
    assert len(set(names)) == len(names)
    assert all(rung.slot in SLOTS and rung.level in (2, 4) and rung.title for rung in WRAPS)


def test_compile_sets_nothing_where_nothing_differs(seen: list[dict[str, Any]]) -> None:
    model, inputs = Stack().eval(), Inputs((torch.randn(2, 8),))
    found = compile.COMPILE.wrap(model, inputs, {})
    with torch.no_grad():
        torch.testing.assert_close(inputs.call(found), inputs.call(model))
    assert seen == [{}]
    assert found._orig_mod is model  # type: ignore[attr-defined]


def test_rocm_settings_are_passed_where_this_torch_differs(
    seen: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.version, "hip", "7.0", raising=False)
    with torch._inductor.config.patch(max_autotune=True, memory_planning=True):
        arguments = compile.compile_arguments({"inductor": {"coordinate_descent_tuning": True}})
        assert arguments["options"]["max_autotune"] is False
        assert arguments["options"]["memory_planning"] is False
        assert arguments["options"]["coordinate_descent_tuning"] is True
        assert torch._inductor.config.max_autotune is True  # nothing global was touched


def test_unknown_options_are_refused() -> None:
    with pytest.raises(ValueError, match="no compile option 'mode'"):
        compile.compiled(Stack(), {"mode": "reduce-overhead"})


def test_a_new_shape_compiles_again_or_fails_or_runs_eagerly(seen: list[dict[str, Any]]) -> None:
    from torch._dynamo.utils import counters

    model = Stack().eval()
    with torch.no_grad():
        for choice in ("compile", "eager", "fail"):
            torch._dynamo.reset()
            call = compile.compiled(model, {"on_new_shape": choice} if choice != "compile" else {})
            call(torch.randn(2, 8))
            counters.clear()
            other = torch.randn(2, 3, 8)
            if choice == "fail":
                with pytest.raises(RuntimeError, match="recompile"):
                    call(other)
            else:
                torch.testing.assert_close(call(other), model(other))
                assert counters["stats"]["unique_graphs"] == (1 if choice == "compile" else 0)


def test_sizes_that_vary_are_found_and_one_graph_serves_them(seen: list[dict[str, Any]]) -> None:
    from torch._dynamo.utils import counters

    sets = [Inputs((torch.randn(rows, 8),), {"flag": 3}) for rows in (5, 7, 9)]
    sizes = compile.varying_sizes(sets)
    assert sizes == [[0, 0]]
    assert json.loads(json.dumps({"dynamic": sizes})) == {"dynamic": [[0, 0]]}
    model = Stack().eval()
    call = compile.compiled(model, {"dynamic": sizes})
    counters.clear()
    with torch.no_grad():
        for one in sets:
            torch.testing.assert_close(call(*one.args), model(*one.args))
    assert counters["stats"]["unique_graphs"] == 1
    with pytest.raises(NotApplicable, match="number of axes"):
        compile.varying_sizes([sets[0], Inputs((torch.randn(8),), {"flag": 3})])


def test_dynamo_settings_hold_inside_and_are_restored() -> None:
    config = torch._dynamo.config
    before = config.capture_scalar_outputs
    with compile.dynamo_settings({"capture_scalar_outputs": not before}):
        assert config.capture_scalar_outputs is not before
    assert config.capture_scalar_outputs is before


def test_fp32_products_have_fewer_bits_only_during_calls() -> None:
    seen_inside = []

    class Looks(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x

    call = compile._surrounded(
        lambda: seen_inside.append(torch.get_float32_matmul_precision()), compile._Around({}, None, "high")
    )
    before = torch.get_float32_matmul_precision()
    call()
    assert seen_inside == ["high"]
    assert torch.get_float32_matmul_precision() == before
    with pytest.raises(NotApplicable, match="fp32"):
        compile.TENSOR_FLOAT_32.find(Looks(), Inputs())


def test_a_compile_that_lost_is_tried_again_inside_the_graph() -> None:
    model, inputs = Stack(), Inputs((torch.randn(2, 8),))
    choices = compile.COMPILE_IN_GRAPH.choices
    assert choices(model, inputs, (Step("graph_capture"),)) == ({},)
    for kept in ((), (Step("compile"), Step("graph_capture")), (Step("regional_compile"), Step("graph_capture"))):
        with pytest.raises(NotApplicable):
            choices(model, inputs, kept)


# -- regional compile


def test_repeated_blocks_are_found_by_structure() -> None:
    assert blocks_of_one_shape(Stack(4)) == [f"layers.{number}" for number in range(4)]
    assert blocks_of_one_shape(Stack(2)) == []
    assert blocks_of_one_shape(nn.Sequential(*(nn.Linear(4, 4) for _ in range(6)))) == []
    different = nn.Sequential(Block(), nn.Sequential(nn.Linear(8, 9), nn.Linear(9, 8)), nn.Sequential(nn.Linear(8, 8)))
    assert blocks_of_one_shape(different) == []


def test_blocks_are_compiled_once_in_a_new_tree(seen: list[dict[str, Any]]) -> None:
    from torch._dynamo.utils import counters

    model, inputs = Stack(5).eval(), Inputs((torch.randn(2, 8),))
    counters.clear()
    tree = regional_compile.REGIONAL.wrap(model, inputs, {})
    with torch.no_grad():
        torch.testing.assert_close(inputs.call(tree), inputs.call(model))
    assert counters["stats"]["unique_graphs"] == 1
    assert isinstance(tree, nn.Module) and list(tree.state_dict()) == list(model.state_dict())
    assert all(a is b for a, b in zip(tree.parameters(), model.parameters(), strict=True))
    assert all(layer._compiled_call_impl is None for layer in model.modules())
    assert tree.layers is not model.layers


# -- graph breaks


class Prints(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Linear(8, 8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.inner(x)
        print("half way")
        return x * 2


class Counts(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Linear(8, 8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.inner(x)
        return x * x.sum().item()


class Closed(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Linear(8, 8)

    @torch.compiler.disable
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.inner(x)


class Branches(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Linear(8, 8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.inner(x)
        if x.sum() > 0:
            return x + 1
        return x - 1


@pytest.mark.parametrize(
    ("make", "option"),
    [
        (Prints, {"dynamo": {"reorderable_logging_functions": ["print"]}}),
        (Counts, {"dynamo": {"capture_scalar_outputs": True}}),
        (lambda: nn.Sequential(nn.Linear(8, 8), Closed()), {"enable": ["1"]}),
    ],
)
def test_a_known_break_is_repaired(make: Callable[[], nn.Module], option: dict[str, Any]) -> None:
    from kernel_pytorch.perf.ladder.breaks import counted_breaks

    torch._dynamo.reset()
    model, inputs = make().eval(), Inputs((torch.randn(2, 8),))
    assert "1 of 1 graph breaks repaired" in graph_breaks.GRAPH_BREAKS.find(model, inputs)
    (options,) = graph_breaks.GRAPH_BREAKS.choices(model, inputs, ())
    assert options == option
    assert json.loads(json.dumps(options)) == options
    torch._dynamo.reset()
    tree = graph_breaks.with_enabled(model, options["enable"]) if "enable" in options else model
    with counted_breaks() as found, torch.no_grad(), compile.dynamo_settings(options.get("dynamo", {})):
        torch.testing.assert_close(torch.compile(tree, backend="eager")(*inputs.args), model(*inputs.args))
    assert found.count == 0


def test_a_break_that_cannot_be_repaired_is_shown_with_its_fix() -> None:
    torch._dynamo.reset()
    model, inputs = Branches().eval(), Inputs((torch.randn(2, 8),))
    with pytest.raises(NotApplicable, match=r"test_compile_rungs\.py.*torch\.where or torch\.cond"):
        graph_breaks.GRAPH_BREAKS.find(model, inputs)
    with pytest.raises(NotApplicable, match="no graph breaks"):
        graph_breaks.GRAPH_BREAKS.find(Stack().eval(), inputs)


# -- tuning on top


def test_tuning_adds_to_the_kept_compile() -> None:
    model, inputs = Stack(), Inputs((torch.randn(2, 8),))
    kept = (Step("graph_breaks", {"dynamo": {"capture_scalar_outputs": True}}), Step("graph_capture"))
    (options,) = inductor_tuning.COORDINATE_DESCENT.choices(model, inputs, kept)
    assert options == {"dynamo": {"capture_scalar_outputs": True}, "inductor": {"coordinate_descent_tuning": True}}
    (more,) = inductor_tuning.GEMM_SEARCH.choices(model, inputs, (Step("coordinate_descent", options),))
    assert more["inductor"] == {
        "coordinate_descent_tuning": True,
        "max_autotune_gemm": True,
        "max_autotune_gemm_backends": "ATEN,TRITON",
    }
    with pytest.raises(NotApplicable, match="already"):
        inductor_tuning.COORDINATE_DESCENT.choices(model, inputs, (Step("gemm_search", more),))
    with pytest.raises(NotApplicable, match="nothing to tune"):
        inductor_tuning.COORDINATE_DESCENT.choices(model, inputs, ())


@pytest.mark.parametrize("rung", inductor_tuning.RUNGS, ids=lambda rung: rung.name)
def test_every_inductor_setting_exists_in_this_torch(rung: WrapRung) -> None:
    model, inputs = Stack(), Inputs((torch.randn(2, 8),))
    (options,) = rung.choices(model, inputs, (Step("compile"),))
    torch._inductor.config.load_config  # noqa: B018 - the module is loaded
    for name, value in options["inductor"].items():
        with torch._inductor.config.patch({name: value}):
            pass
    with pytest.raises(NotApplicable, match="GPU"):
        rung.find(model, inputs)


# -- graphs


def test_graphs_need_a_gpu_and_inference() -> None:
    for rung in (capture.GRAPH_CAPTURE, capture.INDUCTOR_GRAPHS):
        with pytest.raises(NotApplicable, match="GPU"):
            rung.find(Stack(), Inputs())
    assert "reduce-overhead" in capture.INDUCTOR_GRAPHS.needs
    assert not capture.GRAPH_CAPTURE.needs


def test_what_cannot_be_recorded_does_not_apply(seen: list[dict[str, Any]]) -> None:
    model, inputs = Stack().eval(), Inputs((torch.randn(2, 8),))
    with pytest.raises(NotApplicable, match="graphs need a GPU"):
        capture.GRAPH_CAPTURE.wrap(compile.compiled(model, {}), inputs, {})


def test_inductors_graphs_are_the_kept_compile_with_one_setting_more(seen: list[dict[str, Any]]) -> None:
    model, inputs = Stack().eval(), Inputs((torch.randn(2, 8),))
    call = compile.compiled(model, {"inductor": {"coordinate_descent_tuning": True}})
    again = capture.INDUCTOR_GRAPHS.wrap(call, inputs, {})
    assert seen[-1]["options"] == {
        "coordinate_descent_tuning": True,
        "triton.cudagraphs": True,
        "triton.cudagraph_trees": True,
    }
    assert again.module is model  # type: ignore[attr-defined]
    with pytest.raises(NotApplicable, match="not compiled"):
        capture.INDUCTOR_GRAPHS.wrap(model, inputs, {})
    with pytest.raises(NotApplicable, match="one by one"):
        capture.INDUCTOR_GRAPHS.choices(model, inputs, (Step("regional_compile"),))
