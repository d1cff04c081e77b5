"""The ROCm form of each collective that keeps CUDA's 32-lane warps, on 32-lane and on 64-lane waves.

A 64-lane wave holds two logical warps; `__lane_id() & 32` is 0 in the lower and 32 in the upper one, and always 0 on a
32-lane wave. Votes are taken over the wave and the caller's half is cut out, so a mask stays the 32-bit value that the
rest of the program was written for.

The forms without `_sync` are used on purpose. HIP's `_sync` functions trap, unless NDEBUG is defined, when the mask is
not exactly the set of live lanes that pass it. Neither 0xffffffff nor ~0 is that in a wave of which one half is in
another branch or has no threads, which CUDA programs written for 32 lanes do all the time. Lanes of an AMD wave run in
lockstep, so the mask carries nothing else. tests/port/wave/test_lane_model.py checks each text below lane by lane.
"""

from __future__ import annotations

HALF = "(__lane_id() & 32)"

BALLOT = "(unsigned)(__ballot({predicate}) >> (__lane_id() & 32))"
BALLOT_OF = "((unsigned)(__ballot({predicate}) >> (__lane_id() & 32)) & {mask})"
ANY = "((unsigned)(__ballot({predicate}) >> (__lane_id() & 32)) != 0)"
ANY_OF = "(((unsigned)(__ballot({predicate}) >> (__lane_id() & 32)) & {mask}) != 0)"
# Lanes that voted no are those where the vote differs from being there at all: exited lanes do not count, as in CUDA.
ALL = "((unsigned)((__ballot({predicate}) ^ __ballot(1)) >> (__lane_id() & 32)) == 0)"
ALL_OF = "(((unsigned)((__ballot({predicate}) ^ __ballot(1)) >> (__lane_id() & 32)) & {mask}) == 0)"
ACTIVE = "(unsigned)(__ballot(1) >> (__lane_id() & 32))"
MATCH_ANY = "(unsigned)(__match_any({value}) >> (__lane_id() & 32))"
MATCH_ANY_OF = "((unsigned)(__match_any({value}) >> (__lane_id() & 32)) & {mask})"
# HIP handles each distinct mask of a wave by itself: naming the live lanes of the caller's half keeps the halves apart.
MATCH_ALL = (
    "(unsigned)(__match_all_sync(__ballot(1) & (0xffffffffull << (__lane_id() & 32)), {value}, {predicate})"
    " >> (__lane_id() & 32))"
)
MATCH_ALL_OF = (
    "(unsigned)(__match_all_sync(__ballot(1) & ((unsigned long long){mask} << (__lane_id() & 32)), {value}, "
    "{predicate}) >> (__lane_id() & 32))"
)
# HIP's own reductions of `or`, `and`, `xor` treat words as truth values when the mask has holes (ROCm 7.2).
REDUCE = "[](auto kpt_r) {{ for (int kpt_o = 16; kpt_o > 0; kpt_o >>= 1) {step}; return kpt_r; }}({value})"
REDUCE_STEPS = {
    "add": "kpt_r += __shfl_xor(kpt_r, kpt_o, 32)",
    "min": "{ auto kpt_s = __shfl_xor(kpt_r, kpt_o, 32); kpt_r = kpt_s < kpt_r ? kpt_s : kpt_r; }",
    "max": "{ auto kpt_s = __shfl_xor(kpt_r, kpt_o, 32); kpt_r = kpt_r < kpt_s ? kpt_s : kpt_r; }",
    "and": "kpt_r &= __shfl_xor(kpt_r, kpt_o, 32)",
    "or": "kpt_r |= __shfl_xor(kpt_r, kpt_o, 32)",
    "xor": "kpt_r ^= __shfl_xor(kpt_r, kpt_o, 32)",
}
WIDTH = ", 32"
# Same, for programs that follow the hardware's width and ask the device for it.


# Over the lanes that a mask names: all 32 are asked, so that lanes whose masks differ stay together.
REDUCE_OF = (
    "[](unsigned kpt_m, auto kpt_v) { auto kpt_r = kpt_v; for (unsigned kpt_l = 0; kpt_l < 32; ++kpt_l) "
    "{ auto kpt_s = __shfl(kpt_v, kpt_l, 32); if (kpt_l != (__lane_id() & 31) && (kpt_m >> kpt_l & 1)) {step}; } "
    "return kpt_r; }({mask}, {value})"
)
REDUCE_OF_STEPS = {
    "add": "kpt_r += kpt_s",
    "min": "kpt_r = kpt_s < kpt_r ? kpt_s : kpt_r",
    "max": "kpt_r = kpt_r < kpt_s ? kpt_s : kpt_r",
    "and": "kpt_r &= kpt_s",
    "or": "kpt_r |= kpt_s",
    "xor": "kpt_r ^= kpt_s",
}


def reduce_of_text(operation: str, mask: str, value: str) -> str:
    """A reduction of integers over the lanes of a 32-bit mask, as an expression."""
    return REDUCE_OF.replace("{step}", REDUCE_OF_STEPS[operation]).replace("{mask}", mask).replace("{value}", value)


def reduce_text(operation: str, value: str) -> str:
    """A 32-lane reduction of integers, as an expression."""
    return (
        REDUCE.replace("{step}", REDUCE_STEPS[operation])
        .replace("{{", "{")
        .replace("}}", "}")
        .replace("{value}", value)
    )
