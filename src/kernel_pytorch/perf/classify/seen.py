"""What the classification sees in a trace besides its categories."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class IdleCause:
    """Time the GPU waited, by cause."""

    cause: str
    idle_ms: float
    gaps: int
    detail: str


@dataclass(frozen=True)
class AttentionRun:
    """Hand-written attention of one size: how often, and how long all of its kernels took."""

    heads: int  # of all sequences together
    queries: int
    keys: int
    head: int
    dtype: str
    count: int
    kernel_ms: float


@dataclass(frozen=True)
class Observation:
    """What has a name but is no category: graph breaks, recompiles, dtype copies, hand-written attention."""

    kind: str
    text: str
    count: int
    kernel_ms: float
    saving_ms: float = 0.0
    attention: tuple[AttentionRun, ...] = ()
