"""Level 4: decoding one token. Products of one row with a weight, and attention of one query over a cache, as kernels
of our own with all that stands around them: five kernels a layer, which read their weights ahead of their turn. Then,
where the GPU and the shapes allow, all of them as one kernel.

Found in Inductor's graph by structure (`perf.decode`), so it needs a compile of the whole model.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from kernel_pytorch.models.fx.rewrite import NotApplicable
from kernel_pytorch.models.inputs import Inputs
from kernel_pytorch.perf.ladder.rung import Options, Prediction, Recipe, WrapRung
from kernel_pytorch.perf.ladder.rungs.compile import SLOT, compiled, kept_compile, why_not_compiled

if TYPE_CHECKING:
    from torch import nn

    from kernel_pytorch.perf.profile import Profile

PASS = "one row"
WHOLE = "one kernel"


def one_row_work(model: nn.Module, inputs: Inputs) -> tuple[int, int]:
    """Products of one row, and attentions of one query, in one call of the model."""
    import torch
    from torch.utils._python_dispatch import TorchDispatchMode

    from kernel_pytorch.models.undisturbed import undisturbed

    aten = torch.ops.aten
    counts = {"products": 0, "queries": 0}

    class Watch(TorchDispatchMode):  # type: ignore[misc]
        def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            if function in (aten.mm.default, aten.addmm.default):
                counts["products"] += args[-2].shape[0] == 1
            elif "scaled_dot_product" in function.__name__ and "backward" not in function.__name__:
                counts["queries"] += args[0].dim() == 4 and args[0].shape[2] == 1
            return function(*args, **(kwargs or {}))

    with undisturbed(model), torch.no_grad(), Watch():
        inputs.call(model)
    return counts["products"], counts["queries"]


def _find(model: nn.Module, inputs: Inputs) -> str:
    why_not_compiled(model)
    if not any(item.device.type == "cuda" for item in model.parameters()):
        raise NotApplicable("the model is not on a GPU")
    if importlib.util.find_spec("triton") is None:
        raise NotApplicable("Triton is not installed")
    if model.training:
        raise NotApplicable("the model is in train mode: the kernels have no gradients")
    products, queries = one_row_work(model, inputs)
    if not products and not queries:
        raise NotApplicable("no product has a single row and no attention a single query: this is for decoding")
    return f"{products} products of one row and {queries} attentions of one query as kernels of our own"


def _choices(model: nn.Module, inputs: Inputs, kept: Recipe) -> tuple[Options, ...]:
    options = kept_compile(kept)
    if options is None:
        raise NotApplicable("no compile of the whole model was kept: the pass works on its graph")
    # Coordinate descent takes one-row products apart before the pass can see them.
    options["inductor"] = {**options.get("inductor", {}), "coordinate_descent_tuning": False}
    options["passes"] = [PASS]
    return (options,)


def _wrap(function: Callable[..., Any], inputs: Inputs, options: Options) -> Callable[..., Any]:
    return compiled(function, options)


def _predict(profile: Profile, inputs: Inputs) -> Prediction:
    lost = sum(row.most_to_gain_ms for row in profile.categories if row.category in ("gemm", "attention"))
    if not lost:
        return Prediction(None, "the profile does not say")
    return Prediction(lost, f"products and attention are {lost:.3f} ms above the time to read their weights")


ONE_ROW = WrapRung(
    "one_row_kernels", 4, "decoding kernels: five a layer, weights read ahead", SLOT, _find, _wrap, _predict, _choices
)


def _find_whole(model: nn.Module, inputs: Inputs) -> str:
    import torch

    from kernel_pytorch.perf.decode.decoder_launch import why_not_here

    found = _find(model, inputs)
    reason = why_not_here(next(item.device for item in model.parameters() if item.device.type == "cuda"))
    if reason is not None:
        raise NotApplicable(reason)
    others = {item.dtype for item in model.parameters()} - {torch.bfloat16}
    if others:
        raise NotApplicable(f"the kernel multiplies bfloat16; there are parameters in {sorted(map(str, others))[0]}")
    return f"{found}, all in one kernel if they are a decoder that it can take"


def _whole_choices(model: nn.Module, inputs: Inputs, kept: Recipe) -> tuple[Options, ...]:
    options = kept_compile(kept)
    if options is None or PASS not in options.get("passes", ()):
        raise NotApplicable("the decoding kernels were not kept: this makes one of them")
    options["passes"] = [*options["passes"], WHOLE]
    return (options,)


ONE_KERNEL = WrapRung(
    "one_kernel_decoder",
    4,
    "the whole decoder as one kernel: weights arrive while programs wait for each other",
    SLOT,
    _find_whole,
    _wrap,
    _predict,
    _whole_choices,
)

RUNGS = (ONE_ROW, ONE_KERNEL)
