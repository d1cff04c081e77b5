"""A decoder's tensors with random values, a token for it, and what plain torch gives for them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import torch

from kernel_pytorch.perf.decode.cdna.decoder_shape import DecoderShape
from kernel_pytorch.perf.decode.decoder_steps import Steps, in_steps
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

    @property
    def tensors(self) -> tuple[Any, ...]:
        return self.weights, self.norms, self.caches, self.head


@dataclass(frozen=True)
class Token:
    """The row in, and what else a call gets: position, mask, rotation, scale, epsilon."""

    row: Any
    rest: tuple[Any, ...]


def element_type(shape: DecoderShape) -> torch.dtype:
    return torch.float16 if shape.is_half else torch.bfloat16


def given_decoder(shape: DecoderShape, device: str = "cpu") -> GivenDecoder:
    torch.manual_seed(1)
    heads, shared = shape.heads * shape.size, shape.shared * shape.size
    layer = [(heads, shape.hidden), (shared, shape.hidden), (shared, shape.hidden), (shape.hidden, heads)]
    layer += [(shape.wide, shape.hidden), (shape.wide, shape.hidden), (shape.hidden, shape.wide)]
    sizes: list[tuple[int, ...]] = [*layer * shape.layers, *[(shape.hidden,)] * (2 * shape.layers + 1)]
    sizes += [(1, shape.shared, shape.length, shape.size)] * (2 * shape.layers) + [(shape.words, shape.hidden)]
    lengths = [-(-math.prod(size) // ALIGNED) * ALIGNED for size in sizes]
    storage = torch.zeros(sum(lengths), dtype=element_type(shape), device=device)
    made, start = [], 0
    for size, length in zip(sizes, lengths, strict=True):
        one = storage[start : start + math.prod(size)].view(size)
        start += length
        spread = {1: torch.rand(size) + 0.5, 2: torch.randn(size) / size[-1] ** 0.5}.get(len(size), torch.randn(size))
        made.append(one.copy_(spread))
    weights, norms = made[: 7 * shape.layers], made[7 * shape.layers : 9 * shape.layers + 1]
    return GivenDecoder(shape, weights, norms, made[9 * shape.layers + 1 : -1], made[-1])


def token(shape: DecoderShape, at: int, device: str = "cpu") -> Token:
    torch.manual_seed(at)
    kind = element_type(shape)
    angles = torch.rand(shape.size // 2) * 6
    cos, sin = (torch.cat([turn(angles)] * 2).to(kind).to(device) for turn in (torch.cos, torch.sin))
    bias = None
    if shape.has_bias:
        seen = torch.where(torch.arange(shape.length) <= at, 0.0, float("-inf")).view(1, 1, 1, -1)
        bias = seen.to(torch.float32 if shape.bias_is_float else kind).to(device)
    row = torch.randn(1, shape.hidden).to(kind).to(device)
    return Token(row, (torch.tensor([at], device=device), bias, cos, sin, shape.size**-0.5, 1e-5))


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
    return in_steps(steps, moved(one.row), weights, norms, caches, moved(given.head), *map(moved, one.rest)), caches
