"""Level 5: aiter's tuned GEMM and attention, called as torch.ops so that compiles stay whole. Not run on AMD here.

GEMM: linear layers whose number of rows is in a range go through `gemm_a16w16`; several ranges are tried, since it may
win for few rows and lose for many. A shape that is not in aiter's tuning table would call F.linear, silently: that is
diagnosed, not measured. Attention: a pass over Inductor's graph.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from kernel_pytorch.models.fx.rewrite import NotApplicable
from kernel_pytorch.models.inputs import Inputs
from kernel_pytorch.models.tree import shallow_tree
from kernel_pytorch.perf.advice.rules import SLOW_ATTENTION, SLOW_GEMM
from kernel_pytorch.perf.ladder.rung import ModelRung, Options, Prediction, Recipe, WrapRung
from kernel_pytorch.perf.ladder.rungs.compile import SLOT, compiled, kept_compile, why_not_compiled
from kernel_pytorch.perf.ladder.rungs.environment import vendor_of
from kernel_pytorch.perf.ladder.rungs.inductor_tuning import FREEZING

if TYPE_CHECKING:
    from torch import nn

    from kernel_pytorch.perf.aiter.tuning import GemmShape
    from kernel_pytorch.perf.profile import Profile

FEW_ROWS = 256
NOT_RUN = "not run on AMD by its authors: watch the check"


def _served(model: nn.Module) -> tuple[str, int]:
    """Architecture and compute units. Raises NotApplicable off CDNA."""
    from kernel_pytorch.perf.aiter.installed import device_row, served_targets

    vendor = vendor_of(model)
    if vendor != "amd":
        raise NotApplicable("aiter is AMD's library" if vendor == "nvidia" else "the model is not on a GPU")
    device = next(item.device for item in model.parameters() if item.device.type == "cuda")
    target, units = device_row(device)
    if target not in served_targets():
        raise NotApplicable(f"aiter's kernels are for {', '.join(served_targets())}; this is {target}")
    return target, units


def _operator(name: str, arguments: tuple[str, ...]) -> Any:
    from kernel_pytorch.perf.aiter.installed import AiterMissing, operator

    try:
        return operator(name, arguments)
    except AiterMissing as reason:
        raise NotApplicable(str(reason)) from None


def _split(model: nn.Module, inputs: Inputs) -> tuple[list[GemmShape], list[GemmShape]]:
    """Shapes that aiter has a kernel for, and the others."""
    from kernel_pytorch.perf.aiter.installed import GEMM_ARGUMENTS
    from kernel_pytorch.perf.aiter.tuning import is_skinny, is_tuned, linear_shapes, table_files, tuned_shapes

    target, units = _served(model)
    _operator("gemm_a16w16", GEMM_ARGUMENTS)
    shapes = [one for one in linear_shapes(model, inputs) if "float16" in one.dtype]
    if not shapes:
        raise NotApplicable("no linear layers in half precision")
    table = tuned_shapes(table_files(), target, units)
    served = [one for one in shapes if is_tuned(one, table) or is_skinny(one, units)]
    return served, [one for one in shapes if one not in served]


def _find_gemm(model: nn.Module, inputs: Inputs) -> str:
    from kernel_pytorch.perf.aiter.tuning import diagnosis, table_files

    served, missing = _split(model, inputs)
    if not served:
        raise NotApplicable(diagnosis(missing, table_files()))
    rest = f"; {diagnosis(missing, table_files())}" if missing else ""
    return f"{len(served)} of {len(served) + len(missing)} shapes of linear layers by aiter's kernels; {NOT_RUN}{rest}"


def _gemm_choices(model: nn.Module, inputs: Inputs, kept: Recipe) -> tuple[Options, ...]:
    served, _ = _split(model, inputs)
    rows = {one.rows for one in served}
    choices: list[Options] = [{"least_rows": 1, "most_rows": 0}]
    if min(rows) <= FEW_ROWS < max(rows):
        choices += [{"least_rows": 1, "most_rows": FEW_ROWS}, {"least_rows": FEW_ROWS + 1, "most_rows": 0}]
    return tuple(choices)


def _apply_gemm(model: nn.Module, inputs: Inputs, options: Options) -> nn.Module:
    import torch

    from kernel_pytorch.perf.aiter.installed import GEMM_ARGUMENTS
    from kernel_pytorch.perf.aiter.linear import made_aiter

    _operator("gemm_a16w16", GEMM_ARGUMENTS)
    shuffle = None
    if options.get("preshuffle"):
        shuffle = _shuffle()
    paths = [
        path
        for path, module in model.named_modules()
        if type(module) is torch.nn.Linear and (shuffle is None or not any(size % 16 for size in module.weight.shape))
    ]
    if not paths:
        raise NotApplicable("no plain linear layers")

    tree = shallow_tree(model)
    for path in paths:
        least, most = int(options.get("least_rows", 1)), int(options.get("most_rows", 0))
        made_aiter(tree.get_submodule(path), least, most, shuffle)
    return tree


def _shuffle() -> Any:
    import importlib

    try:
        return importlib.import_module("aiter.ops.shuffle").shuffle_weight
    except (ImportError, AttributeError):
        raise NotApplicable("aiter is not installed, or has no shuffle_weight") from None


def _find_shuffled(model: nn.Module, inputs: Inputs) -> str:
    _shuffle()
    return f"{_find_gemm(model, inputs)}; over shuffled copies of the weights, which do not follow later changes"


def _shuffled_choices(model: nn.Module, inputs: Inputs, kept: Recipe) -> tuple[Options, ...]:
    return tuple({**one, "preshuffle": True} for one in _gemm_choices(model, inputs, kept))


def _predict_gemm(profile: Profile, inputs: Inputs) -> Prediction:
    lost = sum(one.saving_ms for one in profile.advice if one.title == SLOW_GEMM)
    return Prediction(lost, f"GEMMs are {lost:.3f} ms above what tuned kernels take")


def _find_attention(model: nn.Module, inputs: Inputs) -> str:
    from kernel_pytorch.perf.aiter.installed import ATTENTION_ARGUMENTS

    why_not_compiled(model)
    _served(model)
    if model.training:
        raise NotApplicable("the model is in train mode: the operator is called for its forward alone")
    _operator("mha_fwd", ATTENTION_ARGUMENTS)
    return f"fused attention without a mask through torch.ops.aiter.mha_fwd; {NOT_RUN}"


def _attention_choices(model: nn.Module, inputs: Inputs, kept: Recipe) -> tuple[Options, ...]:
    from kernel_pytorch.perf.aiter.attention_pass import NAME

    options = kept_compile(kept)
    if options is None:
        raise NotApplicable("no compile of the whole model was kept: the pass works on its graph")
    have = options.get("passes", [])
    if NAME in have:
        raise NotApplicable("it is in the kept compile already")
    options["passes"] = [*have, NAME]
    return (options,)


def _wrap(function: Callable[..., Any], inputs: Inputs, options: Options) -> Callable[..., Any]:
    return compiled(function, options)


def _predict_attention(profile: Profile, inputs: Inputs) -> Prediction:
    lost = sum(one.saving_ms for one in profile.advice if one.title == SLOW_ATTENTION)
    return Prediction(lost, f"attention is {lost:.3f} ms above what tuned kernels take")


AITER_GEMM = ModelRung(
    "aiter_gemm", 5, "linear layers by aiter's tuned GEMM", _find_gemm, _apply_gemm, _predict_gemm, _gemm_choices
)
AITER_PRESHUFFLE = ModelRung(
    "aiter_preshuffle",
    5,
    "linear layers by aiter's GEMM over shuffled weights",
    _find_shuffled,
    _apply_gemm,
    _predict_gemm,
    _shuffled_choices,
    frozenset({FREEZING}),
)
AITER_ATTENTION = WrapRung(
    "aiter_attention",
    5,
    "attention by aiter",
    SLOT,
    _find_attention,
    _wrap,
    _predict_attention,
    _attention_choices,
)

RUNGS = (AITER_GEMM, AITER_PRESHUFFLE, AITER_ATTENTION)
