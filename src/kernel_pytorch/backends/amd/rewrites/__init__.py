"""What AMDOptimizer can do to a model: one module per rewrite, in the order they are tried."""

from __future__ import annotations

from kernel_pytorch.backends.amd.rewrites import (
    attention,
    channels_last,
    checkpointing,
    compiled,
    dropout_removal,
    fused_norms,
    gated_activation,
    graph_capture,
    norm_folding,
    projections,
)
from kernel_pytorch.backends.amd.rewrites.records import Change, Job, NotApplicable, Rewrite

__all__ = ["ALL_REWRITES", "Change", "Job", "NotApplicable", "Rewrite"]

ALL_REWRITES: tuple[Rewrite, ...] = (
    dropout_removal.REWRITE,
    norm_folding.REWRITE,
    projections.REWRITE,
    attention.REWRITE,
    fused_norms.REWRITE,
    gated_activation.REWRITE,
    channels_last.REWRITE,
    checkpointing.REWRITE,
    compiled.REWRITE,
    graph_capture.REWRITE,
)
