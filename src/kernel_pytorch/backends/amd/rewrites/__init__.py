"""The steps of AMDOptimizer, in the order they are tried. Most are shared; those of this folder are its own."""

from __future__ import annotations

from kernel_pytorch.backends.amd.rewrites import channels_last, checkpointing, compiled, graph_capture
from kernel_pytorch.models.fx.rewrite import Change, Job, NotApplicable, Rewrite
from kernel_pytorch.models.rewrites import (
    attention,
    chunked_loss,
    dropout_removal,
    gated,
    norm_folding,
    norms,
    projections,
)

__all__ = ["ALL_REWRITES", "Change", "Job", "NotApplicable", "Rewrite"]

ALL_REWRITES: tuple[Rewrite, ...] = (
    dropout_removal.REWRITE,
    norm_folding.REWRITE,
    projections.REWRITE,
    attention.REWRITE,
    norms.REWRITE,
    gated.REWRITE,
    chunked_loss.REWRITE,
    channels_last.REWRITE,
    checkpointing.REWRITE,
    compiled.REWRITE,
    graph_capture.REWRITE,
)
