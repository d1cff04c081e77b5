"""Instructions through which lanes see each other."""

from __future__ import annotations

from .registry import model, read_raw
from .scalar import read_scalar, write_scalar
from .state import M0, Wave
from .text import Instruction


@model("v_readfirstlane_b32")
def read_first_lane(wave: Wave, instruction: Instruction) -> None:
    lane = (wave.exec & -wave.exec).bit_length() - 1 if wave.exec else 0
    write_scalar(wave, instruction.operands[0], 32, read_raw(wave, instruction.operands[1], "u32", lane))


@model("v_readlane_b32")
def read_lane(wave: Wave, instruction: Instruction) -> None:
    lane = read_scalar(wave, instruction.operands[2], "u32") % wave.size
    write_scalar(wave, instruction.operands[0], 32, read_raw(wave, instruction.operands[1], "u32", lane))


@model("v_writelane_b32")
def write_lane(wave: Wave, instruction: Instruction) -> None:
    lane = read_scalar(wave, instruction.operands[2], "u32") % wave.size
    value = read_scalar(wave, instruction.operands[1], "u32")
    wave.write_lane("v", instruction.operands[0].register, lane, value)


@model("v_swap_b32")
def swap(wave: Wave, instruction: Instruction) -> None:
    a, b = (o.register for o in instruction.operands)
    for lane in wave.active_lanes():
        x, y = wave.read_lane("v", a, lane), wave.read_lane("v", b, lane)
        wave.write_lane("v", a, lane, y)
        wave.write_lane("v", b, lane, x)


def half_shift(operand: object) -> int:
    return 16 if getattr(operand, "half", "") == "h" else 0


@model("v_swap_b16")
def swap_halves(wave: Wave, instruction: Instruction) -> None:
    a, b = instruction.operands
    for lane in wave.active_lanes():
        x = wave.read_lane("v", a.register, lane) >> half_shift(a) & 0xFFFF
        y = wave.read_lane("v", b.register, lane) >> half_shift(b) & 0xFFFF
        for operand, value in ((a, y), (b, x)):
            old = wave.read_lane("v", operand.register, lane)
            shift = half_shift(operand)
            wave.write_lane("v", operand.register, lane, old & ~(0xFFFF << shift) | value << shift)


def permute_rows(wave: Wave, instruction: Instruction, crossed: bool, variable: bool) -> None:
    """Each lane takes a lane of its own row of 16 (or of the row beside it), named by 4 bits per lane."""
    destination, source = instruction.operands[:2]
    fetch_inactive, bound = instruction.bits("op_sel", 2)
    before = [read_raw(wave, source, "u32", lane) for lane in range(wave.size)]
    if not variable:
        low, high = (read_scalar(wave, o, "u32") for o in instruction.operands[2:4])
        selects = low | high << 32
    results = {}
    for lane in wave.active_lanes():
        if variable:
            select = read_raw(wave, instruction.operands[2], "u32", lane) & 15
        else:
            select = selects >> (4 * (lane % 16)) & 15
        at = (lane & ~15 ^ (16 if crossed else 0)) + select
        if wave.active(at) or fetch_inactive:
            results[lane] = before[at]
        elif bound:
            results[lane] = 0
    for lane, value in results.items():
        wave.write_lane("v", destination.register, lane, value)


model("v_permlane16_b32")(lambda w, i: permute_rows(w, i, False, False))
model("v_permlanex16_b32")(lambda w, i: permute_rows(w, i, True, False))
model("v_permlane16_var_b32")(lambda w, i: permute_rows(w, i, False, True))
model("v_permlanex16_var_b32")(lambda w, i: permute_rows(w, i, True, True))


@model("v_permlane64_b32")
def exchange_halves(wave: Wave, instruction: Instruction) -> None:
    if wave.size == 32:
        return
    before = [read_raw(wave, instruction.operands[1], "u32", lane) for lane in range(64)]
    for lane in wave.active_lanes():
        wave.write_lane("v", instruction.operands[0].register, lane, before[lane ^ 32])


@model("v_permlane16_swap_b32", "v_permlane32_swap_b32")
def swap_rows(wave: Wave, instruction: Instruction) -> None:
    """Odd rows (or the upper half) of the first register change places with even rows (or the lower half) of
    the second."""
    width = 16 if "16" in instruction.mnemonic else 32
    first, second = (o.register for o in instruction.operands[:2])
    for lane in range(64):
        if lane // width % 2 == 0 and wave.active(lane) and wave.active(lane + width):
            low, high = wave.read_lane("v", second, lane), wave.read_lane("v", first, lane + width)
            wave.write_lane("v", second, lane, high)
            wave.write_lane("v", first, lane + width, low)


def address_lane(wave: Wave, instruction: Instruction, lane: int) -> int:
    address = wave.read_lane("v", instruction.operands[1].register, lane) + instruction.number("offset")
    return address // 4 % wave.size


@model("ds_bpermute_b32", "ds_bpermute_fi_b32")
def pull(wave: Wave, instruction: Instruction) -> None:
    data = instruction.operands[2].register
    results = {}
    for lane in wave.active_lanes():
        at = address_lane(wave, instruction, lane)
        readable = wave.active(at) or "_fi_" in instruction.mnemonic
        results[lane] = wave.read_lane("v", data, at) if readable else 0
    for lane, value in results.items():
        wave.write_lane("v", instruction.operands[0].register, lane, value)


@model("ds_permute_b32")
def push(wave: Wave, instruction: Instruction) -> None:
    arrived = [0] * wave.size
    for lane in wave.active_lanes():
        arrived[address_lane(wave, instruction, lane)] = wave.read_lane("v", instruction.operands[2].register, lane)
    for lane in wave.active_lanes():
        wave.write_lane("v", instruction.operands[0].register, lane, arrived[lane])


def swizzle_source(offset: int, lane: int, rotates: bool) -> int:
    group, place = lane & ~31, lane & 31
    if offset >= 0xE000 and rotates:
        mask = offset & 31
        reversed_place = int(format(place, "05b")[::-1], 2)
        return group | reversed_place >> mask.bit_count() | place & mask
    if offset >= 0xC000 and rotates:
        mask, amount = offset & 31, offset >> 5 & 31
        moved = place - amount if offset >> 10 & 1 else place + amount
        return group | place & mask | moved & ~mask & 31
    if offset & 0x8000:
        return lane & ~3 | offset >> (2 * (lane & 3)) & 3
    and_mask, or_mask, xor_mask = offset & 31, offset >> 5 & 31, offset >> 10 & 31
    return group | ((place & and_mask) | or_mask) ^ xor_mask


def swizzle_offset(instruction: Instruction) -> int:
    """offset:0x8055, or the symbolic swizzle(QUAD_PERM, ...), swizzle(BITMASK_PERM, "00p11"), ..."""
    text = instruction.modifiers.get("offset", "0")
    if not text.startswith("swizzle("):
        return int(text, 0)
    mode, *rest = [part.strip() for part in text[8:-1].split(",")]
    if mode == "QUAD_PERM":
        return 0x8000 | sum(int(x) << (2 * i) for i, x in enumerate(rest))
    if mode == "BROADCAST":
        size, lane = int(rest[0]), int(rest[1])
        return 32 - size | lane << 5
    if mode == "SWAP":
        return 31 | int(rest[0]) << 10
    if mode == "REVERSE":
        return 31 | (int(rest[0]) - 1) << 10
    assert mode == "BITMASK_PERM"
    and_mask = or_mask = xor_mask = 0
    for i, letter in enumerate(reversed(rest[0].strip('"'))):
        and_mask |= (letter in "pi") << i
        or_mask |= (letter == "1") << i
        xor_mask |= (letter == "i") << i
    return and_mask | or_mask << 5 | xor_mask << 10


@model("ds_swizzle_b32")
def swizzle(wave: Wave, instruction: Instruction) -> None:
    source = instruction.operands[1].register
    results = {}
    for lane in wave.active_lanes():
        at = swizzle_source(swizzle_offset(instruction), lane, True)
        results[lane] = wave.read_lane("v", source, at) if at < wave.size and wave.active(at) else 0
    for lane, value in results.items():
        wave.write_lane("v", instruction.operands[0].register, lane, value)


@model("v_movrels_b32", "v_movreld_b32", "v_movrelsd_b32", "v_movrelsd_2_b32")
def move_relative(wave: Wave, instruction: Instruction) -> None:
    destination, source = instruction.operands
    index = wave.s[M0]
    two = instruction.mnemonic == "v_movrelsd_2_b32"
    from_offset = (index & 0x3FF if two else index) if "rels" in instruction.mnemonic else 0
    to_offset = (index >> 16 & 0x3FF if two else index) if instruction.mnemonic != "v_movrels_b32" else 0
    for lane in wave.active_lanes():
        if source.kind == "v":
            value = wave.read_lane("v", source.register + from_offset, lane)
        else:
            value = read_raw(wave, source, "u32", lane)
        wave.write_lane("v", destination.register + to_offset, lane, value)


@model("v_accvgpr_read_b32", "v_accvgpr_write_b32", "v_accvgpr_mov_b32", "v_accvgpr_read", "v_accvgpr_write")
def move_accumulator(wave: Wave, instruction: Instruction) -> None:
    destination, source = instruction.operands
    for lane in wave.active_lanes():
        wave.write_lane(destination.kind, destination.register, lane, read_raw(wave, source, "u32", lane))
