"""What AMDOptimizer can do to a model: one module per rewrite, in the order they are tried."""

from __future__ import annotations

from kernel_pytorch.backends.amd.rewrites import channels_last, checkpointing, compiled, graph_capture
from kernel_pytorch.models.fx.rewrite import Change, Job, NotApplicable, Rewrite
from kernel_pytorch.models.rewrites import attention, dropout_removal, fused_norms, gated_activation, norm_folding
from kernel_pytorch.models.rewrites import projections_in_graph as projections

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
