"""The time of one call from its form, a GPU's peak rates and fitted coefficients. Microseconds.

Every formula is a start (what a kernel with next to no work takes, as profilers report it) plus the slowest of what
has to happen: bytes across the memory interface, FLOPs on the units, and the one row or block that nobody can share.
Coefficients that are shares are of the hardware table's peak rates, so that a formula fitted on one GPU can be
carried to another.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from kernel_pytorch.perf.roofline.forms import Attended, Convolved, HostCopy, Product, Rows, Streamed
from kernel_pytorch.perf.roofline.work import Work

Coefficients = Mapping[str, float]

# Tiles that libraries have kernels for, and into how many parts they split the sum over K.
TILES = ((16, 16), (16, 64), (32, 64), (64, 64), (64, 128), (128, 128), (128, 256), (256, 256))
SPLITS = (1, 2, 4, 8, 16)
LARGEST_TILE = 256 * 256
FEW_QUERIES = 16


@dataclass(frozen=True)
class Rates:
    """What a formula needs of a GPU. Bytes and FLOPs per microsecond."""

    bytes: float
    flops: float
    units: int  # compute units


def kind_of(work: Work) -> str | None:
    """The row of the table of coefficients that this work falls under."""
    form = work.form
    if isinstance(form, Product):
        return "gemm"
    if isinstance(form, Attended):
        return "attention"
    if isinstance(form, Convolved):
        return "convolution backward" if form.backward else "convolution"
    if isinstance(form, Streamed):
        return form.what if form.access == "same" else f"{form.access} access"
    if isinstance(form, HostCopy):
        return "host copy"
    return form.what if isinstance(form, Rows) else None


def microseconds(work: Work, rates: Rates, use: Coefficients, after_idle: float = 0.0) -> float:
    """The expected time of one call. `after_idle` is the share of calls before which the GPU had nothing to do.

    AMD's profilers report some 2.5 us more for a kernel that was queued behind another one than for one that was not.
    """
    start = use["start"] * (1 - after_idle + after_idle * use.get("idle", 1.0))
    form = work.form
    if isinstance(form, Product):
        return start + _product(form, work.bytes, work.flops, rates, use)
    if isinstance(form, Attended):
        return start + _attention(form, work, rates, use)
    if isinstance(form, Convolved):
        return start + _convolution(form, work, rates, use)
    if isinstance(form, HostCopy):
        return start + work.bytes / 2 / use["link"]
    if isinstance(form, Rows):
        return start + max(_memory(work.bytes, rates, use), _longest_row(form, rates, use))
    return start + _memory(work.bytes, rates, use)


def _memory(moved: float, rates: Rates, use: Coefficients) -> float:
    return moved / (rates.bytes * use["memory"])


def _longest_row(form: Rows, rates: Rates, use: Coefficients) -> float:
    """One workgroup takes a row, four are at work on a compute unit, and each has its latency."""
    rounds = max(1.0, form.rows / (4 * rates.units))
    return rounds * (use["row"] + form.length * use["element"])


def _product(form: Product, moved: float, flops: float, rates: Rates, use: Coefficients) -> float:
    """The best of the tiles and splits: whole rounds of tiles over the compute units, or the bytes."""
    if not form.m * form.n * form.k * form.batch:
        return 0.0
    best = math.inf
    for rows, columns in TILES:
        if (rows >= 2 * form.m and rows > 16) or (columns >= 2 * form.n and columns > 64):
            continue
        tiles = form.batch * math.ceil(form.m / rows) * math.ceil(form.n / columns)
        share = use["matrix"] * (rows * columns / LARGEST_TILE) ** use["tile"]
        whole = 2 * rows * columns * form.k * rates.units / (rates.flops * share)
        # Workgroups that are at work pull bytes; few of them do not fill the memory interface.
        for split in SPLITS:
            if split > 1 and (form.k < 256 * split or tiles * split > 4 * rates.units):
                break
            groups = tiles * split
            filled = min(1.0, (groups / rates.units) ** use["fill"])
            traffic = moved + (8.0 * form.batch * form.m * form.n * split if split > 1 else 0.0)
            rounds = math.ceil(groups / rates.units)
            compute = rounds * whole / split + (rounds - 1) * use["round"]
            best = min(best, max(compute, traffic / (rates.bytes * use["memory"] * filled)))
    return best


def _attention(form: Attended, work: Work, rates: Rates, use: Coefficients) -> float:
    """FLOPs over all units; or the one workgroup that goes along all keys, step by step."""
    # For a few queries libraries split the keys between workgroups.
    steps = form.keys if form.queries > FEW_QUERIES else min(form.keys, 512)
    along = use["key"] * steps
    compute = work.flops / (rates.flops * use["matrix"])
    return max(compute, along) + work.bytes / (rates.bytes * use["memory"])


def _convolution(form: Convolved, work: Work, rates: Rates, use: Coefficients) -> float:
    """Libraries change the layout, do a product and change it back, but for filters of one tap."""
    passes = max(1, form.backward)
    if form.taps == 1 and not form.backward:
        return _product(form.product, work.bytes, work.flops, rates, use)
    extra = use["layout"] * work.bytes / (rates.bytes * use["memory"])
    product = _product(form.product, work.bytes / passes, work.flops / passes, rates, use)
    return passes * (use["kernels"] + product) + extra
