"""How launches are taken away: the whole call recorded as a graph by ourselves, or by Inductor where that is allowed.

Both stand in the capture slot: whichever measures better is kept. Ours works around anything that torch.compile made
(`backends.graphs.capture`: warm-up on a side stream, recording under fail-on-recompile, random numbers that go on from
replay to replay, replay compared with the plain call on other inputs). Inductor's is mode="reduce-overhead".
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from kernel_pytorch.models.fx.rewrite import NotApplicable
from kernel_pytorch.models.inputs import Inputs
from kernel_pytorch.perf.advice.rules import LAUNCH_GAPS
from kernel_pytorch.perf.ladder.rung import REDUCE_OVERHEAD, Options, Prediction, Recipe, WrapRung
from kernel_pytorch.perf.ladder.rungs.compile import (
    COMPILE_IN_GRAPH,
    CompiledCall,
    compiled,
    kept_compile,
    sizes_option,
)

if TYPE_CHECKING:
    from torch import nn

    from kernel_pytorch.perf.profile import Profile

SLOT = "capture"


def _find(model: nn.Module, inputs: Inputs) -> str:
    refuse_where_no_graphs(model)
    return "the whole call recorded once and replayed: no Python and no launches between kernels"


def refuse_where_no_graphs(model: nn.Module) -> None:
    """Raises NotApplicable where a GPU's graphs cannot serve."""
    if not any(item.device.type == "cuda" for item in model.parameters()):
        raise NotApplicable("graphs need the model on a GPU")
    if model.training:
        raise NotApplicable("the model is in train mode: graphs are for inference")


def _wrap(function: Callable[..., Any], inputs: Inputs, options: Options) -> Callable[..., Any]:
    import torch

    from kernel_pytorch.backends.graphs import capture

    captured = capture(
        function,
        modules=modules_of_call(function),
        copy_outputs=bool(options.get("copy_outputs", True)),
    )
    with torch.no_grad():
        inputs.call(captured)
    if not captured.graphs:
        raise NotApplicable("; ".join(captured.reasons) or "no graph was recorded")
    return captured


def modules_of_call(function: Any) -> tuple[nn.Module, ...]:
    """The modules whose weights a wrapped call reads."""
    from kernel_pytorch.backends.graph_surroundings import modules_of

    return (function.module,) if isinstance(function, CompiledCall) else modules_of(function)


def predict_capture(profile: Profile, inputs: Inputs) -> Prediction:
    """All of the time the GPU waits for launches."""
    gaps = sum(one.saving_ms for one in profile.advice if one.title == LAUNCH_GAPS)
    return Prediction(gaps, f"{gaps:.3f} ms in which the GPU waits for launches")


GRAPH_CAPTURE = WrapRung(
    "graph_capture",
    2,
    "the whole call as one recorded graph",
    SLOT,
    _find,
    _wrap,
    predict_capture,
    usual_share=0.1,
    compiles=0.1,
)


def _find_inductor(model: nn.Module, inputs: Inputs) -> str:
    refuse_where_no_graphs(model)
    return "Inductor records the graphs of what it compiled (mode reduce-overhead)"


def _inductor_choices(model: nn.Module, inputs: Inputs, kept: Recipe) -> tuple[Options, ...]:
    if any(step.rung == "regional_compile" for step in kept):
        raise NotApplicable("blocks are compiled one by one: Inductor would record a graph for each")
    return ({} if kept_compile(kept) is not None else {"compile": sizes_option(inputs)},)


def _wrap_inductor(function: Callable[..., Any], inputs: Inputs, options: Options) -> Callable[..., Any]:
    if not isinstance(function, CompiledCall):
        if "compile" not in options:
            raise NotApplicable("the model is not compiled as a whole")
        function = compiled(function, options["compile"])
    return function.with_inductor(**{"triton.cudagraphs": True, "triton.cudagraph_trees": True})


INDUCTOR_GRAPHS = WrapRung(
    "reduce_overhead",
    2,
    'torch.compile, mode="reduce-overhead"',
    SLOT,
    _find_inductor,
    _wrap_inductor,
    predict_capture,
    _inductor_choices,
    frozenset({REDUCE_OVERHEAD}),
    usual_share=0.005,
)

RUNGS = (GRAPH_CAPTURE, COMPILE_IN_GRAPH, INDUCTOR_GRAPHS)
