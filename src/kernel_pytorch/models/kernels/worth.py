"""Where the kernels pay: by operator and size, from measurements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch

OPERATORS = ("rms_norm", "add_rms_norm", "layer_norm", "add_layer_norm", "silu_mul", "gelu_mul", "rope")
MIB = 1024 * 1024

# Size of the first tensor from which the kernel is faster than torch's own operations in eager mode, launches included,
# forward alone and with backward. Measured on an H200 in bf16 up to 64 MiB (benchmarks/kernels_h200.py --gates, figures
# in docs/kernels.md): torch fuses LayerNorm itself and launches faster, so that sizes past the measured ones are where
# torch's time, which grows with the size by then, passes the time of our launches.
_EAGER_FROM: dict[str, float] = {
    "rms_norm": 64 * MIB,
    "add_rms_norm": 64 * MIB,
    "layer_norm": 512 * MIB,
    "add_layer_norm": 512 * MIB,
    "silu_mul": 256 * MIB,
    "gelu_mul": 256 * MIB,
    "rope": 0.25 * MIB,
}

# A longer row does not stay in registers in LayerNorm's backward pass, which is then slower than torch's (37 % against
# 43 % of a copy at rows of 16,384 in fp32).
_LONGEST_ROW = {"layer_norm": 8192, "add_layer_norm": 8192}


def worth_it(
    op: str, shape: Sequence[int], dtype: torch.dtype, device: torch.device, *, compiled: bool = False
) -> bool:
    """Is the kernel of this operator faster than torch's own operations for a first tensor of this kind?

    `compiled`: against what Inductor generates. There it is not taken by itself: Inductor fuses such operations with
    their neighbours, and only a measurement of the whole model tells (the rungs of the ladder do that)."""
    import torch

    if op not in OPERATORS:
        raise ValueError(f"{op!r} is not one of {', '.join(OPERATORS)}")
    if torch.device(device).type != "cuda" or dtype not in (torch.float32, torch.float16, torch.bfloat16):
        return False
    if compiled or (len(shape) and shape[-1] > _LONGEST_ROW.get(op, shape[-1])):
        return False
    size = dtype.itemsize
    for length in shape:
        size = size * length
    return bool(size >= _EAGER_FROM[op])
