"""The calls of h200_cases.py, made: tensors on a device, and one call of torch for each case.

A builder returns the call and its activations: tensors that in a model the kernel before has just written.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from h200_cases import Case
from torch.nn import functional

BF16 = torch.bfloat16


@dataclass(frozen=True)
class Made:
    """`run` makes one call; `activations` are what was just written before it."""

    run: Callable[[], Any]
    activations: tuple[torch.Tensor, ...] = ()


@dataclass(frozen=True)
class Maker:
    """Makes tensors of a case's type on a device."""

    device: str
    dtype: torch.dtype

    def normal(self, *shape: int, dtype: torch.dtype | None = None) -> torch.Tensor:
        return torch.randn(shape, device=self.device, dtype=dtype or self.dtype)

    def narrow(self, *shape: int) -> torch.Tensor:
        return self.normal(*shape, dtype=BF16).to(torch.float8_e4m3fn)

    def ones(self, *shape: int) -> torch.Tensor:
        return torch.ones(shape, device=self.device, dtype=torch.float32)

    def below(self, limit: int, *shape: int) -> torch.Tensor:
        return torch.randint(limit, shape, device=self.device)


Builder = Callable[[Maker, tuple[int, ...]], Made]


def made(case: Case, device: str) -> Made:
    """The call of a case on a device; on "meta", nothing is computed."""
    return BUILDERS[case.call](Maker(device, getattr(torch, case.dtype)), case.shape)


def linear(make: Maker, shape: tuple[int, ...], bias: bool = False) -> Made:
    m, n, k = shape
    x, weight, added = make.normal(m, k), make.normal(n, k), make.normal(n) if bias else None
    return Made(lambda: functional.linear(x, weight, added), (x,))


def scaled(make: Maker, shape: tuple[int, ...], rows: bool = False) -> Made:
    m, n, k = shape
    x, weight = make.narrow(m, k), make.narrow(n, k).t()
    scales = (make.ones(m, 1), make.ones(1, n)) if rows else (make.ones(), make.ones())
    return Made(lambda: torch._scaled_mm(x, weight, *scales, out_dtype=BF16, use_fast_accum=True))


def scores(make: Maker, shape: tuple[int, ...]) -> Made:
    batch, length, head = shape
    q, k = make.normal(batch, length, head), make.normal(batch, length, head)
    return Made(lambda: torch.bmm(q, k.transpose(1, 2)), (q, k))


def weighted(make: Maker, shape: tuple[int, ...]) -> Made:
    batch, length, head = shape
    p, v = make.normal(batch, length, length), make.normal(batch, length, head)
    return Made(lambda: torch.bmm(p, v), (p,))


def attend(make: Maker, shape: tuple[int, ...], causal: bool = False, masked: bool = False) -> Made:
    batch, heads, kept, queries, keys, head = shape
    q = make.normal(batch, heads, queries, head)
    k, v = make.normal(batch, kept, keys, head), make.normal(batch, kept, keys, head)
    mask = make.normal(batch, 1, queries, keys) if masked else None
    if queries == 1:
        return Made(lambda: functional.scaled_dot_product_attention(q, k, v, enable_gqa=heads != kept), (q,))
    return Made(
        lambda: functional.scaled_dot_product_attention(q, k, v, mask, is_causal=causal, enable_gqa=heads != kept),
        (q, k, v),
    )


def each(function: Callable[[torch.Tensor], Any]) -> Builder:
    """Of one tensor."""

    def build(make: Maker, shape: tuple[int, ...]) -> Made:
        x = make.normal(*shape)
        return Made(lambda: function(x), (x,))

    return build


def with_row(function: Callable[[torch.Tensor, torch.Tensor], Any]) -> Builder:
    """Of a tensor and a row as long as its own."""

    def build(make: Maker, shape: tuple[int, ...]) -> Made:
        x, row = make.normal(*shape), make.normal(shape[-1])
        return Made(lambda: function(x, row), (x,))

    return build


def add(make: Maker, shape: tuple[int, ...]) -> Made:
    x, y = make.normal(*shape), make.normal(*shape)
    return Made(lambda: x + y, (x,))


def silu_half(make: Maker, shape: tuple[int, ...]) -> Made:
    x = make.normal(shape[0], 2 * shape[1])
    return Made(lambda: functional.silu(x[:, : shape[1]]), (x,))


def mul_half(make: Maker, shape: tuple[int, ...]) -> Made:
    x, y = make.normal(shape[0], 2 * shape[1]), make.normal(*shape)
    return Made(lambda: y * x[:, shape[1] :], (x, y))


def rotate_halves(make: Maker, shape: tuple[int, ...]) -> Made:
    x, half = make.normal(*shape), shape[-1] // 2
    return Made(lambda: torch.cat((-x[..., half:], x[..., :half]), dim=-1), (x,))


def mul_angles(make: Maker, shape: tuple[int, ...]) -> Made:
    x, angles = make.normal(*shape), make.normal(shape[0], 1, shape[2])
    return Made(lambda: x * angles, (x,))


def mask_scores(make: Maker, shape: tuple[int, ...]) -> Made:
    batch, heads, length = shape
    x, mask = make.normal(batch, heads, length, length), make.normal(batch, 1, length, length) > 0
    return Made(lambda: x.masked_fill(mask, -1e4), (x,))


def layer_norm_backward(make: Maker, shape: tuple[int, ...]) -> Made:
    x, weight, bias, gradient = make.normal(*shape), make.normal(shape[1]), make.normal(shape[1]), make.normal(*shape)
    _, mean, scale = torch.native_layer_norm(x, [shape[1]], weight, bias, 1e-5)
    run = torch.ops.aten.native_layer_norm_backward
    return Made(lambda: run(gradient, x, [shape[1]], mean, scale, weight, bias, [True, True, True]), (gradient,))


def rms_norm(make: Maker, shape: tuple[int, ...]) -> Made:
    x, weight = make.normal(*shape), make.normal(shape[1])
    return Made(lambda: functional.rms_norm(x, [shape[1]], weight, 1e-6), (x,))


def layer_norm(make: Maker, shape: tuple[int, ...]) -> Made:
    x, weight, bias = make.normal(*shape), make.normal(shape[1]), make.normal(shape[1])
    return Made(lambda: functional.layer_norm(x, [shape[1]], weight, bias), (x,))


def group_norm(make: Maker, shape: tuple[int, ...]) -> Made:
    x, weight, bias = make.normal(*shape), make.normal(shape[1]), make.normal(shape[1])
    return Made(lambda: functional.group_norm(x, 32, weight, bias), (x,))


def batch_norm(make: Maker, shape: tuple[int, ...], training: bool = False) -> Made:
    x, weight, bias = make.normal(*shape), *(make.normal(shape[1], dtype=torch.float32) for _ in range(2))
    mean, variance = make.ones(shape[1]), make.ones(shape[1])
    return Made(lambda: functional.batch_norm(x, mean, variance, weight, bias, training), (x,))


def batch_norm_backward(make: Maker, shape: tuple[int, ...]) -> Made:
    x, gradient, weight = make.normal(*shape), make.normal(*shape), make.normal(shape[1])
    mean, scale = make.normal(shape[1]), make.ones(shape[1])
    run = torch.ops.aten.native_batch_norm_backward
    wanted = [True, True, True]
    return Made(lambda: run(gradient, x, weight, mean, scale, mean, scale, True, 1e-5, wanted), (gradient,))


def embedding(make: Maker, shape: tuple[int, ...]) -> Made:
    tokens, words, width = shape
    table, chosen = make.normal(words, width), make.below(words, tokens)
    return Made(lambda: functional.embedding(chosen, table))


def choose_rows(make: Maker, shape: tuple[int, ...]) -> Made:
    x, chosen = make.normal(*shape), make.below(shape[0], shape[0])
    return Made(lambda: torch.index_select(x, 0, chosen), (x,))


def append(make: Maker, shape: tuple[int, ...]) -> Made:
    batch, heads, length, head = shape
    kept, new = make.normal(batch, heads, length, head), make.normal(batch, heads, 1, head)
    return Made(lambda: torch.cat((kept, new), dim=2), (new,))


def convolve(make: Maker, shape: tuple[int, ...], last: bool = False) -> Made:
    x, weight, bias, stride, padding, groups = _convolution(make, shape)
    if last:
        x, weight = (one.contiguous(memory_format=torch.channels_last) for one in (x, weight))
    return Made(lambda: functional.conv2d(x, weight, bias, stride, padding, 1, groups), (x,))


def convolve_backward(make: Maker, shape: tuple[int, ...]) -> Made:
    x, weight, bias, stride, padding, groups = _convolution(make, shape)
    gradient = torch.randn_like(functional.conv2d(x, weight, bias, stride, padding, 1, groups))
    sides, run = ([stride] * 2, [padding] * 2, [1, 1]), torch.ops.aten.convolution_backward
    wanted = [True, True, False]
    return Made(lambda: run(gradient, x, weight, None, *sides, False, [0, 0], groups, wanted), (gradient,))


def _convolution(make: Maker, shape: tuple[int, ...]) -> tuple[Any, ...]:
    batch, channels, height, width, results, taps, stride, groups = shape
    x, weight = make.normal(batch, channels, height, width), make.normal(results, channels // groups, taps, taps)
    padding = 0 if taps == stride else taps // 2
    return x, weight, make.normal(results), stride, padding, groups


def over_the_link(to_gpu: bool, pinned: bool) -> Builder:
    """The host's tensor is pinned or not; without a GPU, both are where the other one is."""

    def build(make: Maker, shape: tuple[int, ...]) -> Made:
        pin, host = pinned and make.device == "cuda", "cpu" if make.device == "cuda" else make.device
        here = torch.ones(shape, dtype=make.dtype, pin_memory=pin, device=host)
        there = make.normal(*shape)
        return Made((lambda: there.copy_(here, non_blocking=pinned)) if to_gpu else lambda: here.copy_(there))

    return build


def compiled(function: Callable[..., Any], inputs: Callable[[Maker, tuple[int, ...]], tuple[torch.Tensor, ...]]) -> Any:
    """A few operations as the one kernel that Inductor makes of them."""

    def build(make: Maker, shape: tuple[int, ...]) -> Made:
        given = inputs(make, shape)
        run = torch.compile(function, dynamic=False, fullgraph=True) if make.device == "cuda" else function
        return Made(lambda: run(*given), given[:1])

    return build


def _add_rms_norm(x: torch.Tensor, residual: torch.Tensor, weight: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    total = x + residual
    wide = total.float()
    return (wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + 1e-6)).to(x.dtype) * weight, total


def _gate(x: torch.Tensor) -> torch.Tensor:
    first, second = x.chunk(2, dim=-1)
    return functional.silu(first) * second


def _rope(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    first, second = x.chunk(2, dim=-1)
    return x * cos + torch.cat((-second, first), dim=-1) * sin


def _norm_inputs(make: Maker, shape: tuple[int, ...]) -> tuple[torch.Tensor, ...]:
    return make.normal(*shape), make.normal(*shape), make.normal(shape[1])


def _rope_inputs(make: Maker, shape: tuple[int, ...]) -> tuple[torch.Tensor, ...]:
    return make.normal(*shape), make.normal(shape[0], 1, shape[2]), make.normal(shape[0], 1, shape[2])


BUILDERS: dict[str, Builder] = {
    "linear": linear,
    "linear_bias": lambda make, shape: linear(make, shape, bias=True),
    "scaled_linear": scaled,
    "scaled_linear_rows": lambda make, shape: scaled(make, shape, rows=True),
    "scores": scores,
    "weighted": weighted,
    "attend": attend,
    "attend_causal": lambda make, shape: attend(make, shape, causal=True),
    "attend_masked": lambda make, shape: attend(make, shape, masked=True),
    "add": add,
    "mul_row": with_row(lambda x, row: x * row),
    "add_bias": with_row(lambda x, row: x + row),
    "cast": each(lambda x: x.to(torch.float32)),
    "square": each(lambda x: x.pow(2)),
    "gelu": each(functional.gelu),
    "gelu_tanh": each(lambda x: functional.gelu(x, approximate="tanh")),
    "silu": each(functional.silu),
    "relu": each(functional.relu),
    "silu_half": silu_half,
    "mul_half": mul_half,
    "rotate_halves": rotate_halves,
    "mul_angles": mul_angles,
    "mask_scores": mask_scores,
    "rms_norm": rms_norm,
    "layer_norm": layer_norm,
    "layer_norm_backward": layer_norm_backward,
    "softmax": each(lambda x: torch.softmax(x, -1)),
    "group_norm": group_norm,
    "batch_norm": batch_norm,
    "batch_norm_trained": lambda make, shape: batch_norm(make, shape, training=True),
    "batch_norm_backward": batch_norm_backward,
    "mean_row": each(lambda x: x.mean(-1)),
    "largest": each(lambda x: x.amax(-1)),
    "arg_largest": each(lambda x: x.argmax(-1)),
    "sum_all": each(torch.sum),
    "sum_columns": each(lambda x: x.sum(0)),
    "norm_all": each(torch.linalg.vector_norm),
    "mean_picture": each(lambda x: x.mean((2, 3))),
    "clone": each(torch.clone),
    "heads_first": each(lambda x: x.transpose(0, 1).contiguous()),
    "turned": each(lambda x: x.t().contiguous()),
    "repeat_heads": each(lambda x: x[:, :, None].expand(-1, -1, 4, -1).clone(memory_format=torch.contiguous_format)),
    "channels_last": each(lambda x: x.contiguous(memory_format=torch.channels_last)),
    "embedding": embedding,
    "choose_rows": choose_rows,
    "append": append,
    "convolve": convolve,
    "convolve_last": lambda make, shape: convolve(make, shape, last=True),
    "convolve_backward": convolve_backward,
    "to_gpu": over_the_link(True, False),
    "to_gpu_pinned": over_the_link(True, True),
    "from_gpu": over_the_link(False, False),
    "from_gpu_pinned": over_the_link(False, True),
    "compiled_add_rms_norm": compiled(_add_rms_norm, _norm_inputs),
    "compiled_gate": compiled(_gate, lambda make, shape: (make.normal(shape[0], 2 * shape[1]),)),
    "compiled_gelu_bias": compiled(
        lambda x, bias: functional.gelu(x + bias, approximate="tanh"),
        lambda make, shape: (make.normal(*shape), make.normal(shape[1])),
    ),
    "compiled_rope": compiled(_rope, _rope_inputs),
}
