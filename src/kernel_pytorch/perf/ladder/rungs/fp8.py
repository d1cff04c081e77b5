"""Level 5: linear layers in 8-bit floating point, weights and inputs. Gives up precision: `--allow fp8` asks for it.

The format is the target's (e4m3fnuz on gfx942, e4m3fn elsewhere), scales are per row or per tensor, the product is
torch._scaled_mm or on AMD aiter's a8w8. The check allows outputs that are ALLOWED apart from the original's (root mean
square) instead of the usual tolerance, and the ledger says how far apart they are. Not run on a GPU here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kernel_pytorch.models.fx.rewrite import NotApplicable
from kernel_pytorch.models.inputs import Inputs
from kernel_pytorch.models.tree import shallow_tree
from kernel_pytorch.perf.advice.rules import SLOW_GEMM
from kernel_pytorch.perf.ladder.rung import ModelRung, Options, Prediction, Recipe
from kernel_pytorch.perf.ladder.rungs.environment import vendor_of

if TYPE_CHECKING:
    import torch
    from torch import nn

    from kernel_pytorch.perf.profile import Profile

FP8 = "fp8"
"""The permission."""
ALLOWED = 0.06  # of the original's root mean square: e4m3 has a relative step of 2^-4 to 2^-3, about 3 % a product
MULTIPLE = 16  # rows and columns that _scaled_mm takes
AITER_ARGUMENTS = ("XQ", "WQ", "x_scale", "w_scale", "Out", "bias", "splitK")


def _target_name(model: nn.Module) -> str:
    import torch

    device = next(item.device for item in model.parameters() if item.device.type == "cuda")
    if vendor_of(model) == "amd":
        return str(torch.cuda.get_device_properties(device).gcnArchName).partition(":")[0]
    major, minor = torch.cuda.get_device_capability(device)
    return f"sm_{major}{minor}"


def format_of(model: nn.Module) -> torch.dtype:
    """The element type that the GPU's matrix units take. Raises NotApplicable."""
    import torch

    from kernel_pytorch.core.hardware import UnknownTargetError, target

    if vendor_of(model) == "cpu":
        raise NotApplicable("the model is not on a GPU")
    name = _target_name(model)
    try:
        found = target(name).fp8_format
    except UnknownTargetError as error:
        raise NotApplicable(str(error)) from None
    if found is None:
        raise NotApplicable(f"{name} has no units for 8-bit floating point")
    return getattr(torch, f"float8_{found}")


def taken(model: nn.Module) -> tuple[str, ...]:
    """Paths of the linear layers that can be in 8 bits. The last one of a model, its head, is left as it is."""
    import torch

    found = [
        path
        for path, module in model.named_modules()
        if type(module) is torch.nn.Linear
        and module.weight.dtype in (torch.bfloat16, torch.float16)
        and not any(size % MULTIPLE for size in module.weight.shape)
    ]
    last = [path for path, module in model.named_modules() if type(module) is torch.nn.Linear][-1:]
    return tuple(path for path in found if path not in last or len(found) == 1)


def _find(model: nn.Module, inputs: Inputs) -> str:
    dtype = format_of(model)
    if model.training:
        raise NotApplicable("the model is in train mode: 8-bit copies of weights have no gradients")
    paths = taken(model)
    if not paths:
        raise NotApplicable(f"no linear layers in half precision with sizes in multiples of {MULTIPLE}")
    name = str(dtype).removeprefix("torch.")
    return f"{len(paths)} linear layers in {name}; copies of the weights do not follow later changes"


def _choices(model: nn.Module, inputs: Inputs, kept: Recipe) -> tuple[Options, ...]:
    name = str(format_of(model)).removeprefix("torch.")
    choices: list[Options] = [
        {"format": name, "scales": "row", "by": "torch"},
        {"format": name, "scales": "tensor", "by": "torch"},
    ]
    if vendor_of(model) == "amd" and _has_aiter():
        choices.append({"format": name, "scales": "row", "by": "aiter"})
    return tuple(choices)


def _has_aiter() -> bool:
    from kernel_pytorch.perf.aiter.installed import AiterMissing, operator

    try:
        operator("gemm_a8w8_ck", AITER_ARGUMENTS)
    except AiterMissing:
        return False
    return True


def _apply(model: nn.Module, inputs: Inputs, options: Options) -> nn.Module:
    import torch

    from kernel_pytorch.perf.fp8.linear import Format, made_fp8

    form = Format(getattr(torch, str(options["format"])), str(options["scales"]), str(options["by"]))
    if form.by == "aiter" and not _has_aiter():
        raise NotApplicable("aiter is not installed, or its gemm_a8w8_ck has other arguments")
    paths = taken(model)
    if not paths:
        raise NotApplicable("no linear layers that can be in 8 bits")
    tree: Any = shallow_tree(model)
    for path in paths:
        made_fp8(tree.get_submodule(path), form)
    return tree


def _predict(profile: Profile, inputs: Inputs) -> Prediction:
    lost = sum(one.saving_ms for one in profile.advice if one.title == SLOW_GEMM)
    gemm = sum(row.kernel_ms for row in profile.categories if row.category == "gemm")
    return Prediction(
        max(lost, 0.3 * gemm), f"products take {gemm:.3f} ms; in 8 bits half the bytes and twice the rate"
    )


FP8_LINEAR = ModelRung(
    "fp8_linear",
    5,
    "linear layers in 8-bit floating point",
    _find,
    _apply,
    _predict,
    _choices,
    frozenset({FP8}),
    usual_share=0.15,
    loosens=ALLOWED,
)

RUNGS = (FP8_LINEAR,)
