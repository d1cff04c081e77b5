"""Launching the decoder kernel: where every tensor is, what the programs keep between calls, and whether it can run."""

from __future__ import annotations

import inspect
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

from kernel_pytorch.perf.decode import launch
from kernel_pytorch.perf.decode.decoder_steps import Steps, in_steps
from kernel_pytorch.perf.decode.form import NO_EXTRAS, Extras
from kernel_pytorch.perf.decode.hopper.decoder_shape import (
    BOX_ROWS,
    LINE,
    STAGES,
    TABLE_COLUMNS,
    WARPS,
    DecoderShape,
    why_not,
)

if TYPE_CHECKING:
    import torch
    from torch import Tensor

LINE_BYTES = 128
WEIGHTS = 7  # a layer's matrices: q, k, v, o, gate, up, down
MOST_LINES = 2**31 - 1  # as far as a coordinate of a TMA copy goes
# Rows of more lines take the place of a stage.
SHORT_ROWS = 128


@lru_cache(maxsize=8)
def why_not_here(device: torch.device) -> str | None:
    """What this GPU or this Triton lacks for the kernel; None where it can run."""
    import torch

    if torch.version.hip is not None:
        return "the kernel is written for NVIDIA's asynchronous copies"
    if torch.cuda.get_device_capability(device) != (9, 0):
        return "the kernel is written for compute capability 9.0, and was run on an H200 only"
    try:
        from triton.experimental.gluon import language
    except ImportError:
        return "this Triton has no Gluon"
    if "functions_and_args" not in inspect.signature(language.warp_specialize).parameters:
        return "this Triton's Gluon is older than the kernel: it was written for Triton 3.6 and later"
    return None


def shape_of(
    weights: list[Tensor],
    caches: list[Tensor],
    head: Tensor,
    has_bias: bool,
    programs: int,
    head_norms: list[Tensor] | None = None,
) -> DecoderShape | None:
    """The decoder that these tensors, real or fake, are; None where they do not fit together."""
    layers = len(caches) // 2
    if not layers or len(weights) != WEIGHTS * layers or caches[0].dim() != 4:
        return None
    hidden, wide = weights[WEIGHTS - 1].shape
    shared, length, size = caches[0].shape[1:]
    heads = weights[0].shape[0] // size
    expected = [
        (heads * size, hidden), (shared * size, hidden), (shared * size, hidden),
        (hidden, heads * size), (wide, hidden), (wide, hidden), (hidden, wide),
    ]  # fmt: skip
    for layer in range(layers):
        if [tuple(one.shape) for one in weights[WEIGHTS * layer : WEIGHTS * (layer + 1)]] != expected:
            return None
    if head.shape[1] != hidden or any(one.shape != caches[0].shape for one in caches):
        return None
    if head_norms and [tuple(one.shape) for one in head_norms] != [(size,)] * (2 * layers):
        return None
    stages = STAGES if wide <= SHORT_ROWS * LINE else STAGES - 1
    shape = DecoderShape(
        layers,
        hidden,
        wide=wide,
        words=head.shape[0],
        heads=heads,
        shared=shared,
        length=length,
        has_bias=has_bias,
        programs=programs,
        stages=stages,
        size=size,
        has_head_norms=bool(head_norms),
    )
    return None if why_not(shape) else shape


@dataclass(frozen=True)
class Kept:
    """What one decoder's calls have in common. Recorded graphs know these addresses: nothing here is ever given up.

    `base` is the tensor at the lowest address; it stays with the rest, also when its model is gone."""

    shape: DecoderShape
    views: tuple[Tensor, ...]
    base: Tensor
    table: Tensor
    calls: Tensor
    words: Tensor
    counters: Tensor
    residual: Tensor


_kept: dict[tuple[object, ...], Kept | None] = {}


def decoder(
    x: Tensor,
    weights: list[Tensor],
    norms: list[Tensor],
    caches: list[Tensor],
    head: Tensor,
    position: Tensor,
    bias: Tensor | None,
    cos: Tensor,
    sin: Tensor,
    scale: float,
    epsilon: float,
    extras: Extras = NO_EXTRAS,
) -> Tensor:
    """See `ops`: the Gluon form; five kernels a layer where the one cannot take these tensors."""
    import torch

    assert takes_form(extras), "only decoders of this form are given to Hopper's kernel"
    all_norms = [*norms, *extras.head_norms]
    key = key_of(x.device, weights, all_norms, caches, head, bias is not None)
    if key not in _kept:
        _kept[key] = launch.outside_pools(
            x.device, lambda: _prepared(x.device, weights, norms, caches, head, bias is not None, extras.head_norms)
        )
    kept = _kept[key]
    if kept is None:
        steps = Steps(launch.row_products, launch.row_gated, launch.attend_and_store)
        return in_steps(
            steps,
            x,
            weights=weights,
            norms=norms,
            caches=caches,
            head=head,
            position=position,
            bias=bias,
            cos=cos,
            sin=sin,
            scale=scale,
            epsilon=epsilon,
            overlaps=True,
            extras=extras,
        )
    from kernel_pytorch.perf.decode.hopper.decoder_kernel import decoder as kernel

    shape = kept.shape
    out = x.new_empty((1, shape.words))
    shift = None if bias is None else bias.expand(1, shape.heads, 1, shape.length)
    kernel[(shape.programs,)](
        *kept.views,
        kept.base,
        x.view(-1).view(torch.int32),
        out.view(torch.int32),
        kept.table,
        kept.calls,
        kept.words,
        kept.counters,
        kept.residual,
        position,
        cos.reshape(-1).view(torch.int32),
        sin.reshape(-1).view(torch.int32),
        x if shift is None else shift,
        0 if shift is None else shift.stride(1),
        0 if shift is None else shift.stride(3),
        caches[0].stride(1) // 2,
        scale,
        epsilon,
        S=shape,
        num_warps=WARPS,
        launch_cooperative_grid=True,
    )
    return out


def takes_form(extras: Extras) -> bool:
    """Whether a decoder has nothing that the kernel lacks: of all that some have, it knows the norms of heads."""
    return replace(extras, head_norms=[]).is_plain


def key_of(
    device: torch.device, weights: list[Tensor], norms: list[Tensor], caches: list[Tensor], head: Tensor, has_bias: bool
) -> tuple[object, ...]:
    """What `Kept` depends on. Addresses alone do not do: a cache may grow in its place."""
    shapes = tuple(tuple(one.shape) for one in (weights[0], weights[WEIGHTS - 1], caches[0], head))
    everything = [*weights, *norms, *caches, head]
    return (device, has_bias, shapes, *(int(one.data_ptr()) for one in everything))


def _prepared(
    device: torch.device,
    weights: list[Tensor],
    norms: list[Tensor],
    caches: list[Tensor],
    head: Tensor,
    has_bias: bool,
    head_norms: list[Tensor],
) -> Kept | None:
    import torch

    programs = int(torch.cuda.get_device_properties(device).multi_processor_count)
    shape = shape_of(weights, caches, head, has_bias, programs, head_norms)
    everything = [*weights, *norms, *caches, head, *head_norms]
    if why_not_here(device) or shape is None or any(one.data_ptr() % LINE_BYTES for one in everything):
        return None
    from kernel_pytorch.perf.decode.hopper.decoder_kernel import COUNTERS

    base = min(everything, key=lambda one: int(one.data_ptr()))
    low = base.data_ptr()
    lines = (max(one.data_ptr() + one.nbytes for one in everything) - low) // LINE_BYTES
    if lines > MOST_LINES:
        return None

    def line(one: Tensor) -> int:
        return int(one.data_ptr() - low) // LINE_BYTES

    rows = []
    for layer in range(shape.layers):
        own = weights[WEIGHTS * layer : WEIGHTS * (layer + 1)]
        pairs = (some[2 * layer : 2 * layer + 2] for some in (norms, caches, head_norms))
        rows.append([line(one) for some in (own, *pairs) for one in some])
    # After the last layer: the words' matrix and the final norm. The rest is fetched and not used.
    rows.append([line(head)] * WEIGHTS + [line(norms[-1])] * 2 + [line(one) for one in caches[:2]])

    def numbers(count: int, dtype: torch.dtype) -> Tensor:
        return torch.zeros(count, dtype=dtype, device=device)

    return Kept(
        shape,
        tuple(_view(base, lines, columns) for columns in (shape.hidden, shape.heads * shape.size, shape.wide)),
        base=base.as_strided((base.numel(),), (1,)).view(torch.int32),
        table=torch.tensor(
            [[*row, *[0] * (TABLE_COLUMNS - len(row))] for row in rows], dtype=torch.int32, device=device
        ),
        calls=numbers(1, torch.int64),
        words=numbers(shape.exchanged, torch.int64),
        counters=numbers(COUNTERS, torch.int32),
        residual=numbers(shape.hidden, torch.float32),
    )


def _view(base: Tensor, lines: int, columns: int) -> Tensor:
    """All memory from `base` on by lines of 64 values, and rows as far apart as those of a matrix with `columns`."""
    from triton.experimental.gluon import language as gl
    from triton.experimental.gluon.nvidia.hopper import TensorDescriptor

    layout = gl.NVMMASharedLayout(128, 16, 3)
    return TensorDescriptor(base, [BOX_ROWS, lines, LINE], [columns, LINE, 1], [BOX_ROWS, 8, LINE], layout)
