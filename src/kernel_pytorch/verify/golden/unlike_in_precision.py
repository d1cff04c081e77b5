"""Both sides against float64: an error that goes no particular way shows as one side being further off."""

from __future__ import annotations

from kernel_pytorch.models.check.systematic import NARROW
from kernel_pytorch.verify.golden.diagnose import Diagnosis

# One side is this many times as far off float64 as the other: more than another order of the same roundings makes.
LOSS = 1.4


def unlike_in_precision(here: float, recorded: float, dtype: str) -> Diagnosis | None:
    """How far both sides are off float64, norm-wise: honest machines are about as far."""
    if dtype not in NARROW or max(here, recorded) <= max(LOSS * min(here, recorded), NARROW[dtype] / 8):
        return None
    if here > recorded:
        return Diagnosis("precision", f"less precise: {here:.2g} off float64, the record {recorded:.2g}")
    text = f"the record is {recorded:.2g} off this code in float64, this machine {here:.2g}: other code was recorded"
    return Diagnosis("precision", text)
