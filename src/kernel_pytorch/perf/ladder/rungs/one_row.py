"""Level 4: decoding one token. Products of one row with a weight, and attention of one query over a cache, as kernels
of our own with all that stands around them: five kernels a layer, which read their weights ahead of their turn. Then,
where the GPU and the shapes allow, all of them as one kernel.

Found in Inductor's graph by structure (`perf.decode`): a compile of the whole model, which needs no other before it.
"""

from __future__ import annotations

import importlib.util
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kernel_pytorch.models.fx.rewrite import NotApplicable
from kernel_pytorch.models.inputs import Inputs
from kernel_pytorch.perf.ladder.rung import Options, Prediction, Recipe, WrapRung
from kernel_pytorch.perf.ladder.rungs.compile import SLOT, compiled, kept_compile, predict_compile, why_not_compiled
from kernel_pytorch.perf.ladder.rungs.environment import vendor_of

if TYPE_CHECKING:
    from torch import nn

    from kernel_pytorch.perf.profile import Profile

NOT_RUN = "not run on AMD by its authors: watch the check"
PASS = "one row"
WHOLE = "one kernel"


@dataclass(frozen=True)
class OneRowWork:
    """Products of one row, attentions of one query with the sizes of their heads, and products with a bias."""

    products: int
    queries: int
    biases: int
    head_sizes: frozenset[int]


def _attends(function: Any) -> bool:
    return "scaled_dot_product" in function.__name__ and "backward" not in function.__name__


def one_row_work(model: nn.Module, inputs: Inputs) -> OneRowWork:
    """What one call of the model does for a single token."""
    import torch
    from torch.utils._python_dispatch import TorchDispatchMode

    from kernel_pytorch.models.undisturbed import undisturbed

    aten = torch.ops.aten
    counts: Counter[str] = Counter()
    sizes: set[int] = set()

    class Watch(TorchDispatchMode):  # type: ignore[misc]
        def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            if function in (aten.mm.default, aten.addmm.default) and args[-2].shape[0] == 1:
                counts["products"] += 1
                counts["biases"] += function is aten.addmm.default
            elif _attends(function) and args[0].dim() == 4 and args[0].shape[2] == 1:
                counts["queries"] += 1
                sizes.add(int(args[0].shape[-1]))
            return function(*args, **(kwargs or {}))

    with undisturbed(model), torch.no_grad(), Watch():
        inputs.call(model)
    return OneRowWork(counts["products"], counts["queries"], counts["biases"], frozenset(sizes))


def few_rows(model: nn.Module, inputs: Inputs, least: int = 1, most: int = 16) -> int:
    """Products of linear layers that have so many rows in one call."""
    import torch

    from kernel_pytorch.models.undisturbed import undisturbed

    found = 0

    def watch(module: nn.Module, args: tuple[Any, ...], out: Any) -> None:
        nonlocal found
        found += least <= args[0].numel() // module.in_features <= most

    hooks = [one.register_forward_hook(watch) for one in model.modules() if isinstance(one, torch.nn.Linear)]
    try:
        with undisturbed(model), torch.no_grad():
            inputs.call(model)
    finally:
        for hook in hooks:
            hook.remove()
    return found


def _work(model: nn.Module, inputs: Inputs) -> OneRowWork:
    """Raises NotApplicable where the model does not decode on a GPU."""
    why_not_compiled(model)
    if not any(item.device.type == "cuda" for item in model.parameters()):
        raise NotApplicable("the model is not on a GPU")
    if importlib.util.find_spec("triton") is None:
        raise NotApplicable("Triton is not installed")
    if model.training:
        raise NotApplicable("the model is in train mode: the kernels have no gradients")
    work = one_row_work(model, inputs)
    if not work.products and not work.queries:
        raise NotApplicable("no product has a single row and no attention a single query: this is for decoding")
    return work


def _found(work: OneRowWork) -> str:
    return f"{work.products} products of one row and {work.queries} attentions of one query as kernels of our own"


def _find(model: nn.Module, inputs: Inputs) -> str:
    return _found(_work(model, inputs))


def with_passes(kept: Recipe, *passes: str) -> Options:
    """The kept compile with these passes; a compile of its own where there is none: no other has to come first."""
    options = kept_compile(kept) or {}
    if WHOLE in options.get("passes", ()):
        raise NotApplicable("the whole decoder is one kernel already")
    if list(passes) == options.get("passes"):
        raise NotApplicable("the decoding kernels are kept already")
    # Coordinate descent takes one-row products apart before the pass can see them.
    options["inductor"] = {**options.get("inductor", {}), "coordinate_descent_tuning": False}
    options["passes"] = list(passes)
    return options


def _choices(model: nn.Module, inputs: Inputs, kept: Recipe) -> tuple[Options, ...]:
    return (with_passes(kept, PASS),)


def why_settled(kept: Recipe) -> str:
    """Why no rewrite of the model can help any more; empty where one can."""
    if WHOLE in (kept_compile(kept) or {}).get("passes", ()):
        return "the whole decoder is one kernel, which takes its layers as they are"
    return ""


def wrap(function: Callable[..., Any], inputs: Inputs, options: Options) -> Callable[..., Any]:
    return compiled(function, options)


def predict(profile: Profile, inputs: Inputs) -> Prediction:
    """What stands above the time to read the weights, and what the compile around it fuses."""
    lost = sum(row.most_to_gain_ms for row in profile.categories if row.category in ("gemm", "attention"))
    compiled_too = predict_compile(profile, inputs)
    if not lost and not compiled_too.saving_ms:
        return Prediction(None, "the profile does not say")
    why = f"products and attention are {lost:.3f} ms above the time to read their weights; {compiled_too.why}"
    return Prediction(lost + (compiled_too.saving_ms or 0.0), why)


ONE_ROW = WrapRung(
    "one_row_kernels",
    4,
    "decoding kernels: five a layer, weights read ahead",
    SLOT,
    _find,
    wrap,
    predict,
    _choices,
    usual_share=0.5,
)


def _find_whole(model: nn.Module, inputs: Inputs) -> str:
    from kernel_pytorch.perf.decode import one_kernel

    work = _work(model, inputs)
    device = next(item.device for item in model.parameters() if item.device.type == "cuda")
    reason = one_kernel.why_not_here(device) or one_kernel.why_not_sizes(work.head_sizes)
    if reason is not None:
        raise NotApplicable(reason)
    if work.biases and not one_kernel.adds_biases():
        raise NotApplicable(f"{work.biases} products have a bias, which the kernel does not add")
    kinds = {item.dtype for item in model.parameters()}
    if len(kinds) != 1 or not kinds <= set(one_kernel.element_types()):
        taken = " or ".join(str(one).removeprefix("torch.") for one in one_kernel.element_types())
        raise NotApplicable(
            f"the kernel multiplies {taken}; there are parameters in {', '.join(sorted(map(str, kinds)))}"
        )
    not_run = f"; {NOT_RUN}" if vendor_of(model) == "amd" else ""
    return f"{_found(work)}, all in one kernel if they are a decoder that it can take{not_run}"


def _whole_choices(model: nn.Module, inputs: Inputs, kept: Recipe) -> tuple[Options, ...]:
    return (with_passes(kept, PASS, WHOLE),)


ONE_KERNEL = WrapRung(
    "one_kernel_decoder",
    4,
    "the whole decoder as one kernel: weights arrive while programs wait for each other",
    SLOT,
    _find_whole,
    wrap,
    predict,
    _whole_choices,
    usual_share=0.6,
)

RUNGS = (ONE_ROW, ONE_KERNEL)
