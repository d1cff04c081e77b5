"""Launching the HIP decoder kernel: where every tensor is, what the programs keep between calls, whether it can run."""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

from kernel_pytorch.core.errors import HIPCompilationError
from kernel_pytorch.core.hardware import Target, UnknownTargetError, base_target, target
from kernel_pytorch.perf.decode import launch
from kernel_pytorch.perf.decode.cdna.decoder_shape import (
    HELD,
    TABLE_COLUMNS,
    THREADS,
    DecoderShape,
    why_not,
)
from kernel_pytorch.perf.decode.cdna.decoder_source import NAME, decoder_source
from kernel_pytorch.perf.decode.decoder_steps import Steps, in_steps
from kernel_pytorch.perf.decode.form import GATES, NO_EXTRAS, Extras

if TYPE_CHECKING:
    import torch
    from torch import Tensor

    from kernel_pytorch.backends.amd.compiled_kernel import CompiledKernel
    from kernel_pytorch.backends.amd.rocm_compiler import ROCmCompiler

ALIGNED_BYTES = 16
WEIGHTS = 7  # a layer's matrices: q, k, v, o, gate, up, down
# Loads under way, most first: what a decoder's sizes and a compiler leave room for.
HELD_CHOICES = (HELD, 14, 12, 10, 8, 6, 4)


class CannotBuild(Exception):
    """The kernel cannot be had for a decoder here; the message says why."""


@lru_cache(maxsize=8)
def why_not_here(device: torch.device) -> str | None:
    """What this GPU lacks for the kernel; None where it can run."""
    import torch

    if torch.version.hip is None:
        return "the kernel is written for AMD's CDNA"
    try:
        return why_not_on(target_of(device))
    except UnknownTargetError as error:
        return str(error)


def target_of(device: torch.device) -> Target:
    """The row of the hardware table. Raises UnknownTargetError."""
    import torch

    return target(base_target(str(torch.cuda.get_device_properties(device).gcnArchName)))


def why_not_on(row: Target) -> str | None:
    """The same for a target of the hardware table."""
    if row.vendor != "amd" or row.wave_size != 64 or row.agprs != "unified":
        return f"the kernel is written for CDNA's waves of 64 and their 512 registers; this is {row.name}"
    return None


def element_types() -> tuple[torch.dtype, ...]:
    """Types of weights and caches that the kernel takes."""
    import torch

    return (torch.bfloat16, torch.float16)


def shape_of(
    weights: list[Tensor],
    caches: list[Tensor],
    head: Tensor,
    bias: Tensor | None,
    cos: Tensor,
    extras: Extras,
    programs: int,
    lds_bytes: int,
) -> DecoderShape | str:
    """The decoder that these tensors, real or fake, are; a reason where the kernel does not take it."""
    import torch

    layers = len(caches) // 2
    if not layers or len(weights) != WEIGHTS * layers or caches[0].dim() != 4 or caches[0].shape[0] != 1:
        return "these are not the tensors of a decoder for one sequence"
    hidden, wide = weights[WEIGHTS - 1].shape
    shared, length, size = caches[0].shape[1:]
    heads = weights[0].shape[0] // size
    expected = [
        (heads * size, hidden), (shared * size, hidden), (shared * size, hidden), (hidden, heads * size),
        (wide, hidden), (wide, hidden), (hidden, wide),
    ]  # fmt: skip
    for layer in range(layers):
        if [tuple(one.shape) for one in weights[WEIGHTS * layer : WEIGHTS * (layer + 1)]] != expected:
            return "the layers' matrices do not fit together"
    if head.shape[1] != hidden or any(one.shape != caches[0].shape for one in caches):
        return "the caches or the words' matrix do not fit the layers"
    kind = weights[0].dtype
    if kind not in element_types() or any(one.dtype != kind for one in (*weights, *caches, head)):
        return f"the kernel multiplies bfloat16 or float16, one of them throughout; there is {kind}"
    if bias is not None and bias.dtype not in (kind, torch.float32):
        return f"the mask is {bias.dtype}: the kernel adds {kind} or float32"
    reason = _why_not_extras(extras, bias, cos, (layers, heads, shared, size, hidden), kind)
    if reason is not None:
        return reason
    shape = DecoderShape(
        layers,
        hidden,
        wide=wide,
        words=head.shape[0],
        heads=heads,
        shared=shared,
        size=size,
        length=length,
        programs=programs,
        has_bias=bias is not None,
        bias_is_float=bias is not None and bias.dtype == torch.float32,
        is_half=kind == torch.float16,
        turned=cos.numel(),
        has_qkv_biases=bool(extras.biases),
        has_head_norms=bool(extras.head_norms),
        has_after_norms=bool(extras.after_norms),
        kinds=2 if extras.local else 1,
        form=extras.form,
    )
    return why_not(shape, lds_bytes) or shape


def _why_not_extras(
    extras: Extras, bias: Tensor | None, cos: Tensor, sizes: tuple[int, ...], kind: torch.dtype
) -> str | None:
    layers, heads, shared, size, hidden = sizes
    wanted = (
        (extras.biases, [heads * size, shared * size, shared * size]),
        (extras.head_norms, [size, size]),
        (extras.after_norms, [hidden, hidden]),
    )
    for found, lengths in wanted:
        if found and [tuple(one.shape) for one in found] != [(length,) for length in lengths] * layers:
            return "biases or norms do not fit the layers"
    if any(one.dtype != kind for one in (*extras.tensors, *extras.other[:2])):
        return f"biases, norms and angles have to be {kind}, as the weights are"
    if extras.form.gate not in GATES:
        return f"the kernel does not know {extras.form.gate}"
    if not extras.local:
        return None
    masks = extras.other[2:]
    if len(extras.other) < 2 or bool(masks) != (bias is not None) or extras.other[0].numel() != cos.numel():
        return "the layers' angles or masks do not fit together"
    if bias is not None and masks[0].dtype != bias.dtype:
        return f"one mask is {bias.dtype}, the other {masks[0].dtype}"
    return None


def built(shape: DecoderShape, name: str, compiler: ROCmCompiler | None = None, keep_assembly: bool = False) -> Built:
    """The kernel for a shape and a target, with as many loads under way as registers allow: nothing goes to memory.

    A few scalar registers may be kept in lanes of a vector register, where fewer loads would not change that.
    Raises CannotBuild where there is no compiler, or where the grid does not fit the GPU at once."""
    from kernel_pytorch.backends.amd.rocm_compiler import ROCmCompiler

    compiler = compiler or ROCmCompiler()
    for held in HELD_CHOICES:
        tried = replace(shape, held=held)
        try:
            kernel = compiler.compile_kernel(
                decoder_source(tried), NAME, "O3", target=name, keep_assembly=keep_assembly
            )
        except HIPCompilationError as error:
            raise CannotBuild(f"the kernel was not compiled: {error}") from error
        (resources,) = kernel.resources
        if not resources.vgpr_spills and not resources.scratch_bytes:
            return Built(tried, kernel)
    raise CannotBuild(f"registers are spilled even with {HELD_CHOICES[-1]} loads under way")


@dataclass(frozen=True)
class Built:
    """A kernel and the shape it is for."""

    shape: DecoderShape
    kernel: CompiledKernel

    def resident(self, compute_units: int) -> int:
        """Programs that a GPU of this target with so many compute units runs at the same time."""
        from kernel_pytorch.toolchain.occupancy import occupancy

        (resources,) = self.kernel.resources
        found = occupancy(resources, target(self.kernel.architecture), THREADS)
        return int(found.workgroups_per_cu * compute_units)


@dataclass(frozen=True)
class Kept:
    """What one decoder's calls have in common. Recorded graphs know these addresses: nothing here is ever given up.

    `base` is the tensor at the lowest address; it stays with the rest, also when its model is gone."""

    built: Built
    base: Tensor
    table: Tensor
    words: Tensor


_kept: dict[tuple[object, ...], Kept | str] = {}


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
    """See `ops`: the HIP form; five kernels a layer where the one cannot take these tensors."""
    kept = kept_for(x, weights, norms, caches, head, bias, cos, extras)
    if isinstance(kept, str):
        steps = Steps(launch.row_products, launch.row_gated, launch.attend_and_store)
        rest = (position, bias, cos, sin, scale, epsilon)
        return in_steps(steps, x, weights, norms, caches, head, *rest, extras=extras)
    out = x.new_empty((1, kept.built.shape.words))
    given = arguments(kept, x, out, caches[0], position, bias, cos, sin, scale, epsilon, extras)
    kept.built.kernel.launch(kept.built.shape.programs, THREADS, given, cooperative=True)
    return out


def arguments(
    kept: Kept,
    x: Tensor,
    out: Tensor,
    cache: Tensor,
    position: Tensor,
    bias: Tensor | None,
    cos: Tensor,
    sin: Tensor,
    scale: float,
    epsilon: float,
    extras: Extras = NO_EXTRAS,
) -> list[Tensor | int | float]:
    """What the kernel is called with, in its order."""
    shape = kept.built.shape
    usual = _seeing(shape, bias, cos, sin, x)
    own = extras.other
    other = _seeing(shape, own[2] if len(own) > 2 else None, own[0], own[1], x) if extras.local else usual
    return [
        kept.base,
        x.reshape(-1),
        out,
        kept.table,
        kept.words,
        position,
        *usual,
        *other,
        cache.stride(1),
        scale,
        epsilon,
    ]


def _seeing(
    shape: DecoderShape, bias: Tensor | None, cos: Tensor, sin: Tensor, instead: Tensor
) -> tuple[Tensor | int, ...]:
    """Cosine, sine and mask, with the distance from head to head and from key to key."""
    if bias is None:
        return cos.reshape(-1), sin.reshape(-1), instead, 0, 0
    shift = bias.expand(1, shape.heads, 1, shape.length)
    return cos.reshape(-1), sin.reshape(-1), shift, shift.stride(1), shift.stride(3)


def kept_for(
    x: Tensor,
    weights: list[Tensor],
    norms: list[Tensor],
    caches: list[Tensor],
    head: Tensor,
    bias: Tensor | None,
    cos: Tensor,
    extras: Extras = NO_EXTRAS,
) -> Kept | str:
    """What is kept for a decoder, made at its first call; a reason where the kernel cannot take it."""
    shapes = tuple(tuple(one.shape) for one in (weights[0], weights[WEIGHTS - 1], caches[0], head))
    addresses = tuple(int(one.data_ptr()) for one in (*weights, *norms, *caches, head, *extras.tensors))
    looks = (extras.form, tuple(extras.local), cos.numel(), None if bias is None else bias.dtype)
    key = (x.device, x.dtype, looks, shapes, *addresses)
    if key not in _kept:
        made = launch.outside_pools(x.device, lambda: _prepared(x, weights, norms, caches, head, bias, cos, extras))
        if isinstance(made, str):
            logging.getLogger(__name__).warning("five kernels a layer instead of one for all: %s", made)
        _kept[key] = made
    return _kept[key]


def _prepared(
    x: Tensor,
    weights: list[Tensor],
    norms: list[Tensor],
    caches: list[Tensor],
    head: Tensor,
    bias: Tensor | None,
    cos: Tensor,
    extras: Extras,
) -> Kept | str:
    import torch

    reason = why_not_here(x.device)
    if reason is not None:
        return reason
    units = int(torch.cuda.get_device_properties(x.device).multi_processor_count)
    row = target_of(x.device)
    shape = shape_of(weights, caches, head, bias, cos, extras, units, row.max_lds_bytes_per_workgroup)
    if isinstance(shape, str):
        return shape
    everything = (*weights, *norms, *caches, head, *extras.tensors)
    if any(one.data_ptr() % ALIGNED_BYTES or not one.is_contiguous() for one in everything):
        return f"a tensor is not contiguous, or not at a multiple of {ALIGNED_BYTES} bytes"
    try:
        made = built(shape, row.name)
    except CannotBuild as error:
        return str(error)
    if made.resident(units) < shape.programs:
        return f"{shape.programs} programs are more than the {made.resident(units)} that run at the same time"
    return keep(made, weights, norms, caches, head, extras)


def keep(
    made: Built,
    weights: list[Tensor],
    norms: list[Tensor],
    caches: list[Tensor],
    head: Tensor,
    extras: Extras = NO_EXTRAS,
) -> Kept:
    """Where everything is, and zeros for what programs tell each other."""
    import torch

    shape = made.shape
    everything = (*weights, *norms, *caches, head, *extras.tensors)
    base = min(everything, key=lambda one: int(one.data_ptr()))
    low = base.data_ptr()

    def place(one: Tensor) -> int:
        return int(one.data_ptr() - low)

    rows = []
    for layer in range(shape.layers):
        own = weights[WEIGHTS * layer : WEIGHTS * (layer + 1)]
        places = [place(one) for one in (*own, *norms[2 * layer : 2 * layer + 2], *caches[2 * layer : 2 * layer + 2])]
        for some, count in ((extras.biases, 3), (extras.head_norms, 2), (extras.after_norms, 2)):
            mine = some[count * layer : count * (layer + 1)]
            places += [place(one) for one in mine] or [0] * count
        rows.append([*places, int(layer in extras.local)])
    # After the last layer: the words' matrix and the final norm.
    rows.append([place(head)] * WEIGHTS + [place(norms[-1])] * 2)
    filled = [[*row, *[0] * (TABLE_COLUMNS - len(row))] for row in rows]
    return Kept(
        made,
        base,
        table=torch.tensor(filled, dtype=torch.int64, device=head.device),
        words=torch.zeros(shape.buffer_words, dtype=torch.int64, device=head.device),
    )
