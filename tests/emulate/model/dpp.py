"""Data-parallel primitives: which lane the first source comes from."""

from __future__ import annotations

from .state import Wave, generation
from .text import Instruction

CONTROLS = (
    "quad_perm",
    "row_shl",
    "row_shr",
    "row_ror",
    "wave_shl",
    "wave_rol",
    "wave_shr",
    "wave_ror",
    "row_mirror",
    "row_half_mirror",
    "row_bcast",
    "row_newbcast",
    "row_share",
    "row_xmask",
    "dpp8",
)


def is_dpp(instruction: Instruction) -> bool:
    return any(control in instruction.modifiers for control in CONTROLS)


def wanted_lane(wave: Wave, instruction: Instruction, lane: int) -> int | None:
    """The lane to read, or None where there is none."""
    m = instruction.modifiers
    row, place = lane & ~15, lane & 15
    if "dpp8" in m:
        return (lane & ~7) + instruction.bits("dpp8", 8)[lane & 7]
    if "quad_perm" in m:
        return (lane & ~3) + instruction.bits("quad_perm", 4)[lane & 3]
    if "row_shl" in m:
        at = place + int(m["row_shl"])
        return row + at if at < 16 else None
    if "row_shr" in m:
        at = place - int(m["row_shr"])
        return row + at if at >= 0 else None
    if "row_ror" in m:
        return row + (place - int(m["row_ror"])) % 16
    if "wave_shl" in m:
        return lane + 1 if lane + 1 < wave.size else None
    if "wave_rol" in m:
        return (lane + 1) % wave.size
    if "wave_shr" in m:
        return lane - 1 if lane else None
    if "wave_ror" in m:
        return (lane - 1) % wave.size
    if "row_mirror" in m:
        return row + 15 - place
    if "row_half_mirror" in m:
        return (lane & ~7) + 7 - (lane & 7)
    if "row_bcast" in m:
        # The last lane of each row (or half) is given to the whole next one.
        width = int(m["row_bcast"]) + 1
        return (lane // width) * width - 1 if lane >= width else None
    if "row_newbcast" in m:
        return row + int(m["row_newbcast"])
    if "row_share" in m:
        return row + int(m["row_share"])
    assert "row_xmask" in m
    return row + (place ^ int(m["row_xmask"], 0))


def dpp_source(wave: Wave, instruction: Instruction, lane: int) -> tuple[int, bool, bool]:
    """(lane to read, read zero instead, lane takes part) for the lane of an instruction with a DPP control."""
    m = instruction.modifiers
    if "dpp8" not in m:
        row_enabled = instruction.number("row_mask", 15) >> (lane // 16) & 1
        bank_enabled = instruction.number("bank_mask", 15) >> (lane % 16 // 4) & 1
        if not (row_enabled and bank_enabled):
            return lane, False, False
    source = wanted_lane(wave, instruction, lane)
    readable = source is not None and (wave.active(source) or ("fi" in m and m["fi"] == "1"))
    if readable:
        assert source is not None
        return source, False, True
    if "dpp8" in m:
        return lane, True, True
    if "row_bcast" in m and source is None and generation(wave.target) == 9 and "bound_ctrl" not in m:
        return lane, False, False
    return lane, True, "bound_ctrl" in m
