"""What a model computes in, and how far two correct results in that precision may differ."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

DTYPE_NAMES = {"fp32": "float32", "fp16": "float16", "bf16": "bfloat16"}

# Relative and absolute difference that two correct orders of the same sums may show, per precision.
TOLERANCES = {"fp32": (1e-4, 1e-5), "fp16": (4e-3, 1e-3), "bf16": (2e-2, 1e-2)}
FP64_TOLERANCE = (1e-9, 1e-10)


@dataclass(frozen=True)
class Precision:
    """What a model computes in.

    `mixed` keeps fp32 weights and lets torch.autocast choose per operation, which is what training wants; without
    it the weights themselves are of that precision.
    """

    name: str  # "fp32", "fp16" or "bf16"
    mixed: bool
    reason: str

    @property
    def dtype(self) -> Any:
        """The torch dtype."""
        return torch_dtype(self.name)

    @property
    def is_low(self) -> bool:
        """16 bits."""
        return self.name != "fp32"


def torch_dtype(name: str) -> Any:
    """The torch dtype of "fp32", "fp16" or "bf16"."""
    import torch

    return getattr(torch, DTYPE_NAMES[name])


def precision_name(dtype: Any) -> str | None:
    """ "bf16" of torch.bfloat16; None for a dtype that is no precision a model is prepared in."""
    wanted = str(dtype).removeprefix("torch.")
    return next((name for name, full in DTYPE_NAMES.items() if full == wanted), None)


def tolerance(precision: str | Any) -> tuple[float, float]:
    """Relative and absolute tolerance of a comparison in that precision, given by name or torch dtype."""
    name = precision if isinstance(precision, str) else precision_name(precision)
    if name not in TOLERANCES:
        raise ValueError(f"no tolerance for {precision!r}: known are {', '.join(TOLERANCES)}")
    return TOLERANCES[name]


def narrowest(dtypes: Iterable[Any]) -> str:
    """The precision that limits a computation in which these dtypes take part; "fp64" where none does."""
    names = {precision_name(dtype) for dtype in dtypes}
    return next((name for name in ("bf16", "fp16", "fp32") if name in names), "fp64")


def tolerance_of(dtypes: Iterable[Any]) -> tuple[float, float]:
    """The tolerance of a computation in which these dtypes take part."""
    return TOLERANCES.get(narrowest(dtypes), FP64_TOLERANCE)
