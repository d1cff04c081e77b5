"""Compares one tensor of this machine with a recorded one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kernel_pytorch.models.check.systematic import systematic
from kernel_pytorch.verify.golden.archive import TensorRef
from kernel_pytorch.verify.golden.diagnose import Diagnosis, diagnose
from kernel_pytorch.verify.golden.record import as_double
from kernel_pytorch.verify.golden.tolerance import EPSILON, Sums, tolerance


@dataclass(frozen=True)
class TensorComparison:
    """Norm-wise error, its limit, and what the difference looks like when it is too large."""

    error: float
    limit: float
    ok: bool
    diagnosis: Diagnosis | None = None
    dtype: str = ""

    @property
    def severity(self) -> float:
        return self.error / self.limit if self.limit else (float("inf") if self.error else 0.0)


def compare_tensor(
    here: Any, recorded: Any, ref: TensorRef, noise: float, sums: Sums, same_inputs: bool = False
) -> TensorComparison:
    """`here` against `recorded`, within the tolerance of the coarser of their types.

    `same_inputs`: both come from the same inputs, so that what differs is rounding, which goes no particular way.
    """
    import torch

    own = str(here.dtype).removeprefix("torch.")
    dtype = max((own, ref.dtype), key=lambda name: EPSILON.get(name, -1.0))
    allowed = tolerance(dtype, noise, sums)
    left, right = as_double(here), as_double(recorded)
    if left.numel() != right.numel() or (ref.whole and left.shape != right.shape):
        text = f"shape {list(here.shape)} here, {list(ref.shape)} in the record"
        return TensorComparison(float("inf"), allowed.norm, False, Diagnosis("shape", text))
    if left.shape != right.shape:
        left, right = left.reshape(-1), right.reshape(-1)
    same_special = torch.isfinite(left) == torch.isfinite(right)
    if not bool(same_special.all()):
        return TensorComparison(float("inf"), allowed.norm, False, diagnose(left, right, allowed.norm, own))
    usual = torch.isfinite(right)
    difference = (left - right)[usual]
    if not difference.numel() or not bool(difference.any()):
        return TensorComparison(0.0, allowed.norm, True)
    size = float(right[usual].norm())
    error = float(difference.norm()) / size if size else float(difference.norm())
    worst = float(difference.abs().max()) / ((size / difference.numel() ** 0.5) or 1.0)
    ok = error <= allowed.norm and worst <= _worst_limit(allowed.worst, right[usual], size)
    if ok:
        found = systematic(left, right, dtype) if same_inputs and bool(usual.all()) else None
        diagnosis = None if found is None else Diagnosis(found.kind, found.text)
        return TensorComparison(error, allowed.norm, diagnosis is None, diagnosis, dtype)
    zeroed = torch.where(usual, left, torch.zeros_like(left)), torch.where(usual, right, torch.zeros_like(right))
    return TensorComparison(error, allowed.norm, False, diagnose(*zeroed, allowed.norm, own))


def _worst_limit(limit: float, reference: Any, norm: float) -> float:
    """A large element has a large rounding error of its own: the limit is for an element of typical size."""
    typical = norm / reference.numel() ** 0.5 or 1.0
    return limit * max(1.0, float(reference.abs().max()) / typical)
