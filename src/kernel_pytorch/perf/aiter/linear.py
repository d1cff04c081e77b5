"""nn.Linear through aiter's tuned GEMM, where the number of rows is in a range; F.linear elsewhere.

This module imports torch: import it inside a function.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import torch
from torch import nn
from torch.nn import functional

if TYPE_CHECKING:
    from torch import Tensor


class AiterLinear(nn.Linear):  # type: ignore[misc]
    """A Linear with the same parameters. `least_rows` and `most_rows` bound what goes to aiter (0: no upper bound)."""

    least_rows: int = 1
    most_rows: int = 0
    shuffled: torch.Tensor | None = None

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        rows = x.numel() // x.shape[-1]
        if rows < self.least_rows or (self.most_rows and rows > self.most_rows) or x.dtype != self.weight.dtype:
            return functional.linear(x, self.weight, self.bias)
        weight = self.weight if self.shuffled is None else self.shuffled
        result: torch.Tensor = torch.ops.aiter.gemm_a16w16.default(x, weight, self.bias)
        return result


def made_aiter(twin: nn.Linear, least_rows: int, most_rows: int, shuffle: Callable[..., Tensor] | None = None) -> None:
    """Turn the twin of a Linear into an AiterLinear; with `shuffle` (aiter's shuffle_weight) over a shuffled copy.

    The copy does not follow later changes of the weight: that is why it needs a permission."""
    twin.__class__ = AiterLinear
    twin.least_rows, twin.most_rows = least_rows, most_rows
    if shuffle is not None:
        copy = shuffle(twin.weight.detach(), layout=(16, 16))
        copy.is_shuffled = True  # how gemm_a16w16 knows
        object.__setattr__(twin, "shuffled", copy)
