"""Level 4: norms, gated activations and rotary embeddings as Triton kernels of our own, with gradients.

A compiled model is a case of its own: Inductor fuses such operations with their neighbours, so the kernels are forced
there and the measurement decides; in eager mode they decide by size (`kernels.worth_it`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from kernel_pytorch.models.fx.rewrite import NotApplicable, Rewrite
from kernel_pytorch.models.inputs import Inputs
from kernel_pytorch.models.kernels.functions import ALWAYS, WHERE_IT_PAYS
from kernel_pytorch.models.kernels.ops import register, why_not
from kernel_pytorch.models.rewrites.gated import gated
from kernel_pytorch.models.rewrites.in_new_tree import rewritten
from kernel_pytorch.models.rewrites.norms import added_norms, norms
from kernel_pytorch.models.rewrites.rope import rope
from kernel_pytorch.perf.ladder.rung import ModelRung, Options, Prediction, Recipe

if TYPE_CHECKING:
    from torch import nn

    from kernel_pytorch.perf.profile import Profile


def _rung(name: str, title: str, rewrite: Callable[[str], Rewrite], nothing: str) -> ModelRung:
    def run(model: nn.Module, inputs: Inputs, use: str) -> tuple[nn.Module, str]:
        reason = why_not(model)
        if reason is not None:
            raise NotApplicable(reason)
        # Dynamo cannot trace the registration of an operator: it is done before the model is compiled.
        register()
        return rewritten(model, inputs, rewrite(use), nothing=nothing)

    def apply(model: nn.Module, inputs: Inputs, options: Options) -> nn.Module:
        return run(model, inputs, ALWAYS if options.get("force", False) else WHERE_IT_PAYS)[0]

    def find(model: nn.Module, inputs: Inputs) -> str:
        return run(model, inputs, ALWAYS)[1]

    return ModelRung(name, 4, title, find, apply, _predict, _choices, usual_share=0.01)


def _choices(model: nn.Module, inputs: Inputs, kept: Recipe) -> tuple[Options, ...]:
    """In a recorded or compiled model launches cost nothing, and there is nothing to gate; else small calls are."""
    wrapped = any("compile" in step.rung or "capture" in step.rung or "graph" in step.rung for step in kept)
    return ({"force": True},) if wrapped else ({"force": False},)


def _predict(profile: Profile, inputs: Inputs) -> Prediction:
    """At most the element-wise work that is not fused; these kernels are part of it."""
    unfused = sum(one.saving_ms for one in profile.advice if one.title == "unfused elementwise")
    return Prediction(unfused / 2, f"up to half of {unfused:.3f} ms of unfused element-wise work")


RUNGS: tuple[ModelRung, ...] = (
    _rung("add_norm_kernels", "Sums and their norms as one kernel", added_norms, "no norm of a sum"),
    _rung("norm_kernels", "Norms as one kernel each", norms, "no RMSNorm or LayerNorm over the last axis"),
    _rung("gated_kernels", "Gated activations as one kernel", gated, "no SiLU or GELU times another tensor"),
    _rung("rope_kernel", "Rotary embeddings as one kernel", rope, "no x * cos + rotate_half(x) * sin"),
)
