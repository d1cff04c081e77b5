"""Sixteen rows of a matrix times one row, on tensor cores that want at least eight columns.

The tile of 16 x 512 weights is read as 128 x 64: eight slices of every row below each other. The row of values is read
as 64 x 8: its eight slices beside each other. Of the product only the diagonals count, slice times same slice: their
sum is the row's. Nothing is wasted: the seven other columns had to be there anyway.

This module needs Triton with Gluon, for NVIDIA.
"""

# mypy: disable-error-code="no-untyped-def,untyped-decorator,misc,assignment"
# ruff: noqa: N803, N806, RUF005
from __future__ import annotations

from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import mbarrier, mma_v2

MMA = gl.constexpr(gl.NVMMADistributedLayout([2, 0], [8, 1], [16, 8]))
LEFT = gl.constexpr(gl.DotOperandLayout(0, gl.NVMMADistributedLayout([2, 0], [8, 1], [16, 8]), 2))
RIGHT = gl.constexpr(gl.DotOperandLayout(1, gl.NVMMADistributedLayout([2, 0], [8, 1], [16, 8]), 2))


@gluon.jit
def row_sums(product):
    """The sums of the diagonals: of the even rows and of the odd ones, two to each warp, without shared memory."""
    i = gl.arange(0, 128, layout=gl.SliceLayout(1, MMA))
    n = gl.arange(0, 8, layout=gl.SliceLayout(0, MMA))
    same = gl.expand_dims(i % 8, 1) == gl.expand_dims(n, 0)
    slices = gl.sum(gl.where(same, product, 0.0), axis=1)
    return gl.split(gl.reshape(gl.sum(gl.reshape(slices, [16, 8]), axis=1), [8, 2]))


@gluon.jit
def slices_of(row, tile):
    return row.index(tile).permute([1, 0]).load(RIGHT)


@gluon.jit
def next_stage(tiles, full, empty, slot, turn, STAGES: gl.constexpr):
    """The two tiles that are next, out of the ring: their place is free again."""
    mbarrier.wait(full.index(slot), turn)
    one = tiles.index(slot * 2).load(LEFT)
    other = tiles.index(slot * 2 + 1).load(LEFT)
    mbarrier.arrive(empty.index(slot), count=1)
    slot += 1
    if slot == STAGES:
        slot = 0
        turn ^= 1
    return one, other, slot, turn


@gluon.jit
def ahead(tiles, full, empty, slot, turn, COUNT: gl.constexpr, STAGES: gl.constexpr):
    """So many stages ahead of time, to be held in registers while this program waits for others: room for more."""
    parts = ()
    for _ in gl.static_range(COUNT):
        one, other, slot, turn = next_stage(tiles, full, empty, slot, turn, STAGES)
        parts = parts + (one, other)
    return parts, slot, turn


@gluon.jit
def sixteen(tiles, full, empty, slot, turn, row, held, LINES: gl.constexpr, STAGES: gl.constexpr):
    """Sixteen rows of the matrix that is next, times the row: even rows, odd rows. The first stages may be `held`."""
    TILES: gl.constexpr = LINES // 8
    HELD: gl.constexpr = len(held) // 2
    even = gl.zeros([128, 8], gl.float32, MMA)
    odd = gl.zeros([128, 8], gl.float32, MMA)
    for step in gl.static_range(HELD):
        even = mma_v2(held[2 * step], slices_of(row, 2 * step), even)
        if 2 * step + 1 < TILES:
            odd = mma_v2(held[2 * step + 1], slices_of(row, 2 * step + 1), odd)
    for step in range(HELD, (TILES + 1) // 2):
        x = slices_of(row, step * 2)
        y = slices_of(row, step * 2 + 1)
        one, other, slot, turn = next_stage(tiles, full, empty, slot, turn, STAGES)
        even = mma_v2(one, x, even)
        if TILES % 2 == 0 or step * 2 + 1 < TILES:
            odd = mma_v2(other, y, odd)
    first, second = row_sums(even + odd)
    return first, second, slot, turn


@gluon.jit
def held_slices(row, LINES: gl.constexpr):
    """The row in registers where it is used for several groups of rows, and short."""
    parts = ()
    if LINES <= 32:
        for tile in gl.static_range(LINES // 8):
            parts = parts + (slices_of(row, tile),)
    return parts


@gluon.jit
def sixteen_gated(tiles, full, empty, slot, turn, row, slices, held, factor, LINES: gl.constexpr, STAGES: gl.constexpr):
    """silu(gate rows . row) * (up rows . row), for sixteen of each."""
    HELD: gl.constexpr = len(held) // 2
    gates = gl.zeros([128, 8], gl.float32, MMA)
    ups = gl.zeros([128, 8], gl.float32, MMA)
    for step in gl.static_range(LINES // 8):
        x = slices_of(row, step) if len(slices) == 0 else slices[step]
        if step < HELD:
            one = held[2 * step]
            other = held[2 * step + 1]
        else:
            one, other, slot, turn = next_stage(tiles, full, empty, slot, turn, STAGES)
        gates = mma_v2(one, x, gates)
        ups = mma_v2(other, x, ups)
    gate, gate_odd = row_sums(gates)
    up, up_odd = row_sums(ups)
    gate *= factor
    gate_odd *= factor
    first = gate / (1.0 + gl.exp(-gate)) * (up * factor)
    second = gate_odd / (1.0 + gl.exp(-gate_odd)) * (up_odd * factor)
    return first, second, slot, turn
