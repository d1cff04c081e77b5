"""torch.compile with settings that are safe on ROCm; in aggressive with a search over kernels, without graphs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kernel_pytorch.backends.amd.compile_settings import rocm_compile_arguments
from kernel_pytorch.models.check.conditions import IN_EVAL
from kernel_pytorch.models.fx.rewrite import Change, Job, NotApplicable, Rewrite

if TYPE_CHECKING:
    from torch import nn

SEARCHING_MODE = "max-autotune-no-cudagraphs"


def available(model: nn.Module, job: Job) -> str | None:
    """Compiled on a GPU, or when asked for."""
    if job.compile is False:
        return "compile=False was asked for"
    if job.compile is None and not any(item.device.type == "cuda" for item in model.parameters()):
        return "the model is not on a GPU: pass compile=True to compile it on the CPU"
    return None


def apply(model: nn.Module, job: Job) -> list[Change]:
    """Compile the model in place: its class and its state dict stay."""
    import torch

    if isinstance(model, torch.jit.ScriptModule):
        raise NotApplicable("a scripted model is not compiled again")
    mode = job.compile if isinstance(job.compile, str) else SEARCHING_MODE if job.level == "aggressive" else None
    arguments: dict[str, Any] = {} if mode in (None, "default") else {"mode": mode}
    if job.is_rocm:
        arguments = rocm_compile_arguments(mode)
    model.compile(**arguments)
    compiled = model._compiled_call_impl

    def switch(on: bool) -> None:
        model._compiled_call_impl = compiled if on else None

    settings = ", ".join(f"{name}={value!r}" for name, value in arguments.items()) or "torch's own settings"
    return [Change("the model", f"torch.compile with {settings}", lambda: switch(False), switch)]


REWRITE = Rewrite(
    name="compile",
    level="balanced",
    effect="element-wise work fused into few kernels, fewer launches",
    apply=apply,
    available=available,
    compared=IN_EVAL,
    reconsiders=True,
)
