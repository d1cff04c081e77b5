"""nn.Linear with weight and input in 8-bit floating point, by torch._scaled_mm or aiter's a8w8.

Scales are the largest magnitude over the largest number of the format: of each row of the input and each row of the
weight, or of the whole tensor. This module imports torch: import it inside a function.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import nn

ROW, TENSOR = "row", "tensor"
TORCH, AITER = "torch", "aiter"


@dataclass(frozen=True)
class Format:
    """The element type, how far a scale reaches, and who multiplies."""

    dtype: torch.dtype
    scales: str = ROW
    by: str = TORCH


def quantized(x: torch.Tensor, form: Format) -> tuple[torch.Tensor, torch.Tensor]:
    """A matrix in 8 bits and its scales: (rows, 1), or one number."""
    wide = x.float()
    limit = torch.finfo(form.dtype).max
    top = wide.abs().amax(-1, keepdim=True) if form.scales == ROW else wide.abs().amax()
    scale = top.clamp(min=1e-12) / limit
    return (wide / scale).clamp(-limit, limit).to(form.dtype), scale


class Fp8Linear(nn.Linear):  # type: ignore[misc]
    """A Linear with the same parameters, and a copy of its weight in 8 bits that later changes do not reach."""

    form: Format
    narrow: torch.Tensor
    narrow_scale: torch.Tensor

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        rows, scale = quantized(x.reshape(-1, x.shape[-1]), self.form)
        if self.form.by == AITER:
            out = x.new_empty((rows.shape[0], self.narrow.shape[0]))
            torch.ops.aiter.gemm_a8w8_ck.default(rows, self.narrow, scale, self.narrow_scale, out, self.bias, 0)
        else:
            weight_scale = self.narrow_scale.reshape(1, -1) if self.form.scales == ROW else self.narrow_scale
            out = torch._scaled_mm(
                rows, self.narrow.t(), scale_a=scale, scale_b=weight_scale, bias=self.bias, out_dtype=x.dtype
            )
        return out.reshape(*x.shape[:-1], -1)


def made_fp8(twin: nn.Linear, form: Format) -> None:
    """Turn the twin of a Linear into an Fp8Linear."""
    twin.__class__ = Fp8Linear
    narrow, scale = quantized(twin.weight.detach(), form)
    for name, item in (("form", form), ("narrow", narrow), ("narrow_scale", scale)):
        object.__setattr__(twin, name, item)  # neither parameters nor buffers: checkpoints stay as they are
