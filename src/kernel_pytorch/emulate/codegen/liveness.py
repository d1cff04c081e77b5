"""Which registers are still needed: what nobody reads again is not stored.

A vector instruction writes active lanes only, so a write ends the life of the value before it just for uses in the
same basic block with no more lanes on. Between blocks a register counts as needed when anything that can be reached
reads it. Scalar registers are written whole, so for them the usual analysis holds.

Sets of registers are bits of Python integers: kernels have thousands of instructions.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from kernel_pytorch.emulate.codegen.effects import Effects
from kernel_pytorch.emulate.codegen.flow import Flow, blocks_of, following
from kernel_pytorch.emulate.codegen.lane_run import RegisterKey

_FIRST_AGPR = 1024


@dataclass(frozen=True)
class Liveness:
    """For every instruction number: the registers needed before it. One more entry for the end."""

    vectors: tuple[int, ...]
    scalars: tuple[int, ...]

    def needs(self, position: int, key: RegisterKey) -> bool:
        """Whether a vector register is read before it is written again."""
        return bool(self.vectors[position] >> _bit(key) & 1)

    def needs_scalar(self, position: int, index: int) -> bool:
        """Whether a scalar register is read before it is written again."""
        return bool(self.scalars[position] >> index & 1)


@dataclass(frozen=True)
class _RegisterBits:
    """The effects of one instruction (or v_dual pair) as bits."""

    lane_reads: int
    cross_reads: int
    writes: int
    scalar_reads: int
    scalar_writes: int
    any_lane: bool  # lanes that were off may be on behind it


def analyse(flow: Flow, effects: Sequence[tuple[Effects, ...]]) -> Liveness | None:
    """None where registers are addressed by number at run time: then everything is needed."""
    if any(one.unknowable for parts in effects for one in parts):
        return None
    steps = [_bits_of(parts) for parts in effects]
    blocks = blocks_of(flow)
    after = following(flow, blocks)
    exposed = [_vectors(steps, start, end, 0)[0] for start, end in blocks]
    vectors_out = _vectors_out(after, exposed)
    scalars_out = _scalars_out(blocks, after, steps)
    vectors = [0] * (len(steps) + 1)
    scalars = [0] * (len(steps) + 1)
    for number, (start, end) in enumerate(blocks):
        vectors[start:end] = _vectors(steps, start, end, vectors_out[number])
        scalars[start:end] = _scalars(steps, start, end, scalars_out[number])
    return Liveness(tuple(vectors), tuple(scalars))


def _bit(key: RegisterKey) -> int:
    return key[1] + (_FIRST_AGPR if key[0] == "a" else 0)


def _bits(keys: Iterable[RegisterKey]) -> int:
    found = 0
    for key in keys:
        found |= 1 << _bit(key)
    return found


def _scalar_bits(indices: Iterable[int]) -> int:
    found = 0
    for index in indices:
        found |= 1 << index
    return found


def _bits_of(parts: tuple[Effects, ...]) -> _RegisterBits:
    return _RegisterBits(
        _bits(key for one in parts for key in one.lane_reads),
        _bits(key for one in parts for key in one.cross_reads),
        _bits(key for one in parts for key in one.writes),
        _scalar_bits(index for one in parts for index in one.scalar_reads),
        _scalar_bits(index for one in parts for index in one.scalar_writes),
        any(one.exec_change == "any" for one in parts),
    )


def _vectors(steps: Sequence[_RegisterBits], start: int, end: int, out: int) -> list[int]:
    """The vector registers needed before each instruction of a block, given those needed behind it."""
    hard, soft = out, 0  # soft: needed only in lanes that are on from here to the use
    found = [0] * (end - start)
    for at in range(end - 1, start - 1, -1):
        step = steps[at]
        if step.any_lane:
            hard |= soft
            soft = 0
        soft &= ~step.writes
        hard |= step.cross_reads
        soft = (soft | step.lane_reads) & ~hard
        found[at - start] = hard | soft
    return found


def _vectors_out(after: list[list[int]], exposed: list[int]) -> list[int]:
    """Needed behind a block: what any block that can be reached reads before writing it."""
    out = [0] * len(after)
    changed = True
    while changed:
        changed = False
        for number in range(len(after) - 1, -1, -1):
            fresh = out[number]
            for one in after[number]:
                fresh |= out[one] | exposed[one]
            if fresh != out[number]:
                out[number] = fresh
                changed = True
    return out


def _scalars(steps: Sequence[_RegisterBits], start: int, end: int, out: int) -> list[int]:
    live = out
    found = [0] * (end - start)
    for at in range(end - 1, start - 1, -1):
        live = (live & ~steps[at].scalar_writes) | steps[at].scalar_reads
        found[at - start] = live
    return found


def _scalars_out(blocks: list[tuple[int, int]], after: list[list[int]], steps: Sequence[_RegisterBits]) -> list[int]:
    out = [0] * len(blocks)
    into = [_scalars(steps, start, end, 0)[0] for start, end in blocks]
    changed = True
    while changed:
        changed = False
        for number in range(len(blocks) - 1, -1, -1):
            fresh = 0
            for one in after[number]:
                fresh |= into[one]
            if fresh != out[number]:
                out[number] = fresh
                start, end = blocks[number]
                into[number] = _scalars(steps, start, end, fresh)[0]
                changed = True
    return out
