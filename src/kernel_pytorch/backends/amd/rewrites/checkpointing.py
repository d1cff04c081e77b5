"""Gradient checkpointing of repeated blocks: less memory in training for one more forward pass."""

from __future__ import annotations

from typing import Any

from kernel_pytorch.models.check.proof import WITH_DROPOUT
from kernel_pytorch.models.fx.forwards import current_forward, set_forward
from kernel_pytorch.models.fx.rewrite import Change, Job, NotApplicable, Rewrite


class CheckpointedForward:
    """A block's forward that keeps only its inputs for the backward pass."""

    def __init__(self, module: Any, inner: Any) -> None:
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


def available(model: Any, job: Job) -> str | None:
    """Asked for, or "auto" in training on a GPU whose memory an ordinary step would not fit in."""
    if job.gradient_checkpointing is False:
        return "not asked for: pass gradient_checkpointing=True, or 'auto' to have it when memory is short"
    if not model.training:
        return "the model is in eval mode"
    return None


def repeated_blocks(model: Any) -> list[tuple[str, Any]]:
    """Members of a ModuleList or Sequential of which it has two or more of the same class, with submodules."""
    from torch import nn

    found: list[tuple[str, Any]] = []
    for name, container in model.named_modules():
        if not isinstance(container, (nn.ModuleList, nn.Sequential)):
            continue
        kinds = [type(item) for item in container]
        for key, item in container.named_children():
            is_block = next(item.children(), None) is not None and not isinstance(item, (nn.ModuleList, nn.ModuleDict))
            inside = any(name == outer or name.startswith(f"{outer}.") for outer, _ in found)
            if kinds.count(type(item)) > 1 and is_block and not inside:
                found.append((f"{name}.{key}" if name else key, item))
    return found


def apply(model: Any, job: Job) -> list[Change]:
    """Checkpoint every repeated block."""
    blocks = repeated_blocks(model)
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
