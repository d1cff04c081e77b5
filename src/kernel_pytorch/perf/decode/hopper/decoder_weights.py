"""The weights of the decoder kernel, on their way: one warp asks for tiles in the order in which they are used.

A ring of stages in shared memory, two tiles each. The warp does not know what the others wait for: it asks as soon as a
stage is free, across matrices and layers, so memory is never idle while programs wait for each other.

All matrices with the same number of columns share one TMA descriptor: a view of the whole address range by lines of 64
values, where a box is 4 rows apart by a row's length and 8 lines wide. Which matrix it is, only the coordinate says.

This module needs Triton with Gluon, for NVIDIA from Hopper on.
"""

# mypy: disable-error-code="no-untyped-def,untyped-decorator,misc"
# ruff: noqa: N803, N806
from __future__ import annotations

from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import mbarrier, tma

from kernel_pytorch.perf.decode.hopper.decoder_shape import LINE, TABLE_COLUMNS

# Triton 3.9 has the first name, Triton 3.6 the second.
ask = getattr(tma, "async_load", None) or tma.async_copy_global_to_shared
BOX_BYTES = gl.constexpr(4 * 8 * LINE * 2)
COLUMNS = gl.constexpr(TABLE_COLUMNS)


@gluon.jit
def _next(slot, turn, STAGES: gl.constexpr):
    slot += 1
    if slot == STAGES:
        slot = 0
        turn ^= 1
    return slot, turn


@gluon.jit
def _matrix(
    view,
    ring,
    full,
    empty,
    slot,
    turn,
    late_slot,
    late_turn,
    first,
    second,
    third,
    PAIRED: gl.constexpr,
    LINES: gl.constexpr,
    EACH: gl.constexpr,
    BOXES: gl.constexpr,
    SECOND: gl.constexpr,
    THIRD: gl.constexpr,
    STAGES: gl.constexpr,
):
    """This program's boxes of a matrix, or of up to three one below the other. PAIRED: of two, tile beside tile."""
    TILES: gl.constexpr = LINES // 8
    program = gl.program_id(0)
    for group in range((EACH + 3) // 4):
        for step in range(TILES if PAIRED else (TILES + 1) // 2):
            mbarrier.wait(empty.index(slot), turn ^ 1)
            # Not too far ahead of what has arrived.
            mbarrier.wait(full.index(late_slot), late_turn)
            late_slot, late_turn = _next(late_slot, late_turn, STAGES)
            arrived = full.index(slot)
            for b in gl.static_range(8):
                number = group * 4 + b % 4
                box = program * EACH + number
                there = (number < EACH) & (box < BOXES)
                start = first
                column = step
                if PAIRED:
                    start = first if b < 4 else second
                else:
                    column = step * 2 + b // 4
                    there = there & (column < TILES)
                if SECOND < BOXES:
                    start = gl.where(box >= SECOND, second - SECOND * 4 * LINES, start)
                    start = gl.where(box >= THIRD, third - THIRD * 4 * LINES, start)
                mbarrier.expect(arrived, BOX_BYTES, pred=there)
                mbarrier.arrive(arrived, count=1, pred=there ^ True)
                at = start + box * (4 * LINES) + column * 8
                ask(view, [0, at, 0], arrived, ring.index(slot * 8 + b), pred=there)
            slot, turn = _next(slot, turn, STAGES)
    return slot, turn, late_slot, late_turn


@gluon.jit
def asking(by_hidden, by_seen, by_wide, ring, full, empty, table, S: gl.constexpr):
    """Ask for all weights of one token, in order."""
    slot = gl.to_tensor(0)
    turn = gl.to_tensor(0)
    late_slot = gl.to_tensor(S.stages - S.in_flight)
    late_turn = gl.to_tensor(1)  # of before the first round: nothing to wait for yet
    hidden: gl.constexpr = S.hidden_lines
    for layer in range(S.layers):
        places = table + layer * COLUMNS
        q = gl.load(places)
        k = gl.load(places + 1)
        v = gl.load(places + 2)
        o = gl.load(places + 3)
        gate = gl.load(places + 4)
        up = gl.load(places + 5)
        down = gl.load(places + 6)
        slot, turn, late_slot, late_turn = _matrix(
            by_hidden, ring, full, empty, slot, turn, late_slot, late_turn, q, k, v, False, hidden,
            S.qkv_each, S.qkv_boxes, S.q_boxes, S.q_boxes + S.k_boxes, S.stages,
        )  # fmt: skip
        slot, turn, late_slot, late_turn = _matrix(
            by_seen, ring, full, empty, slot, turn, late_slot, late_turn, o, o, o, False, S.seen_lines,
            S.hidden_each, S.hidden_boxes, S.hidden_boxes, S.hidden_boxes, S.stages,
        )  # fmt: skip
        slot, turn, late_slot, late_turn = _matrix(
            by_hidden, ring, full, empty, slot, turn, late_slot, late_turn, gate, up, up, True, hidden,
            S.wide_each, S.wide_boxes, S.wide_boxes, S.wide_boxes, S.stages,
        )  # fmt: skip
        slot, turn, late_slot, late_turn = _matrix(
            by_wide, ring, full, empty, slot, turn, late_slot, late_turn, down, down, down, False, S.wide_lines,
            S.hidden_each, S.hidden_boxes, S.hidden_boxes, S.hidden_boxes, S.stages,
        )  # fmt: skip
    words = gl.load(table + S.layers * COLUMNS)
    _matrix(
        by_hidden, ring, full, empty, slot, turn, late_slot, late_turn, words, words, words, False, hidden,
        S.words_each, S.word_boxes, S.word_boxes, S.word_boxes, S.stages,
    )  # fmt: skip
