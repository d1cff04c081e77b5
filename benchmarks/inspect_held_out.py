"""Models that no rule and no constant of `kpt inspect` was fitted on, to see how right it is on something new.

python benchmarks/inspect_h200.py predict predicted.json --held-out
"""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from torch.nn import functional

Made = tuple[nn.Module, tuple[Any, ...]]


class MixerBlock(nn.Module):
    def __init__(self, patches: int, width: int) -> None:
        super().__init__()
        self.one, self.two = nn.LayerNorm(width), nn.LayerNorm(width)
        self.across = nn.Sequential(nn.Linear(patches, 2 * patches), nn.GELU(), nn.Linear(2 * patches, patches))
        self.along = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + self.across(self.one(x).transpose(1, 2)).transpose(1, 2)
        return x + self.along(self.two(x))


def mixer() -> Made:
    """MLP-Mixer-B/16's block (width 768, 196 patches), four of them, 32 pictures."""
    blocks = nn.Sequential(*(MixerBlock(196, 768) for _ in range(4)), nn.LayerNorm(768))
    return blocks.bfloat16().eval(), (torch.randn(32, 196, 768).bfloat16(),)


class ResidualBlock(nn.Module):
    def __init__(self, channels: int, width: int) -> None:
        super().__init__()
        self.first, self.second = nn.GroupNorm(32, channels), nn.GroupNorm(32, width)
        self.one, self.two = nn.Conv2d(channels, width, 3, padding=1), nn.Conv2d(width, width, 3, padding=1)
        self.time = nn.Linear(512, width)
        self.skip = nn.Conv2d(channels, width, 1) if channels != width else nn.Identity()

    def forward(self, x: torch.Tensor, time: torch.Tensor) -> torch.Tensor:
        y = self.one(functional.silu(self.first(x)))
        y = y + self.time(functional.silu(time))[:, :, None, None]
        return self.skip(x) + self.two(functional.silu(self.second(y)))


class UNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.enter, self.leave = nn.Conv2d(4, 128, 3, padding=1), nn.Conv2d(128, 4, 3, padding=1)
        self.down = nn.ModuleList([ResidualBlock(128, 128), ResidualBlock(128, 256)])
        self.middle = ResidualBlock(256, 256)
        self.up = nn.ModuleList([ResidualBlock(512, 128), ResidualBlock(256, 128)])

    def forward(self, x: torch.Tensor, time: torch.Tensor) -> torch.Tensor:
        x = self.enter(x)
        kept = []
        for block in self.down:
            x = block(x, time)
            kept.append(x)
            x = functional.avg_pool2d(x, 2)
        x = self.middle(x, time)
        for block in self.up:
            x = functional.interpolate(x, scale_factor=2.0, mode="nearest")
            x = block(torch.cat((x, kept.pop()), 1), time)
        return self.leave(x)


def unet() -> Made:
    """A small diffusion UNet: group norms, a time embedding, skips, 64 x 64 latents."""
    return UNet().bfloat16().eval(), (torch.randn(8, 4, 64, 64).bfloat16(), torch.randn(8, 512).bfloat16())


class RelativeAttention(nn.Module):
    """T5's attention: no scale, a learned bias by distance, softmax in fp32, all written out."""

    def __init__(self, width: int, heads: int, length: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm = nn.Parameter(torch.ones(width))
        self.qkv, self.out = nn.Linear(width, 3 * width, bias=False), nn.Linear(width, width, bias=False)
        self.bias = nn.Embedding(32, heads)
        places = torch.arange(length)
        self.register_buffer("distance", (places[:, None] - places[None]).abs().clamp(max=31))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        b, s, w = x.shape
        y = x * torch.rsqrt(x.float().pow(2).mean(-1, keepdim=True) + 1e-6).to(x.dtype) * self.norm
        q, k, v = (part.view(b, s, self.heads, -1).transpose(1, 2) for part in self.qkv(y).chunk(3, -1))
        scores = q @ k.transpose(-1, -2) + self.bias(self.distance).permute(2, 0, 1)
        weights = scores.float().softmax(-1).to(x.dtype)
        return x + self.out((weights @ v).transpose(1, 2).reshape(b, s, w))


def relative_bias() -> Made:
    """T5-base's encoder attention (width 768, 12 heads), three of them, 8 x 512 tokens."""
    model = nn.Sequential(*(RelativeAttention(768, 12, 512) for _ in range(3)))
    return model.bfloat16().eval(), (torch.randn(8, 512, 768).bfloat16(),)


class Inverted(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        wide = 4 * width
        self.expand, self.project = nn.Conv2d(width, wide, 1, bias=False), nn.Conv2d(wide, width, 1, bias=False)
        self.depth = nn.Conv2d(wide, wide, 3, padding=1, groups=wide, bias=False)
        self.norms = nn.ModuleList(nn.BatchNorm2d(n) for n in (wide, wide, width))
        self.squeeze, self.excite = nn.Conv2d(wide, width // 4, 1), nn.Conv2d(width // 4, wide, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = functional.hardswish(self.norms[0](self.expand(x)))
        y = functional.hardswish(self.norms[1](self.depth(y)))
        gate = functional.hardsigmoid(self.excite(functional.relu(self.squeeze(y.mean((2, 3), keepdim=True)))))
        return x + self.norms[2](self.project(y * gate))


def mobile() -> Made:
    """MobileNetV3's kind of block: depthwise convolution, squeeze and excite, hard swish; 32 pictures."""
    return nn.Sequential(*(Inverted(64) for _ in range(4))).eval(), (torch.randn(32, 64, 56, 56),)
