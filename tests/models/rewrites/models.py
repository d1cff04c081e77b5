"""Small models with the structures of well-known ones."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional


class HandNorm(nn.Module):
    """An RMS norm in fp32, whose weight is cast in every call."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.rand(size))

    def forward(self, x: Tensor) -> Tensor:
        wide = x.float()
        return (self.weight.float() * (wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + 1e-6))).to(x.dtype)


class GatedMLP(nn.Module):
    def __init__(self, size: int) -> None:
        super().__init__()
        self.gate, self.up = (nn.Linear(size, 2 * size, bias=False) for _ in range(2))
        self.down = nn.Linear(2 * size, size, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        return self.down(functional.silu(self.gate(x)) * self.up(x))


def repeated(x: Tensor, times: int) -> Tensor:
    batch, heads, length, size = x.shape
    if times == 1:
        return x
    return x[:, :, None].expand(batch, heads, times, length, size).reshape(batch, heads * times, length, size)


def by_hand(module: Any, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, dropout: float, **_: Any) -> Any:
    k, v = repeated(k, module.groups), repeated(v, module.groups)
    weights = q @ k.transpose(2, 3) * module.scaling
    if mask is not None:
        weights = weights + mask
    weights = functional.softmax(weights, dim=-1, dtype=torch.promote_types(q.dtype, torch.float32)).to(q.dtype)
    weights = functional.dropout(weights, p=dropout, training=module.training)
    return (weights @ v).transpose(1, 2).contiguous(), weights


def by_torch(module: Any, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, dropout: float, **_: Any) -> Any:
    k, v = repeated(k, module.groups), repeated(v, module.groups)
    is_causal = q.shape[2] > 1 and mask is None
    result = functional.scaled_dot_product_attention(q, k, v, mask, dropout, is_causal, scale=module.scaling)
    return result.transpose(1, 2).contiguous(), None


INTERFACES: dict[str, Callable[..., Any]] = {"hand": by_hand, "torch": by_torch}


@dataclass
class Settings:
    attention: str = "hand"
    dropout: float = 0.0


@dataclass
class Output:
    logits: Tensor
    cache: Any = None


class GrowingCache:
    """Keys and values that grow with every call."""

    def __init__(self) -> None:
        self.kept: dict[int, tuple[Tensor, Tensor]] = {}

    def update(self, k: Tensor, v: Tensor, layer_idx: int) -> tuple[Tensor, Tensor]:
        if layer_idx in self.kept:
            k, v = (torch.cat(pair, dim=2) for pair in zip(self.kept[layer_idx], (k, v), strict=True))
        self.kept[layer_idx] = (k, v)
        return k, v


class DispatchedAttention(nn.Module):
    """Keyword arguments, rotary tables from outside, a cache that is an object, attention chosen by a setting."""

    def __init__(self, settings: Settings, size: int, heads: int, groups: int, layer: int) -> None:
        super().__init__()
        self.settings, self.layer, self.size = settings, layer, size // heads
        self.groups, self.scaling = groups, (size // heads) ** -0.5
        self.q_proj = nn.Linear(size, size, bias=True)
        self.k_proj, self.v_proj = (nn.Linear(size, size // groups, bias=True) for _ in range(2))
        self.o_proj = nn.Linear(size, size, bias=False)

    def forward(
        self,
        hidden: Tensor,
        tables: tuple[Tensor, Tensor] | None = None,
        attention_mask: Tensor | None = None,
        past_key_values: Any = None,
        **kwargs: Any,
    ) -> tuple[Tensor, Tensor | None]:
        shape = hidden.shape[:-1]
        split = (*shape, -1, self.size)
        q, k, v = (layer(hidden).view(split).transpose(1, 2) for layer in (self.q_proj, self.k_proj, self.v_proj))
        assert tables is not None
        q, k = (item * tables[0] + item.flip(-1) * tables[1] for item in (q, k))
        if past_key_values is not None:
            k, v = past_key_values.update(k, v, self.layer)
        attend = INTERFACES[self.settings.attention]
        dropout = self.settings.dropout if self.training else 0.0
        result, weights = attend(self, q, k, v, attention_mask, dropout=dropout, **kwargs)
        return self.o_proj(result.reshape(*shape, -1).contiguous()), weights


class DispatchedBlock(nn.Module):
    def __init__(self, settings: Settings, size: int, heads: int, groups: int, layer: int) -> None:
        super().__init__()
        self.norm, self.mlp_norm = HandNorm(size), HandNorm(size)
        self.attention = DispatchedAttention(settings, size, heads, groups, layer)
        self.mlp = GatedMLP(size)

    def forward(self, hidden: Tensor, **kwargs: Any) -> Tensor:
        attended, _ = self.attention(hidden=self.norm(hidden), **kwargs)
        hidden = hidden + attended
        return hidden + self.mlp(self.mlp_norm(hidden))


class Decoder(nn.Module):
    """A decoder that takes ids, a mask, positions and a cache, and returns a dataclass."""

    def __init__(self, attention: str = "hand", dropout: float = 0.0, size: int = 32, groups: int = 2) -> None:
        super().__init__()
        self.settings = Settings(attention, dropout)
        self.embed = nn.Embedding(50, size)
        self.blocks = nn.ModuleList(DispatchedBlock(self.settings, size, 4, groups, layer) for layer in range(2))
        self.head = nn.Linear(size, 50, bias=False)

    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor | None = None,
        position_ids: Tensor | None = None,
        past_key_values: Any = None,
        use_cache: bool | None = None,
    ) -> Output:
        hidden = self.embed(input_ids)
        length = input_ids.shape[1]
        if position_ids is None:
            position_ids = torch.arange(length, device=input_ids.device)[None]
        angles = position_ids[:, None, :, None] * torch.linspace(0.1, 1.0, 8, device=hidden.device)
        tables = (angles.cos().to(hidden.dtype), angles.sin().to(hidden.dtype))
        if attention_mask is None or attention_mask.dim() == 2:
            seen = torch.ones(length, length, dtype=torch.bool, device=hidden.device).tril()[None, None]
            if attention_mask is not None:
                seen = seen & (attention_mask[:, None, None, :] != 0)
            attention_mask = torch.zeros(seen.shape, dtype=hidden.dtype).masked_fill(~seen, -1e9)
        for block in self.blocks:
            hidden = block(hidden, tables=tables, attention_mask=attention_mask, past_key_values=past_key_values)
        return Output(self.head(hidden), past_key_values)


class BufferedBlock(nn.Module):
    """Joint projections, attention by hand with a causal buffer."""

    def __init__(self, size: int, heads: int, longest: int, dropout: float) -> None:
        super().__init__()
        self.heads = heads
        self.attend, self.project = nn.Linear(size, 3 * size), nn.Linear(size, size)
        self.norm, self.dropout = nn.LayerNorm(size), nn.Dropout(dropout)
        self.mlp = nn.Sequential(nn.Linear(size, 2 * size), nn.GELU(), nn.Linear(2 * size, size))
        self.register_buffer("bias", torch.tril(torch.ones(longest, longest)).view(1, 1, longest, longest))

    def forward(self, x: Tensor) -> Tensor:
        batch, length, size = x.size()
        parts = self.attend(self.norm(x)).split(size, dim=2)
        q, k, v = (item.view(batch, length, self.heads, size // self.heads).transpose(1, 2) for item in parts)
        scores = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
        scores = scores.masked_fill(self.bias[:, :, :length, :length] == 0, float("-inf"))
        y = self.dropout(functional.softmax(scores, dim=-1)) @ v
        x = x + self.project(y.transpose(1, 2).contiguous().view(batch, length, size))
        return x + self.mlp(x)


class Buffered(nn.Module):
    """Learned positions, counted in the forward."""

    def __init__(self, dropout: float = 0.0) -> None:
        super().__init__()
        self.tokens, self.positions = nn.Embedding(50, 32), nn.Embedding(64, 32)
        self.blocks = nn.ModuleList(BufferedBlock(32, 4, 64, dropout) for _ in range(2))
        self.head = nn.Linear(32, 50, bias=False)

    def forward(self, ids: Tensor) -> Tensor:
        length = ids.size(1)
        assert length <= 64
        x = self.tokens(ids) + self.positions(torch.arange(0, length, dtype=torch.long, device=ids.device))
        for block in self.blocks:
            x = block(x)
        return self.head(x)


class InterleavedAttention(nn.Module):
    """Grouped queries by repeat_interleave or by expanding before the heads are moved; SDPA with a given mask."""

    def __init__(self, interleave: bool) -> None:
        super().__init__()
        self.interleave = interleave
        self.q, self.o = (nn.Linear(32, 32, bias=False) for _ in range(2))
        self.kv = nn.Linear(32, 32, bias=False)

    def forward(self, x: Tensor, mask: Tensor | None) -> Tensor:
        batch, length, _ = x.shape
        q = self.q(x).view(batch, length, 4, 8).transpose(1, 2)
        k, v = (item.view(batch, length, 2, 8) for item in self.kv(x).split([16, 16], dim=-1))
        if self.interleave:
            k, v = (item.transpose(1, 2).repeat_interleave(2, dim=1) for item in (k, v))
        else:
            k, v = (
                item[:, :, :, None, :].expand(batch, length, 2, 2, 8).reshape(batch, length, 4, 8) for item in (k, v)
            )
            k, v = k.transpose(1, 2), v.transpose(1, 2)
        y = functional.scaled_dot_product_attention(q, k, v, attn_mask=mask, dropout_p=0.0)
        return self.o(y.transpose(1, 2).contiguous().view(batch, length, -1))


class Interleaved(nn.Module):
    """The mask is a slice of a buffer; positions are rows of a table."""

    def __init__(self, interleave: bool = True) -> None:
        super().__init__()
        self.embed = nn.Embedding(50, 32)
        self.attention = InterleavedAttention(interleave)
        self.register_buffer("causal", torch.tril(torch.ones(64, 64, dtype=torch.bool)), persistent=False)
        self.register_buffer("table", torch.randn(64, 32), persistent=False)

    def forward(self, ids: Tensor) -> Tensor:
        length = ids.shape[1]
        x = self.embed(ids) + self.table[:length]
        x = x + self.attention(x, self.causal[None, None, :length, :length])
        return x @ self.embed.weight.t()


class UnevenBias(nn.Module):
    """Keys without a bias, queries and values with one."""

    def __init__(self) -> None:
        super().__init__()
        self.q, self.v = nn.Linear(16, 16), nn.Linear(16, 16)
        self.k = nn.Linear(16, 16, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        return functional.scaled_dot_product_attention(*(layer(x)[:, None] for layer in (self.q, self.k, self.v)))


class Classifier(nn.Module):
    """An encoder with padding that pools over what is no padding."""

    def __init__(self, per_token: bool = False, leaks: bool = False) -> None:
        super().__init__()
        self.per_token, self.leaks = per_token, leaks
        self.embed = nn.Embedding(50, 16)
        self.q, self.k, self.v = (nn.Linear(16, 16) for _ in range(3))
        self.head = nn.Linear(16, 3)

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        x = self.embed(input_ids)
        seen = None if self.leaks else attention_mask[:, None, None, :].bool()
        q, k, v = (layer(x)[:, None] for layer in (self.q, self.k, self.v))
        x = functional.scaled_dot_product_attention(q, k, v, attn_mask=seen)[:, 0]
        if self.per_token:
            return self.head(x)
        weight = attention_mask[:, :, None].to(x.dtype)
        return self.head((x * weight).sum(1) / weight.sum(1))
