"""A decoder's tensors with random values, a token for it, and what plain torch gives for them."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import torch

from kernel_pytorch.perf.decode.cdna.decoder_shape import DecoderShape
from kernel_pytorch.perf.decode.decoder_steps import Steps, in_steps
from kernel_pytorch.perf.decode.form import NO_EXTRAS, Extras
from kernel_pytorch.perf.decode.ops import register

ALIGNED = 64  # elements


@dataclass(frozen=True)
class GivenDecoder:
    """All tensors lie in one storage: an emulated GPU gives every storage a place of its own."""

    shape: DecoderShape
    weights: list[Any]
    norms: list[Any]
    caches: list[Any]
    head: Any
    extras: Extras = NO_EXTRAS

    @property
    def tensors(self) -> tuple[Any, ...]:
        return self.weights, self.norms, self.caches, self.head


@dataclass(frozen=True)
class Token:
    """The row in, and what else a call gets: position, mask, rotation, scale, epsilon."""

    row: Any
    rest: tuple[Any, ...]
    other: tuple[Any, ...] = ()  # cosine, sine and mask of layers with a window


def element_type(shape: DecoderShape) -> torch.dtype:
    return torch.float16 if shape.is_half else torch.bfloat16


def given_decoder(shape: DecoderShape, device: str = "cpu") -> GivenDecoder:
    torch.manual_seed(1)
    heads, shared = shape.heads * shape.size, shape.shared * shape.size
    layer = [(heads, shape.hidden), (shared, shape.hidden), (shared, shape.hidden), (shape.hidden, heads)]
    layer += [(shape.wide, shape.hidden), (shape.wide, shape.hidden), (shape.hidden, shape.wide)]
    sizes: list[tuple[int, ...]] = [*layer * shape.layers, *[(shape.hidden,)] * (2 * shape.layers + 1)]
    sizes += [(1, shape.shared, shape.length, shape.size)] * (2 * shape.layers) + [(shape.words, shape.hidden)]
    more: list[list[int]] = [[heads, shared, shared]] if shape.has_qkv_biases else [[]]
    more += [[shape.size] * 2] if shape.has_head_norms else [[]]
    more += [[shape.hidden] * 2] if shape.has_after_norms else [[]]
    sizes += [(one,) for some in more for one in some * shape.layers]
    lengths = [-(-math.prod(size) // ALIGNED) * ALIGNED for size in sizes]
    storage = torch.zeros(sum(lengths), dtype=element_type(shape), device=device)
    made, start = [], 0
    for size, length in zip(sizes, lengths, strict=True):
        one = storage[start : start + math.prod(size)].view(size)
        start += length
        spread = {1: torch.rand(size) + 0.5 - shape.form.norm_plus, 2: torch.randn(size) / size[-1] ** 0.5}.get(
            len(size), torch.randn(size)
        )
        made.append(one.copy_(spread))
    weights, norms = made[: 7 * shape.layers], made[7 * shape.layers : 9 * shape.layers + 1]
    rest = made[9 * shape.layers + 1 :]
    caches, head = rest[: 2 * shape.layers], rest[2 * shape.layers]
    extra, at = [], 2 * shape.layers + 1
    for some in more:
        extra.append(rest[at : at + len(some) * shape.layers])
        at += len(some) * shape.layers
    local = [layer for layer in range(shape.layers) if layer % 2 == 0] if shape.kinds == 2 else []
    return GivenDecoder(shape, weights, norms, caches, head, Extras(*extra, [], local, shape.form))


def token(shape: DecoderShape, at: int, device: str = "cpu") -> Token:
    torch.manual_seed(at)
    kind = element_type(shape)

    def angles() -> tuple[Any, Any]:
        half = torch.rand((shape.turned or shape.size) // 2) * 6
        whole = half.repeat_interleave(2) if shape.form.neighbours else torch.cat([half] * 2)
        return whole.cos().to(kind).to(device), whole.sin().to(kind).to(device)

    def mask(window: int) -> Any:
        """As eager attention and scaled_dot_product_attention have it: the most negative number, or minus infinity."""
        place = torch.arange(shape.length)
        hidden = torch.finfo(kind).min if window % 2 else float("-inf")
        seen = torch.where((place <= at) & (place > at - window), 0.0, hidden).view(1, 1, 1, -1)
        return seen.to(torch.float32 if shape.bias_is_float else kind).to(device)

    cos, sin = angles()
    bias = mask(shape.length) if shape.has_bias else None
    row = torch.randn(1, shape.hidden).to(kind).to(device)
    rest = (torch.tensor([at], device=device), bias, cos, sin, shape.size**-0.5, 1e-5)
    window = max(1, shape.length // 5)
    own = (*angles(), *([mask(window)] if shape.has_bias else [])) if shape.kinds == 2 else ()
    return Token(row, rest, own)


def seen_with(given: GivenDecoder, one: Token) -> Extras:
    """All extras of a call."""
    return replace(given.extras, other=list(one.other))


def plainly(given: GivenDecoder, one: Token, dtype: torch.dtype) -> tuple[Any, list[Any]]:
    """On the CPU step by step, with results rounded to `dtype`; the scores and the caches after it."""
    operators = register()
    steps = Steps(operators.row_products, operators.row_gated, operators.attend_and_store)

    def moved(value: Any) -> Any:
        if not isinstance(value, torch.Tensor):
            return value
        return value.detach().cpu().to(dtype) if value.is_floating_point() else value.cpu()

    weights, norms = ([moved(value) for value in some] for some in (given.weights, given.norms))
    caches = [moved(value).clone() for value in given.caches]
    extras = seen_with(given, one)
    names = ("biases", "head_norms", "after_norms", "other")
    extras = replace(extras, **{name: [moved(value) for value in getattr(extras, name)] for name in names})
    rest = tuple(map(moved, one.rest))
    return in_steps(steps, moved(one.row), weights, norms, caches, moved(given.head), *rest, extras=extras), caches
