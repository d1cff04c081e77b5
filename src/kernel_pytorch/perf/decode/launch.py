"""Launching the kernels of decoding: shapes to block sizes, and whether kernels may overlap."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeVar

from kernel_pytorch.perf.decode.form import SILU

if TYPE_CHECKING:
    import torch
    from torch import Tensor

Made = TypeVar("Made")

# Bytes of weights that a thread asks for before it waits: more do not fit its registers.
MOST_HELD = 704
# From so many rows on there is work enough for wide programs.
MANY = 16384
# Longer rows than this take more threads.
LONG = 6144
KEYS, MOST_PARTS, ATTENTION_WARPS = 128, 16, 4
# Elements of the keys that one program holds, with as many of the values, and its warps.
HELD_KEYS, HOLDING_WARPS = 512 * 64, 8


@dataclass(frozen=True)
class Plan:
    """How a product is cut: rows and columns of a block, warps, and how many blocks are asked for before the wait."""

    rows: int
    block: int
    warps: int
    early: int


def plan_for(rows: list[int], columns: int, element_size: int) -> Plan:
    """By measurement on an H200 (`benchmarks/decode_plans.py`) over the shapes of decoders from 0.6B to 8B."""
    if len(rows) > 1 or max(rows) >= MANY:
        return _plan(4, 1024, 4, columns, element_size)
    if columns < 4096:  # few threads that hold much
        return _plan(4, 512, 1, columns, element_size)
    if columns == 4096:
        return _plan(2, 1024, 4, columns, element_size)
    return _plan(4, 1024, 2 if columns <= LONG else 4, columns, element_size)


def gated_plan(columns: int, element_size: int) -> Plan:
    """The same for the two matrices of a gate."""
    rows, block, warps = (2, 256, 1) if columns <= 1024 else (1, 1024, 4)
    return _plan(rows, block, warps, columns, 2 * element_size)


def _plan(rows: int, block: int, warps: int, columns: int, element_size: int) -> Plan:
    import triton

    while columns % block and block > 256:  # a last block that is full needs no masks
        block //= 2
    block = min(block, int(triton.next_power_of_2(columns)))
    held = rows * block * element_size // (32 * warps)
    return Plan(rows, block, warps, max(1, min(MOST_HELD // held, triton.cdiv(columns, block))))


@lru_cache(maxsize=8)
def can_overlap(device: torch.device) -> bool:
    """Programmatic dependent launch: NVIDIA from Hopper on."""
    import torch

    return torch.version.hip is None and torch.cuda.get_device_capability(device) >= (9, 0)


def _extra(overlaps: bool) -> dict[str, int]:
    # Triton for AMD does not know the option.
    return {"launch_pdl": True} if overlaps else {}


def row_products(
    x: Tensor,
    weights: list[Tensor],
    norm: Tensor | None,
    epsilon: float,
    biases: list[Tensor],
    residual: Tensor | None,
    overlaps: bool,
    plus: float = 0.0,
) -> Tensor:
    """See `ops`: the Triton form."""
    import triton

    from kernel_pytorch.perf.decode.row_kernels import row_times_matrices

    rows = [one.shape[0] for one in weights]
    columns = x.shape[-1]
    out = x.new_empty((1, sum(rows)))
    overlaps = overlaps and can_overlap(x.device)
    plan = plan_for(rows, columns, x.element_size())
    counts = [*rows, *[0] * (3 - len(rows))]
    row_times_matrices[(sum(triton.cdiv(count, plan.rows) for count in rows),)](
        x,
        x if norm is None else norm,
        weights[0],
        biases[0] if biases else x,
        x if residual is None else residual,
        out,
        *_distances(weights),
        *_distances(biases),
        *counts,
        columns,
        epsilon,
        HAS_NORM=norm is not None,
        NORM_PLUS=plus,
        HAS_BIAS=bool(biases),
        HAS_RESIDUAL=residual is not None,
        MATRICES=len(weights),
        OVERLAPS=overlaps,
        BLOCK_ROWS=plan.rows,
        BLOCK=plan.block,
        BLOCKS=triton.cdiv(columns, plan.block),
        EARLY=plan.early,
        EVEN=columns % plan.block == 0 and all(count % plan.rows == 0 for count in rows),
        num_warps=plan.warps,
        **_extra(overlaps),
    )
    return out


def _distances(tensors: list[Tensor]) -> list[int]:
    """Of the second and the third from the first, in elements; 0 where there is none."""
    found = [(one.data_ptr() - tensors[0].data_ptr()) // one.element_size() for one in tensors[1:]]
    return [*found, *[0] * (2 - len(found))]


def row_gated(
    x: Tensor,
    gate: Tensor,
    up: Tensor,
    norm: Tensor | None,
    epsilon: float,
    overlaps: bool,
    plus: float = 0.0,
    active: str = SILU,
) -> Tensor:
    """See `ops`: the Triton form."""
    import triton

    from kernel_pytorch.perf.decode.row_kernels import row_times_gated

    rows, columns = gate.shape
    out = x.new_empty((1, rows))
    overlaps = overlaps and can_overlap(x.device)
    plan = gated_plan(columns, x.element_size())
    row_times_gated[(triton.cdiv(rows, plan.rows),)](
        x,
        x if norm is None else norm,
        gate,
        up,
        out,
        rows,
        columns,
        epsilon,
        HAS_NORM=norm is not None,
        NORM_PLUS=plus,
        GATE=active,
        OVERLAPS=overlaps,
        BLOCK_ROWS=plan.rows,
        BLOCK=plan.block,
        BLOCKS=triton.cdiv(columns, plan.block),
        EARLY=plan.early,
        EVEN=columns % plan.block == 0 and rows % plan.rows == 0,
        num_warps=plan.warps,
        **_extra(overlaps),
    )
    return out


def attend(
    q: Tensor,
    keys: Tensor,
    values: Tensor,
    bias: Tensor | None,
    cos: Tensor | None,
    sin: Tensor | None,
    scale: float,
    norm: Tensor | None,
    epsilon: float,
    cap: float,
    overlaps: bool,
    plus: float = 0.0,
    neighbours: bool = False,
) -> Tensor:
    """See `ops`: the Triton form."""
    return attend_and_store(
        q, None, None, keys, values, None, bias, cos, sin, scale, norm, norm, epsilon, cap, overlaps, plus, neighbours
    )


def attend_and_store(
    q: Tensor,
    k: Tensor | None,
    v: Tensor | None,
    keys: Tensor,
    values: Tensor,
    position: Tensor | None,
    bias: Tensor | None,
    cos: Tensor | None,
    sin: Tensor | None,
    scale: float,
    q_norm: Tensor | None,
    k_norm: Tensor | None,
    epsilon: float,
    cap: float,
    overlaps: bool,
    plus: float = 0.0,
    neighbours: bool = False,
) -> Tensor:
    """See `ops`: the Triton form. Without `k`, `v` and a `position` nothing is stored."""
    import torch
    import triton

    from kernel_pytorch.perf.decode.attention_kernel import one_head_attention, one_query_attention

    batch, heads, _, size = q.shape
    shared, length = keys.shape[1], keys.shape[2]
    group = heads // shared
    out = q.new_empty((batch, heads, 1, size))
    overlaps = overlaps and can_overlap(q.device)
    writes = k is not None
    shift = None if bias is None else bias.expand(batch, heads, 1, length)
    pointers = (
        q,
        k if writes else q,
        v if writes else q,
        q if cos is None else cos,
        q if sin is None else sin,
        q if q_norm is None else q_norm,
        q if k_norm is None else k_norm,
        keys,
        values,
        position if writes else q,
        q if shift is None else shift,
        out,
    )
    sizes = (
        q.stride(0),
        q.stride(1),
        0 if k is None else k.stride(0),
        0 if k is None else k.stride(1),
        0 if v is None else v.stride(0),
        0 if v is None else v.stride(1),
        keys.stride(0),
        keys.stride(1),
        0 if shift is None else shift.stride(0),
        0 if shift is None else shift.stride(1),
        0 if shift is None else shift.stride(3),
        length,
        scale,
        epsilon,
    )
    options: dict[str, Any] = {
        "ROTATES": cos is not None,
        "NORMS": q_norm is not None,
        "NORM_PLUS": plus,
        "NEIGHBOURS": neighbours,
        "WRITES": writes,
        "HAS_BIAS": shift is not None,
        "OVERLAPS": overlaps,
    }
    width = int(triton.next_power_of_2(size))
    options |= {"GROUP": group, "SIZE": size, "WIDTH": width, "CAP": cap, **_extra(overlaps)}
    options["TURNED"] = size if cos is None else cos.numel()
    whole = max(16, triton.next_power_of_2(length))
    if whole * width <= HELD_KEYS and batch * heads <= _compute_units(q.device):
        grid = (heads, batch)
        one_head_attention[grid](*pointers, *sizes, BLOCK=whole, num_warps=_waves(HOLDING_WARPS, q.device), **options)
        return out
    block = min(KEYS, whole)
    group_block = max(16, triton.next_power_of_2(group))
    parts = min(MOST_PARTS, triton.next_power_of_2(triton.cdiv(length, block)))
    pieces = batch * shared * parts
    totals = torch.empty(pieces * group_block * width if parts > 1 else 1, dtype=torch.float32, device=q.device)
    tops = torch.empty(pieces * 2 * group_block if parts > 1 else 1, dtype=torch.float32, device=q.device)
    one_query_attention[(shared, parts, batch)](
        *pointers,
        totals,
        tops,
        _arrived(keys, parts),
        *sizes,
        # While kernels overlap, the first block of a part is read before the mask is there.
        SKIPS=writes and shift is not None and (not overlaps or length > block * parts),
        SHARED=shared,
        GROUP_BLOCK=group_block,
        BLOCK=block,
        PARTS=parts,
        num_warps=_waves(ATTENTION_WARPS, q.device),
        **options,
    )
    return out


def _waves(usual: int, device: torch.device) -> int:
    """Twice as many on RDNA, whose waves have 32 lanes and 256 registers: what a program holds would be spilled."""
    import torch

    if torch.version.hip is None:
        return usual
    lanes = int(torch.cuda.get_device_properties(device.index or 0).warp_size)
    return 2 * usual if lanes == 32 else usual


@lru_cache(maxsize=8)
def _compute_units(device: torch.device) -> int:
    import torch

    return int(torch.cuda.get_device_properties(device).multi_processor_count) if device.type == "cuda" else 64


def outside_pools(device: torch.device, make: Callable[[], Made]) -> Made:
    """What `make` gives, made by another thread: Inductor's graphs send this thread's allocations to a pool of theirs
    while they warm up, and nothing that is to last may be in it."""
    import torch

    if device.type != "cuda":
        return make()

    def there() -> Made:
        with torch.cuda.device(device):
            made = make()
            torch.cuda.current_stream().synchronize()  # whoever uses it may be on another stream
            return made

    with ThreadPoolExecutor(1) as other:
        return other.submit(there).result()


_counters: dict[tuple[object, ...], Tensor] = {}


def _arrived(keys: Tensor, parts: int) -> Tensor:
    """Counters of the parts that are done, one per head of a cache. Calls that share a cache may not overlap anyway.

    They are never set back: a kernel that finds a multiple of `parts` knows that it is the last."""
    import torch

    key = (keys.device, keys.data_ptr(), keys.shape[0] * keys.shape[1], parts)
    if key not in _counters:
        _counters[key] = outside_pools(keys.device, lambda: torch.zeros(key[2], dtype=torch.int32, device=keys.device))
    return _counters[key]
