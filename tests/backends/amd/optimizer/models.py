"""Small models written the ways people write them."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import nn
from torch.nn import functional


class ConvNet(nn.Module):
    """Convolutions and a linear layer, each with a batch norm whose statistics are not trivial."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8), nn.ReLU())
        self.conv = nn.Conv2d(8, 8, 3, groups=2)
        self.norm = nn.BatchNorm2d(8)
        self.dropout = nn.Dropout(0.3)
        self.head = nn.Linear(8, 6)
        self.head_norm = nn.BatchNorm1d(6, affine=False)
        for module in self.modules():
            if isinstance(module, (nn.BatchNorm1d, nn.BatchNorm2d)):
                module.running_mean.normal_()
                module.running_var.uniform_(0.5, 2.0)
                if module.affine:
                    nn.init.normal_(module.weight)
                    nn.init.normal_(module.bias)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = functional.relu(self.norm(self.conv(self.stem(x))))
        return self.head_norm(self.head(self.dropout(x.mean((2, 3)))))


class Attention(nn.Module):
    """Separate projections and attention by hand; `style` says how scale and mask are written."""

    def __init__(self, size: int = 16, heads: int = 2, style: str = "divide", dropout: float = 0.0) -> None:
        super().__init__()
        self.heads, self.style, self.scale = heads, style, (size // heads) ** -0.5
        self.q_proj, self.k_proj, self.v_proj, self.out = (nn.Linear(size, size) for _ in range(4))
        self.drop = nn.Dropout(dropout)
        self.softmax_dtype = torch.float32
        self.register_buffer("causal", torch.tril(torch.ones(32, 32)).view(1, 1, 32, 32), persistent=False)

    def double(self) -> Attention:
        self.softmax_dtype = torch.float64
        return super().double()

    def split(self, x: torch.Tensor) -> torch.Tensor:
        return x.view(x.size(0), x.size(1), self.heads, -1).transpose(1, 2)

    def forward(self, x: torch.Tensor, mask: torch.Tensor | None = None) -> torch.Tensor:
        q, k, v = self.split(self.q_proj(x)), self.split(self.k_proj(x)), self.split(self.v_proj(x))
        length = x.size(1)
        if self.style == "divide":
            scores = q @ k.transpose(-2, -1) / math.sqrt(q.size(-1))
        elif self.style == "prescaled":
            scores = torch.matmul(q * self.scale, k.mT)
        elif self.style == "none":
            scores = q @ k.transpose(2, 3)
        elif self.style == "buffer":
            scores = (q @ k.transpose(-2, -1)) * self.scale
            scores = scores.masked_fill(self.causal[:, :, :length, :length] == 0, float("-inf"))
        elif self.style == "built":
            scores = self.scale * (q @ k.transpose(-2, -1))
            keep = torch.tril(torch.ones(length, length, device=x.device, dtype=torch.bool))
            scores = torch.where(keep, scores, -1e9)
        elif self.style == "small fill":
            scores = (q @ k.transpose(-2, -1)).masked_fill(self.causal[:, :, :length, :length] == 0, -3.0)
        elif self.style == "late scale":
            scores = (q @ k.transpose(-2, -1) + self.causal[:, :, :length, :length]) * self.scale
        else:
            raise AssertionError(self.style)
        if mask is not None:
            scores = scores + mask
        weights = self.drop(functional.softmax(scores, dim=-1, dtype=self.softmax_dtype).to(q.dtype))
        result = (weights @ v).transpose(1, 2).reshape(x.shape)
        return self.out(result)


class GatedMLP(nn.Module):
    def __init__(self, size: int = 16, bias: bool = False) -> None:
        super().__init__()
        self.gate = nn.Linear(size, 24, bias=bias)
        self.up = nn.Linear(size, 24, bias=bias)
        self.down = nn.Linear(24, size, bias=bias)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.down(functional.silu(self.gate(x)) * self.up(x))


class HandWrittenRMSNorm(nn.Module):
    def __init__(self, size: int = 16, eps: float = 1e-5) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.rand(size) + 0.5)
        self.eps = eps

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        dtype = hidden.dtype
        hidden = hidden.to(torch.float32)
        variance = hidden.pow(2).mean(-1, keepdim=True)
        hidden = hidden * torch.rsqrt(variance + self.eps)
        return self.weight * hidden.to(dtype)


class Block(nn.Module):
    def __init__(self, size: int = 16, dropout: float = 0.0, style: str = "divide") -> None:
        super().__init__()
        self.first, self.second = HandWrittenRMSNorm(size), nn.RMSNorm(size, eps=1e-6)
        self.attention, self.mlp = Attention(size, style=style, dropout=dropout), GatedMLP(size)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + self.attention(self.first(x))
        return x + self.mlp(self.second(x))


class TiedTransformer(nn.Module):
    """Token ids in, logits out; the head has the embedding's weight."""

    def __init__(self, dropout: float = 0.0, style: str = "divide", size: int = 16, tokens: int = 32) -> None:
        super().__init__()
        self.embedding = nn.Embedding(tokens, size)
        self.blocks = nn.ModuleList(Block(size, dropout, style) for _ in range(2))
        self.head = nn.Linear(size, tokens, bias=False)
        self.head.weight = self.embedding.weight

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        x = self.embedding(ids)
        for block in self.blocks:
            x = block(x)
        return self.head(x)


class DataDependent(nn.Module):
    """Branches on its input's values, so its own forward has no graph. The block inside does."""

    def __init__(self) -> None:
        super().__init__()
        self.left, self.right = nn.Linear(16, 16), nn.Linear(16, 16)
        self.attention = Attention()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if x.mean() > 0:
            return self.left(x) + self.right(x)
        return self.attention(x)


class Remembering(nn.Module):
    """Keeps its last scores, which a graph would lose."""

    def __init__(self) -> None:
        super().__init__()
        self.left, self.right = nn.Linear(16, 16), nn.Linear(16, 16)
        self.last: Any = None

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.last = self.left(x)
        return self.last + self.right(x)
