"""Models to inspect, written down in plain torch: a decoder, ViT, DiT, BERT, a small conv net, and a large MoE.

    kpt inspect benchmarks/inspect_models.py:decoder --arch gfx942,gfx1100

Each function returns (model, inputs). Shapes are those of the published models (see each docstring) with fewer layers,
except the MoE, which has all of its layers: 47 billion parameters that are never allocated.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from torch.nn import functional

Made = tuple[nn.Module, tuple[Any, ...]]


class RMSNorm(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        wide = x.float()
        return (wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + 1e-5)).to(x.dtype) * self.weight


def rotate(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    half = x.shape[-1] // 2
    turned = torch.cat((-x[..., half:], x[..., :half]), dim=-1)
    return x * cos + turned * sin


class CausalAttention(nn.Module):
    def __init__(self, width: int, heads: int, kv_heads: int) -> None:
        super().__init__()
        self.heads, self.kv_heads, self.size = heads, kv_heads, width // heads
        self.q = nn.Linear(width, width, bias=False)
        self.k = nn.Linear(width, kv_heads * self.size, bias=False)
        self.v = nn.Linear(width, kv_heads * self.size, bias=False)
        self.o = nn.Linear(width, width, bias=False)

    def forward(self, x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
        batch, length, width = x.shape
        q = self.q(x).view(batch, length, self.heads, self.size).transpose(1, 2)
        k = self.k(x).view(batch, length, self.kv_heads, self.size).transpose(1, 2)
        v = self.v(x).view(batch, length, self.kv_heads, self.size).transpose(1, 2)
        q, k = rotate(q, cos, sin), rotate(k, cos, sin)
        groups = self.heads // self.kv_heads
        k, v = k.repeat_interleave(groups, 1), v.repeat_interleave(groups, 1)
        out = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.o(out.transpose(1, 2).reshape(batch, length, width))


class GatedMLP(nn.Module):
    def __init__(self, width: int, hidden: int) -> None:
        super().__init__()
        self.gate = nn.Linear(width, hidden, bias=False)
        self.up = nn.Linear(width, hidden, bias=False)
        self.down = nn.Linear(hidden, width, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.down(functional.silu(self.gate(x)) * self.up(x))


class MixtureOfExperts(nn.Module):
    """Every expert computed for the tokens routed to it, with fixed capacity: no data-dependent shapes."""

    def __init__(self, width: int, hidden: int, experts: int, active: int) -> None:
        super().__init__()
        self.experts, self.active = experts, active
        self.router = nn.Linear(width, experts, bias=False)
        self.gate = nn.Parameter(torch.empty(experts, width, hidden))
        self.up = nn.Parameter(torch.empty(experts, width, hidden))
        self.down = nn.Parameter(torch.empty(experts, hidden, width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, length, width = x.shape
        flat = x.reshape(-1, width)
        capacity = flat.shape[0] * self.active // self.experts
        scores = self.router(flat).softmax(-1)
        weights, tokens = scores.topk(capacity, dim=0)  # each expert takes its best tokens
        chosen = flat[tokens.t()]
        inner = functional.silu(torch.bmm(chosen, self.gate)) * torch.bmm(chosen, self.up)
        out = torch.bmm(inner, self.down) * weights.t().unsqueeze(-1)
        result = torch.zeros_like(flat).index_add(0, tokens.t().reshape(-1), out.reshape(-1, width))
        return result.view(batch, length, width)


class DecoderLayer(nn.Module):
    def __init__(self, width: int, heads: int, kv_heads: int, mlp: nn.Module) -> None:
        super().__init__()
        self.before, self.after = RMSNorm(width), RMSNorm(width)
        self.attention, self.mlp = CausalAttention(width, heads, kv_heads), mlp

    def forward(self, x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
        x = x + self.attention(self.before(x), cos, sin)
        return x + self.mlp(self.after(x))


class Decoder(nn.Module):
    def __init__(self, layers: list[nn.Module], width: int, heads: int, words: int, length: int) -> None:
        super().__init__()
        self.embed = nn.Embedding(words, width)
        self.layers = nn.ModuleList(layers)
        self.norm, self.head = RMSNorm(width), nn.Linear(width, words, bias=False)
        size = width // heads
        angles = torch.arange(length).float().outer(1e4 ** (-torch.arange(0, size, 2).float() / size))
        self.register_buffer("cos", torch.cat((angles, angles), -1).cos())
        self.register_buffer("sin", torch.cat((angles, angles), -1).sin())

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        x = self.embed(tokens)
        cos, sin = self.cos.to(x.dtype), self.sin.to(x.dtype)
        for layer in self.layers:
            x = layer(x, cos, sin)
        return self.head(self.norm(x[:, -1:]))


def _decoder(layers: int, width: int, heads: int, kv_heads: int, hidden: int, words: int, length: int) -> Made:
    blocks: list[nn.Module] = [DecoderLayer(width, heads, kv_heads, GatedMLP(width, hidden)) for _ in range(layers)]
    model = Decoder(blocks, width, heads, words, length).bfloat16().eval()
    return model, (torch.randint(0, words, (1, length)),)


def decoder() -> Made:
    """Llama-3-8B's layer, four of them, 2048 tokens."""
    return _decoder(4, 4096, 32, 8, 14336, 128256, 2048)


def moe() -> Made:
    """Mixtral-8x7B in full: 32 layers, eight experts, 47 billion parameters, 2048 tokens."""
    width, heads, length = 4096, 32, 2048
    layers: list[nn.Module] = [DecoderLayer(width, heads, 8, MixtureOfExperts(width, 14336, 8, 2)) for _ in range(32)]
    model = Decoder(layers, width, heads, 32000, length).bfloat16().eval()
    return model, (torch.randint(0, 32000, (1, length)),)


class EncoderLayer(nn.Module):
    """A transformer layer with LayerNorm: before (ViT) or after (BERT) the sublayers."""

    def __init__(self, width: int, heads: int, norm_first: bool) -> None:
        super().__init__()
        self.heads, self.norm_first = heads, norm_first
        self.qkv, self.o = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.one, self.two = nn.LayerNorm(width), nn.LayerNorm(width)

    def attend(self, x: torch.Tensor) -> torch.Tensor:
        batch, length, width = x.shape
        q, k, v = self.qkv(x).view(batch, length, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4)
        return self.o(functional.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(batch, length, width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if self.norm_first:
            x = x + self.attend(self.one(x))
            return x + self.down(functional.gelu(self.up(self.two(x))))
        x = self.one(x + self.attend(x))
        return self.two(x + self.down(functional.gelu(self.up(x))))


class ViT(nn.Module):
    def __init__(self, layers: int, width: int, heads: int) -> None:
        super().__init__()
        self.patch = nn.Conv2d(3, width, 16, 16)
        self.cls = nn.Parameter(torch.zeros(1, 1, width))
        self.place = nn.Parameter(torch.zeros(1, 197, width))
        self.layers = nn.ModuleList([EncoderLayer(width, heads, True) for _ in range(layers)])
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, 1000)

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        x = self.patch(image).flatten(2).transpose(1, 2)
        x = torch.cat((self.cls.expand(x.shape[0], -1, -1), x), 1) + self.place
        for layer in self.layers:
            x = layer(x)
        return self.head(self.norm(x[:, 0]))


def vit() -> Made:
    """ViT-B/16, four layers, 32 pictures."""
    return ViT(4, 768, 12).half().eval(), (torch.randn(32, 3, 224, 224).half(),)


class Bert(nn.Module):
    def __init__(self, layers: int, width: int, heads: int) -> None:
        super().__init__()
        self.embed, self.place, self.norm = nn.Embedding(30522, width), nn.Embedding(512, width), nn.LayerNorm(width)
        self.layers = nn.ModuleList([EncoderLayer(width, heads, False) for _ in range(layers)])
        self.pool = nn.Linear(width, width)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        x = self.embed(tokens) + self.place(torch.arange(tokens.shape[1], device=tokens.device))
        x = self.norm(x)
        for layer in self.layers:
            x = layer(x)
        return torch.tanh(self.pool(x[:, 0]))


def bert() -> Made:
    """BERT-base, four layers, 16 sequences of 512, fp32."""
    return Bert(4, 768, 12).eval(), (torch.randint(0, 30522, (16, 512)),)


class DiTBlock(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.layer = EncoderLayer(width, heads, True)
        self.one = nn.LayerNorm(width, elementwise_affine=False)
        self.two = nn.LayerNorm(width, elementwise_affine=False)
        self.modulation = nn.Linear(width, 6 * width)

    def forward(self, x: torch.Tensor, condition: torch.Tensor) -> torch.Tensor:
        parts = self.modulation(functional.silu(condition)).unsqueeze(1).chunk(6, -1)
        shift, scale, gate, shift2, scale2, gate2 = parts
        x = x + gate * self.layer.attend(self.one(x) * (1 + scale) + shift)
        inner = self.layer.up(self.two(x) * (1 + scale2) + shift2)
        return x + gate2 * self.layer.down(functional.gelu(inner, approximate="tanh"))


class DiT(nn.Module):
    def __init__(self, layers: int, width: int, heads: int) -> None:
        super().__init__()
        self.blocks = nn.ModuleList([DiTBlock(width, heads) for _ in range(layers)])

    def forward(self, x: torch.Tensor, condition: torch.Tensor) -> torch.Tensor:
        for block in self.blocks:
            x = block(x, condition)
        return x


def dit() -> Made:
    """DiT-XL/2's block (width 1152, 16 heads, 256 patches), four of them, 16 pictures."""
    return DiT(4, 1152, 16).bfloat16().eval(), (torch.randn(16, 256, 1152).bfloat16(), torch.randn(16, 1152).bfloat16())


def convnet() -> Made:
    """A small conv net with batch norm: many small launches."""
    layers: list[nn.Module] = []
    channels = 3
    for width in (32, 64, 128):
        layers += [nn.Conv2d(channels, width, 3, padding=1), nn.BatchNorm2d(width), nn.ReLU(), nn.MaxPool2d(2)]
        channels = width
    model = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(128, 10)).eval()
    return model, (torch.randn(64, 3, 32, 32),)


class TracedBlock(nn.Module):
    """Written after the kernels of a public trace: norms without a cast, attention over all positions, a gated MLP."""

    def __init__(self, width: int, heads: int, hidden: int) -> None:
        super().__init__()
        self.heads = heads
        self.norms = nn.ParameterList([nn.Parameter(torch.ones(width)) for _ in range(2)])
        self.q, self.k, self.v, self.o = (nn.Linear(width, width, bias=False) for _ in range(4))
        self.gate, self.up = (nn.Linear(width, hidden, bias=False) for _ in range(2))
        self.down = nn.Linear(hidden, width, bias=False)

    def norm(self, x: torch.Tensor, number: int) -> torch.Tensor:
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * self.norms[number]

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, length, width = x.shape
        normed = self.norm(x, 0)
        q, k, v = (one(normed).view(batch, length, self.heads, -1).transpose(1, 2) for one in (self.q, self.k, self.v))
        attended = functional.scaled_dot_product_attention(q, k, v)
        x = x + self.o(attended.transpose(1, 2).reshape(batch, length, width))
        normed = self.norm(x, 1)
        return x + self.down(functional.silu(self.gate(normed)) * self.up(normed))


def traced_block() -> Made:
    """The block of tests/traces/torch_compile_triton in AMD-AGI/TraceLens, recorded on an MI300X: 12.55 ms."""
    return TracedBlock(2048, 16, 8192).bfloat16().eval(), (torch.randn(8, 4096, 2048).bfloat16(),)


def tiny_decoder() -> Made:
    """A decoder small enough to run on the emulator: one layer, width 64, 16 tokens, fp32."""
    torch.manual_seed(0)
    model, inputs = _decoder(1, 64, 4, 2, 128, 96, 16)
    return model.float(), inputs


def tiny_mlp() -> Made:
    """LayerNorm, GELU and a residual: for the emulator."""
    torch.manual_seed(0)

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.norm, self.up, self.down = nn.LayerNorm(64), nn.Linear(64, 128), nn.Linear(128, 64)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x + self.down(functional.gelu(self.up(self.norm(x))))

    return Block().eval(), (torch.randn(8, 64),)
