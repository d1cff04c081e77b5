"""Gradient checkpointing of repeated blocks: less memory in training for one more forward pass."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kernel_pytorch.models.blocks import blocks_of_one_class
from kernel_pytorch.models.check.conditions import WITH_DROPOUT
from kernel_pytorch.models.fx.forwards import current_forward, set_forward
from kernel_pytorch.models.fx.rewrite import Change, Job, NotApplicable, Rewrite
from kernel_pytorch.models.memory import is_out_of_memory

if TYPE_CHECKING:
    import torch
    from torch import nn

    from kernel_pytorch.models.check.reference import Reference


class CheckpointedForward:
    """A block's forward that keeps only its inputs for the backward pass."""

    def __init__(self, module: nn.Module, inner: Any) -> None:
        self.module, self.inner = module, inner

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        import torch
        from torch.utils.checkpoint import checkpoint

        if not (self.module.training and torch.is_grad_enabled()):
            return self._forward(*args, **kwargs)
        return checkpoint(self._forward, *args, use_reentrant=False, **kwargs)

    def _forward(self, *args: Any, **kwargs: Any) -> Any:
        if self.inner is not None:
            return self.inner(*args, **kwargs)
        return type(self.module).forward(self.module, *args, **kwargs)


def available(model: nn.Module, job: Job) -> str | None:
    """Asked for, or "auto" in training on a GPU whose memory an ordinary step would not fit in."""
    if job.gradient_checkpointing is False:
        return "not asked for: pass gradient_checkpointing=True, or 'auto' to have it when memory is short"
    if not model.training:
        return "the model is in eval mode"
    return None


def wanted_by_memory(reference: Reference | None, fraction: float, device: torch.device | None) -> bool:
    """Does one training step on the example not fit in the share of the GPU this process may have?

    Runs a step and reads the peak. False on the CPU, where the host's memory is not what limits a model."""
    import torch

    if reference is None or not reference.training or device is None or device.type != "cuda":
        return False
    torch.cuda.reset_peak_memory_stats(device)
    try:
        reference.run(reference.model, reference.inputs)
    except Exception as error:
        if is_out_of_memory(error):
            return True
        raise
    peak: int = torch.cuda.max_memory_allocated(device)
    total: int = torch.cuda.get_device_properties(device).total_memory
    return peak > fraction * total


def apply(model: nn.Module, job: Job) -> list[Change]:
    """Checkpoint every repeated block."""
    blocks = blocks_of_one_class(model)
    if not blocks:
        raise NotApplicable("the model has no repeated blocks")
    changes = []
    for name, block in blocks:
        before = current_forward(block)
        if isinstance(before, CheckpointedForward):
            continue
        after = CheckpointedForward(block, before)
        set_forward(block, after)

        def switch(on: bool, block: Any = block, before: Any = before, after: Any = after) -> None:
            set_forward(block, after if on else before)

        what = "keeps its inputs only, and runs again in the backward pass"
        changes.append(Change(name, what, lambda switch=switch: switch(False), switch))  # type: ignore[misc]
    if not changes:
        raise NotApplicable("every repeated block is checkpointed already")
    return changes


REWRITE = Rewrite(
    name="gradient checkpointing",
    level="aggressive",
    effect="activations of one block at a time in memory; about a third more compute in training",
    apply=apply,
    available=available,
    compared=WITH_DROPOUT,
    judged_by_time=False,
)
