"""Targets for `kpt bench` and `kpt profile`: a small transformer as people write it, and variants to tell apart.

kpt profile benchmarks/perf_targets.py:transformer --html profile.html
kpt bench benchmarks/perf_targets.py:transformer benchmarks/perf_targets.py:transformer_compiled
"""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from torch.nn import functional

WIDTH, HEADS, LAYERS, BATCH, SEQUENCE = 1024, 16, 8, 4, 1024


class HandWrittenNorm(nn.Module):
    """RMS norm as many models spell it: in fp32, one operator at a time."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.rand(width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = x.float()
        y = y * torch.rsqrt(y.pow(2).mean(-1, keepdim=True) + 1e-6)
        return self.weight * y.to(x.dtype)


class Block(nn.Module):
    """Attention and a gated MLP."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norms = nn.ModuleList(HandWrittenNorm(width) for _ in range(2))
        self.q, self.k, self.v, self.o = (nn.Linear(width, width, bias=False) for _ in range(4))
        self.gate, self.up = (nn.Linear(width, 3 * width, bias=False) for _ in range(2))
        self.down = nn.Linear(3 * width, width, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        b, s, w = x.shape
        y = self.norms[0](x)
        q, k, v = (part(y).view(b, s, self.heads, -1).transpose(1, 2) for part in (self.q, self.k, self.v))
        y = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.o(y.transpose(1, 2).reshape(b, s, w))
        y = self.norms[1](x)
        return x + self.down(functional.silu(self.gate(y)) * self.up(y))


def transformer() -> dict[str, Any]:
    """bf16 on a GPU, fp32 and smaller on a CPU."""
    torch.manual_seed(0)
    on_gpu = torch.cuda.is_available()
    width, layers, sequence = (WIDTH, LAYERS, SEQUENCE) if on_gpu else (128, 2, 64)
    dtype, device = (torch.bfloat16, "cuda") if on_gpu else (torch.float32, "cpu")
    model = nn.Sequential(*(Block(width, HEADS) for _ in range(layers))).to(device, dtype).eval()
    x = torch.randn(BATCH, sequence, width, device=device, dtype=dtype)
    return {"model": model, "inputs": (x,), "samples": BATCH, "tokens": BATCH * sequence}


def transformer_compiled() -> dict[str, Any]:
    """The same under torch.compile."""
    made = transformer()
    return {**made, "model": torch.compile(made["model"])}
