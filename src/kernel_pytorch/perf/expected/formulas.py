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

from kernel_pytorch.perf.roofline.forms import (
    Attended,
    Collective,
    Convolved,
    HostCopy,
    Product,
    Routed,
    Rows,
    Streamed,
    Tile,
)
from kernel_pytorch.perf.roofline.work import Work

Coefficients = Mapping[str, float]

# Tiles that libraries have kernels for, and into how many parts they split the sum over K.
TILES = ((16, 16), (16, 64), (32, 64), (64, 64), (64, 128), (128, 128), (128, 256), (256, 256))
SPLITS = (1, 2, 4, 8, 16)
LARGEST_TILE = 256 * 256
FEW_QUERIES = 16
PART_OF_KEYS = 256
# Of torch's sums: 512 threads with 16 elements each are a workgroup's share of a row, which is shared among workgroups
# if each thread had 256 elements or more.
LEAST_SHARE, LEAST_SHARED = 512 * 16, 512 * 256
ELEMENTS_AT_ONCE = 4
MANY, SMALLEST_TILE = 2048, 16
LANES_OF_UNIT, CYCLES_OF_INSTRUCTION, SIMDS_OF_UNIT = 64, 4, 4
USUAL_KERNELS = 5.5  # of a convolution, forward
GROUPS_OF_UNIT = 6.6  # workgroups that a compute unit can be given in a microsecond


@dataclass(frozen=True)
class Rates:
    """What a formula needs of a GPU. Bytes and FLOPs per microsecond."""

    bytes: float
    flops: float
    units: int  # compute units
    steps: float = math.inf  # plain instructions, counted for each lane
    cache: float = 0.0  # bytes of the L2
    links: float = 0.0  # bytes per microsecond that leave a GPU for its peers, over all links together
    convert: float = 0.0  # instructions that make 16 bits of a weight of 4
    waits: bool = False  # whether such a loop waits for its loads where its steps do not divide K
    waves: int = 8  # of a workgroup of 512 threads
    cycles: int = 4  # from one instruction of a lane to its next, where it need not wait for what it loads or computes
    peers: int = 0  # with how many peers it shares them out: 0 where a switch gives all of it to any

    def link(self, members: int) -> float:
        """What a GPU can send in a group: where each peer has a link of its own, only those to the members count."""
        return self.links * min(1.0, (members - 1) / self.peers) if self.peers else self.links


def kind_of(work: Work) -> str | None:
    """The row of the table of coefficients that this work falls under."""
    form = work.form
    if isinstance(form, Product):
        return "small products" if _is_many_small(form) else "gemm"
    if isinstance(form, Routed):
        return "routed gemm"
    if isinstance(form, Collective):
        return "collective"
    if isinstance(form, Attended):
        if form.queries <= FEW_QUERIES < form.keys:
            return "decode attention"
        return "aiter attention" if form.library == "aiter" else "attention"
    if isinstance(form, Convolved):
        if form.product.batch > 1 and form.product.n == 1 and not form.backward:
            return "depthwise convolution"
        if form.last and form.product.batch == 1 and not form.backward:
            return "channels-last convolution"
        return f"{'grouped ' if form.product.batch > 1 else ''}convolution{' backward' if form.backward else ''}"
    if isinstance(form, Streamed):
        return form.what if form.access == "same" else f"{form.access} access"
    if isinstance(form, HostCopy):
        return f"{'pinned ' if form.pinned else ''}copy {'to' if form.to_gpu else 'from'} the GPU"
    return form.what if isinstance(form, Rows) else None


@dataclass(frozen=True)
class Launched:
    """How calls were launched, on average, where a recording tells. Without one: behind each other."""

    after_idle: float = 0.0  # the share of calls before which the GPU had nothing to do
    kernels: float = 1.0  # how many kernels a call has
    cold: float = 0.0  # the share of calls after idling that were the first run of their kernel


STEADY = Launched()


def microseconds(work: Work, rates: Rates, use: Coefficients, launched: Launched = STEADY) -> float:
    """The expected time of one call.

    What streams data starts each of several kernels anew.
    """
    start = _start(use, launched)
    form = work.form
    if launched.kernels > 1 and isinstance(form, Rows | Streamed):
        start += (launched.kernels - 1) * use["start"]
    if isinstance(form, Product) and _is_many_small(form) and "group" in use:
        return start + form.batch / rates.units * use["group"]
    if isinstance(form, Product):
        return start + _product(form, work.bytes, work.flops, rates, use)
    if isinstance(form, Routed):
        return len(form.products) * start + _routed(form, work, rates, use)
    if isinstance(form, Attended):
        return start + _attention(form, work, rates, use)
    if isinstance(form, Convolved):
        return start + _convolution(form, work, rates, use, launched.kernels)
    if isinstance(form, Collective):
        return form.steps * start + form.sent / (rates.link(form.members) * use["share"])
    if isinstance(form, HostCopy):
        return start + work.bytes / 2 / use["link"]
    if isinstance(form, Rows):
        scaled = form.groups / (rates.units * GROUPS_OF_UNIT)
        return start + max(_memory(work.bytes, rates, use), _longest_row(form, rates, use)) + scaled
    if isinstance(form, Streamed):
        return start + max(_streamed_bytes(work.bytes, rates, use), _loop(form, rates, use))
    return start + _memory(work.bytes, rates, use)


def _start(use: Coefficients, launched: Launched) -> float:
    """AMD's profilers report some 2 us more for a kernel that was queued behind another one than for one that was not.

    One that was not takes longer again on its first run, when the GPU does not have its instructions yet.
    """
    return use["start"] * (1 - launched.after_idle) + start_after_idle(use, launched)


def start_after_idle(use: Coefficients, launched: Launched) -> float:
    """The part of it that calls after idling have."""
    idle = use.get("idle", 1.0)
    warm = launched.after_idle - launched.cold
    return use["start"] * (warm * idle + launched.cold * use.get("cold", idle))


def _memory(moved: float, rates: Rates, use: Coefficients) -> float:
    return moved / (rates.bytes * use["memory"])


def _streamed_bytes(moved: float, rates: Rates, use: Coefficients) -> float:
    """What the kernel before wrote last may still be in the L2: as many bytes as that holds come faster."""
    cached = min(moved, rates.cache) if "cached" in use else 0.0
    return _memory(moved - cached * (1 - 1 / use.get("cached", 1.0)), rates, use)


def _loop(form: Streamed, rates: Rates, use: Coefficients) -> float:
    """Instructions, cache lines (a compute unit gets half of one a cycle), or workgroups to hand out.

    However few elements there are, a lane needs its cycles for each instruction that it goes through. Where it takes
    one element at a time, each waits for the one before.
    """
    lines = form.lines / (rates.steps / LANES_OF_UNIT / 2 * use.get("line", 1.0))
    cycles = rates.cycles if form.access == "same" else CYCLES_OF_INSTRUCTION
    one_lane = form.depth * cycles / (rates.steps / (rates.units * LANES_OF_UNIT))
    issued = form.steps / (rates.steps * use.get("issue", 1.0))
    return max(issued, one_lane, lines, form.groups / (rates.units * GROUPS_OF_UNIT))


def _longest_row(form: Rows, rates: Rates, use: Coefficients) -> float:
    """One workgroup takes a row, four are at work on a compute unit, and each has its latency.

    torch's sums give a short row to one wave of a workgroup, or to several where there are few rows, and share a long
    one among workgroups.
    """
    rows, length = float(form.rows), float(form.length)
    if form.shared and length < LEAST_SHARE:
        together = min(rates.waves, 1 << max(0, form.rows.bit_length() - 1))
        rows, length = rows / together, length * together / ELEMENTS_AT_ONCE
    elif form.shared and length >= LEAST_SHARED:
        length = max(LEAST_SHARE, length * min(1.0, rows / (4 * rates.units)))
    return max(1.0, rows / (4 * rates.units)) * (use["row"] + length * use["element"])


def _product(form: Product, moved: float, flops: float, rates: Rates, use: Coefficients) -> float:
    """The best of the tiles and splits: whole rounds of tiles over the compute units, or the bytes."""
    if not form.m * form.n * form.k * form.batch:
        return 0.0
    best, rate = math.inf, use.get("ragged", 1.0) if form.ragged else 1.0
    for rows, columns in TILES:
        if (rows >= 2 * form.m and rows > 16) or (columns >= 2 * form.n and columns > 64):
            continue
        tiles = form.batch * math.ceil(form.m / rows) * math.ceil(form.n / columns)
        share = rate * use["matrix"] * (rows * columns / LARGEST_TILE) ** use["tile"]
        whole = 2 * rows * columns * (form.k + use.get("ramp", 0.0)) * rates.units / (rates.flops * share)
        # Workgroups that are at work pull bytes; few of them do not fill the memory interface.
        for split in SPLITS:
            if split > 1 and (form.k < 256 * split or tiles * split > 4 * rates.units):
                break
            groups = tiles * split
            filled = min(1.0, (groups / rates.units) ** use["fill"])
            traffic = moved + (8.0 * form.batch * form.m * form.n * split if split > 1 else 0.0)
            rounds = math.ceil(groups / rates.units)
            compute = rounds * whole / split + (rounds - 1) * use["round"]
            best = min(best, max(compute, traffic / (rates.bytes * rate * use["memory"] * filled)))
    return best


def _routed(form: Routed, work: Work, rates: Rates, use: Coefficients) -> float:
    """A product for each expert that gets rows, all at once; bytes and FLOPs shared out by the weights.

    A tile takes some steps along K until it is under way ("ramp"), which weighs on the second product with its short K.
    One kernel that does both products has fewer registers for either ("joint").
    """
    if form.joint:
        use = {**use, "matrix": use["matrix"] * use.get("joint", 1.0)}
    weights = sum(n * k for n, k in form.products)
    rows = max(1, math.ceil(form.rows / form.experts))
    total = 0.0
    for n, k in form.products:
        share = n * k / weights
        one = Product(max(1, round(form.experts)), rows, n, k)
        moved, flops = work.bytes * share, work.flops * share
        if form.tile and rates.convert:
            total += _converted(one, form.tile, moved, rates, use)
        else:
            total += _product(one, moved, flops, rates, use)
    return total


def _converted(form: Product, tile: Tile, moved: float, rates: Rates, use: Coefficients) -> float:
    """Whole rounds of the kernel's own tiles, each of which converts the weights that it reads.

    Triton fetches the next step's data while it works on this one's. Where the steps do not divide K it loads the
    scales of the weights byte by byte when it needs them, and on some GPUs waits for all that it had asked for.
    """
    groups = form.batch * math.ceil(form.m / tile.rows) * math.ceil(form.n / tile.columns)
    share = use["matrix"] * float((tile.rows * tile.columns / LARGEST_TILE) ** use["tile"])
    along = form.k + use.get("ramp", 0.0)
    products = 2 * tile.rows * tile.columns * along / (rates.flops * share)
    converting = tile.columns * along * rates.convert / rates.steps * max(1.0, SIMDS_OF_UNIT / tile.waves)
    compute = math.ceil(groups / rates.units) * rates.units * max(products, converting)
    memory = moved / (rates.bytes * use["memory"] * min(1.0, float((groups / rates.units) ** use["fill"])))
    return compute + memory if rates.waits and form.k % tile.depth else max(compute, memory)


def _attention(form: Attended, work: Work, rates: Rates, use: Coefficients) -> float:
    """FLOPs over all units; or the one workgroup that goes along all keys, step by step."""
    memory = work.bytes / (rates.bytes * use["memory"])
    compute = work.flops / (rates.flops * use["matrix"])
    if form.queries <= FEW_QUERIES:
        # The keys are split between workgroups, which read them as fast as memory gives them.
        return max(compute, use["key"] * min(form.keys, PART_OF_KEYS), memory)
    return max(compute, use["key"] * form.keys) + memory


def _is_many_small(form: Product) -> bool:
    """Products that are smaller than the smallest tile: a workgroup each, most of it waiting for its few bytes."""
    return form.batch > MANY and form.m <= SMALLEST_TILE and form.n <= SMALLEST_TILE


def _convolution(form: Convolved, work: Work, rates: Rates, use: Coefficients, kernels: float) -> float:
    """Libraries change the layout, do a product and change it back, but mostly not for filters of one tap.

    Where the library takes the channels as they lie, the table has no coefficients for such changes.

    How many kernels a forward pass takes is known from a recording; without one, it is as many as usual.
    """
    passes = max(1, form.backward)
    if form.product.batch > 1 and form.product.n == 1:
        # One channel gives one: no matrix unit helps. Four FLOPs in the time of an integer instruction.
        return max(_memory(work.bytes, rates, use), work.flops / (4 * rates.steps * use.get("vector", 0.5)))
    if "kernels" not in use:
        return _product(form.product, work.bytes, work.flops, rates, use)
    if form.taps == 1 and not form.backward and kernels <= 1:
        return _product(form.product, work.bytes, work.flops, rates, use)
    if form.taps == 1 and form.backward and 1 < kernels <= passes + 1:  # the products, and one that clears a sum
        return passes * _product(form.product, work.bytes / passes, work.flops / passes, rates, use)
    extra = use["layout"] * work.bytes / (rates.bytes * use["memory"])
    product = _product(form.product, work.bytes / passes, work.flops / passes, rates, use)
    others = (kernels - 1) / (USUAL_KERNELS - 1) if kernels > 1 and not form.backward else 1.0
    return passes * (use["kernels"] * others + product) + extra
