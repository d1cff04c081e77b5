"""Three models with random weights for golden vectors: a decoder with GQA, a vision transformer, a UNet.

    kpt golden record benchmarks/golden_models.py:decoder --out golden/decoder      on the reference GPU
    kpt golden check benchmarks/golden_models.py:decoder golden/decoder             elsewhere

The weights are made on the CPU from a seed, so every machine has the same. The first two need transformers.
"""

from __future__ import annotations

import math

import torch
from torch import nn


def _placed(model: nn.Module, *inputs: torch.Tensor) -> tuple[nn.Module, tuple[torch.Tensor, ...]]:
    device = "cuda" if torch.cuda.is_available() else "cpu"
    return model.eval().to(device), tuple(tensor.to(device) for tensor in inputs)


def decoder() -> tuple[nn.Module, dict[str, object]]:
    """Llama-shaped, 8 heads over 2 key-value heads, attention by torch's SDPA."""
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(1)
    config = LlamaConfig(
        vocab_size=512,
        hidden_size=256,
        intermediate_size=512,
        num_hidden_layers=4,
        num_attention_heads=8,
        num_key_value_heads=2,
        max_position_embeddings=128,
        use_cache=False,
        attn_implementation="sdpa",
    )
    model, (ids,) = _placed(LlamaForCausalLM(config), torch.randint(0, 512, (2, 48)))
    return model, {"input_ids": ids}


def vision() -> tuple[nn.Module, tuple[torch.Tensor, ...]]:
    """A small ViT classifier."""
    from transformers import ViTConfig, ViTForImageClassification

    torch.manual_seed(2)
    config = ViTConfig(
        hidden_size=192,
        num_hidden_layers=4,
        num_attention_heads=6,
        intermediate_size=384,
        image_size=64,
        patch_size=8,
        num_labels=10,
    )
    return _placed(ViTForImageClassification(config), torch.randn(2, 3, 64, 64))


class _Residual(nn.Module):
    def __init__(self, into: int, out: int) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.GroupNorm(8, into), nn.GroupNorm(8, out)
        self.conv1, self.conv2 = nn.Conv2d(into, out, 3, padding=1), nn.Conv2d(out, out, 3, padding=1)
        self.time = nn.Linear(64, out)
        self.skip = nn.Conv2d(into, out, 1) if into != out else nn.Identity()

    def forward(self, x: torch.Tensor, time: torch.Tensor) -> torch.Tensor:
        h = self.conv1(nn.functional.silu(self.norm1(x))) + self.time(time)[:, :, None, None]
        return self.skip(x) + self.conv2(nn.functional.silu(self.norm2(h)))


class _SpatialAttention(nn.Module):
    def __init__(self, width: int, heads: int = 4) -> None:
        super().__init__()
        self.heads = heads
        self.norm, self.qkv, self.out = (
            nn.GroupNorm(8, width),
            nn.Conv2d(width, 3 * width, 1),
            nn.Conv2d(width, width, 1),
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, width, high, wide = x.shape
        q, k, v = (
            self.qkv(self.norm(x)).reshape(batch, 3, self.heads, width // self.heads, -1).transpose(-1, -2).unbind(1)
        )
        y = nn.functional.scaled_dot_product_attention(q, k, v)
        return x + self.out(y.transpose(-1, -2).reshape(batch, width, high, wide))


class UNet(nn.Module):
    """A denoising UNet of three resolutions with attention in the middle."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Sequential(nn.Linear(64, 64), nn.SiLU(), nn.Linear(64, 64))
        self.enter = nn.Conv2d(4, 32, 3, padding=1)
        self.down1, self.down2 = _Residual(32, 64), _Residual(64, 96)
        self.middle1, self.attention, self.middle2 = _Residual(96, 96), _SpatialAttention(96), _Residual(96, 96)
        self.up2, self.up1 = _Residual(96 + 64, 64), _Residual(64 + 32, 32)
        self.leave = nn.Conv2d(32, 4, 3, padding=1)

    def forward(self, x: torch.Tensor, step: torch.Tensor) -> torch.Tensor:
        angles = step[:, None].float() * torch.exp(-math.log(1e4) * torch.arange(32, device=x.device) / 32)
        time = self.embed(torch.cat([angles.sin(), angles.cos()], dim=-1))
        a = self.enter(x)
        b = self.down1(nn.functional.avg_pool2d(a, 2), time)
        c = self.down2(nn.functional.avg_pool2d(b, 2), time)
        c = self.middle2(self.attention(self.middle1(c, time)), time)
        b = self.up2(torch.cat([nn.functional.interpolate(c, scale_factor=2.0), b], dim=1), time)
        return self.leave(self.up1(torch.cat([nn.functional.interpolate(b, scale_factor=2.0), a], dim=1), time))


def unet() -> tuple[nn.Module, tuple[torch.Tensor, ...]]:
    """The UNet on 32 x 32 latents."""
    torch.manual_seed(3)
    return _placed(UNet(), torch.randn(2, 4, 32, 32), torch.tensor([7, 431]))
