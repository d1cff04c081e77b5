"""Level 4: norms, gated activations and rotary embeddings as Triton kernels of our own, with gradients.

A compiled model is a case of its own: Inductor fuses such operations with their neighbours, so the kernels are forced
there and the measurement decides; in eager mode they decide by size (`kernels.worth_it`).
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from typing import TYPE_CHECKING

from kernel_pytorch.models.fx.rewrite import NotApplicable
from kernel_pytorch.models.inputs import Inputs
from kernel_pytorch.perf.ladder.rung import ModelRung, Options, Prediction, Recipe

if TYPE_CHECKING:
    from torch import nn

    from kernel_pytorch.models.fx.rewrite import Rewrite
    from kernel_pytorch.perf.profile import Profile


def _added(force: bool) -> Rewrite:
    from kernel_pytorch.models.rewrites.swap_norms import added_norms

    return added_norms(force)


def _norms(force: bool) -> Rewrite:
    from kernel_pytorch.models.rewrites.swap_norms import norms

    return norms(force)


def _gated(force: bool) -> Rewrite:
    from kernel_pytorch.models.rewrites.swap_gated import gated

    return gated(force)


def _rope(force: bool) -> Rewrite:
    from kernel_pytorch.models.rewrites.swap_rope import rope

    return rope(force)


def _refuse_where_no_kernels(model: nn.Module) -> None:
    from kernel_pytorch.models.kernels.ops import interprets

    if importlib.util.find_spec("triton") is None:
        raise NotApplicable("Triton is not installed")
    if not interprets() and not any(item.device.type == "cuda" for item in model.parameters()):
        raise NotApplicable("the model is not on a GPU")


def _rung(name: str, title: str, rewrite: Callable[[bool], Rewrite], nothing: str) -> ModelRung:
    def find(model: nn.Module, inputs: Inputs) -> str:
        from kernel_pytorch.models.rewrites.in_new_tree import rewritten

        _refuse_where_no_kernels(model)
        _register()
        return rewritten(model, inputs, rewrite(True), nothing=nothing)[1]

    def apply(model: nn.Module, inputs: Inputs, options: Options) -> nn.Module:
        from kernel_pytorch.models.rewrites.in_new_tree import rewritten

        _refuse_where_no_kernels(model)
        _register()
        return rewritten(model, inputs, rewrite(bool(options.get("force", False))), nothing=nothing)[0]

    return ModelRung(name, 4, title, find, apply, _predict, _choices)


def _register() -> None:
    # Dynamo cannot trace the registration of an operator: it is done before the model is compiled.
    from kernel_pytorch.models.kernels.ops import register

    register()


def _choices(model: nn.Module, inputs: Inputs, kept: Recipe) -> tuple[Options, ...]:
    """In a recorded or compiled model launches cost nothing, and there is nothing to gate; else small calls are."""
    wrapped = any("compile" in step.rung or "capture" in step.rung or "graph" in step.rung for step in kept)
    return ({"force": True},) if wrapped else ({"force": False},)


def _predict(profile: Profile, inputs: Inputs) -> Prediction:
    """At most the element-wise work that is not fused; these kernels are part of it."""
    unfused = sum(one.saving_ms for one in profile.advice if one.title == "unfused elementwise")
    return Prediction(unfused / 2, f"up to half of {unfused:.3f} ms of unfused element-wise work")


RUNGS: tuple[ModelRung, ...] = (
    _rung("add_norm_kernels", "Sums and their norms as one kernel", _added, "no norm of a sum"),
    _rung("norm_kernels", "Norms as one kernel each", _norms, "no RMSNorm or LayerNorm over the last axis"),
    _rung("gated_kernels", "Gated activations as one kernel", _gated, "no SiLU or GELU times another tensor"),
    _rung("rope_kernel", "Rotary embeddings as one kernel", _rope, "no x * cos + rotate_half(x) * sin"),
)
