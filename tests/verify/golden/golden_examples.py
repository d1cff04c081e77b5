"""Small models of three families, built the same way on every machine, and ten ways to break them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import nn


class Attention(nn.Module):
    """Grouped-query attention written by hand, so that faults can be put into its code."""

    def __init__(self, width: int = 128, heads: int = 8, kv_heads: int = 2) -> None:
        super().__init__()
        self.heads, self.kv_heads, self.head = heads, kv_heads, width // heads
        self.q = nn.Linear(width, width)
        self.kv = nn.Linear(width, 2 * kv_heads * self.head)
        self.o = nn.Linear(width, width)
        self.scale = 1 / math.sqrt(self.head)
        self.fault = ""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, length, _ = x.shape
        q = self.q(x).view(batch, length, self.heads, self.head).transpose(1, 2)
        k, v = self.kv(x).view(batch, length, 2, self.kv_heads, self.head).permute(2, 0, 3, 1, 4)
        k, v = (t.repeat_interleave(self.heads // self.kv_heads, dim=1) for t in (k, v))
        if self.fault == "stale-kv-slot":
            v = v.clone()
            v[:, :, 5] = 0
        scores = q @ k.transpose(-1, -2) * (self.scale * (2 if self.fault == "wrong-scale" else 1))
        mask = torch.ones(length, length, dtype=torch.bool, device=x.device).tril()
        if self.fault == "missing-mask-row":
            mask[7] = True
        out = scores.masked_fill(~mask, float("-inf")).softmax(-1) @ v
        if self.fault == "swapped-heads":
            out = out[:, [1, 0, *range(2, self.heads)]]
        out = out.transpose(1, 2).reshape(batch, length, -1)
        if self.fault == "stale-lanes":
            out = out.clone()
            out.view(batch, length, -1, 64)[..., 32:] = 0.25
        return self.o(out)


class Block(nn.Module):
    def __init__(self, width: int = 128) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = Attention(width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.act = nn.GELU()
        self.fault = ""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + self.attention(self.norm1(x))
        hidden = self.act(self.up(self.norm2(x)))
        if self.fault == "constant":
            hidden = hidden + 0.125
        if self.fault == "overflow":
            hidden = (hidden * 1e6).half().float() / 1e6
        return x + self.down(hidden)


class Decoder(nn.Module):
    def __init__(self, layers: int = 3, width: int = 128) -> None:
        super().__init__()
        self.embed = nn.Embedding(256, width)
        self.blocks = nn.ModuleList(Block(width) for _ in range(layers))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, 256)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        x = self.embed(ids)
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


class ConvNet(nn.Module):
    """A small encoder with a skip connection, as in a UNet."""

    def __init__(self) -> None:
        super().__init__()
        self.down, self.mid = nn.Conv2d(3, 32, 3, padding=1), nn.Conv2d(32, 32, 3, padding=1)
        self.norm = nn.GroupNorm(4, 32)
        self.up = nn.ConvTranspose2d(64, 3, 2, stride=2)
        self.fault = ""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        first = torch.relu(self.down(x))
        second = torch.relu(self.norm(self.mid(first)))
        if self.fault == "transposed":
            second = second.transpose(-1, -2)
        return self.up(torch.cat([first, second], dim=1))


def decoder() -> tuple[nn.Module, tuple[torch.Tensor, ...]]:
    torch.manual_seed(11)
    model = Decoder().eval()
    return model, (torch.randint(0, 256, (2, 48)),)


def conv_net() -> tuple[nn.Module, tuple[torch.Tensor, ...]]:
    torch.manual_seed(12)
    return ConvNet().eval(), (torch.randn(2, 3, 16, 16),)


def half_decoder() -> tuple[nn.Module, tuple[torch.Tensor, ...]]:
    model, inputs = decoder()
    return model.to(torch.bfloat16), inputs


def no_tensor() -> tuple[Callable[..., Any], tuple[()]]:
    return (lambda: 3), ()


def raises() -> None:
    raise RuntimeError("the model's own trouble")


def set_fault(model: nn.Module, module: str, fault: str) -> None:
    """Put a fault into one module."""
    target = model.get_submodule(module)
    assert hasattr(target, "fault")
    target.fault = fault  # type: ignore[assignment]


# fault -> (model, where it is, the kinds of difference a reader would call right)
FAULTS: dict[str, tuple[Callable[[], Any], str, tuple[str, ...]]] = {
    "wrong-scale": (decoder, "blocks.1.attention", ("noise", "part")),
    "swapped-heads": (decoder, "blocks.1.attention", ("permuted",)),
    "missing-mask-row": (decoder, "blocks.2.attention", ("part",)),
    "stale-kv-slot": (decoder, "blocks.0.attention", ("noise", "part")),
    "stale-lanes": (decoder, "blocks.1.attention", ("lanes", "part")),
    "constant": (decoder, "blocks.1", ("bias",)),
    "overflow": (decoder, "blocks.2", ("nan", "overflow")),
    "transposed": (conv_net, "(model)", ("transposed", "noise", "part")),
}
