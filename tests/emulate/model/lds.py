"""Instructions on LDS."""

from __future__ import annotations

from .atomics import equal, updated
from .registry import model, signed
from .state import Wave
from .text import Instruction, Operand


def load(wave: Wave, address: int, size: int) -> int:
    return int.from_bytes(wave.lds[address : address + size], "little")


def store(wave: Wave, address: int, size: int, value: int) -> None:
    wave.lds[address : address + size] = (value & ((1 << (8 * size)) - 1)).to_bytes(size, "little")


def address_of(wave: Wave, operand: Operand, lane: int) -> int:
    return wave.read_lane("v", operand.register, lane)


def registers(wave: Wave, operand: Operand, lane: int, count: int) -> int:
    return sum(wave.read_lane(operand.kind, operand.register + i, lane) << (32 * i) for i in range(count))


def put(wave: Wave, operand: Operand, lane: int, count: int, value: int) -> None:
    for i in range(count):
        wave.write_lane(operand.kind, operand.register + i, lane, value >> (32 * i))


def reading(names: str, size: int, extend: str = "", half: str = "") -> None:
    def on_wave(wave: Wave, instruction: Instruction) -> None:
        for lane in wave.active_lanes():
            value = load(wave, address_of(wave, instruction.operands[1], lane) + instruction.number("offset"), size)
            value = signed(value, 8 * size) if extend == "i" else value
            old = wave.read_lane("v", instruction.operands[0].register, lane)
            if half == "low":
                value = old & 0xFFFF0000 | value & 0xFFFF
            elif half == "high":
                value = old & 0xFFFF | (value & 0xFFFF) << 16
            put(wave, instruction.operands[0], lane, max(1, size // 4), value)

    model(*names.split())(on_wave)


def writing(names: str, size: int, high: bool = False) -> None:
    def on_wave(wave: Wave, instruction: Instruction) -> None:
        for lane in wave.active_lanes():
            value = registers(wave, instruction.operands[1], lane, max(1, size // 4))
            address = address_of(wave, instruction.operands[0], lane) + instruction.number("offset")
            store(wave, address, size, value >> 16 if high else value)

    model(*names.split())(on_wave)


for size, bits in ((4, 32), (8, 64), (12, 96), (16, 128)):
    reading(f"ds_read_b{bits} ds_load_b{bits}", size)
    writing(f"ds_write_b{bits} ds_store_b{bits}", size)
for size, bits in ((1, 8), (2, 16)):
    writing(f"ds_write_b{bits} ds_store_b{bits}", size)
    writing(f"ds_write_b{bits}_d16_hi ds_store_b{bits}_d16_hi", size, high=True)
    for sign in "iu":
        reading(f"ds_read_{sign}{bits} ds_load_{sign}{bits}", size, sign)
reading("ds_read_u8_d16 ds_load_u8_d16", 1, "u", "low")
reading("ds_read_i8_d16 ds_load_i8_d16", 1, "i", "low")
reading("ds_read_u16_d16 ds_load_u16_d16", 2, "u", "low")
reading("ds_read_u8_d16_hi ds_load_u8_d16_hi", 1, "u", "high")
reading("ds_read_i8_d16_hi ds_load_i8_d16_hi", 1, "i", "high")
reading("ds_read_u16_d16_hi ds_load_u16_d16_hi", 2, "u", "high")


def two_addresses(instruction: Instruction, base: int, size: int) -> list[int]:
    stride = size * (64 if "st64" in instruction.mnemonic or "stride64" in instruction.mnemonic else 1)
    return [base + instruction.number(f"offset{i}") * stride for i in range(2)]


@model(
    *(f"ds_{stem}_b{bits}" for bits in (32, 64) for stem in ("read2", "read2st64", "load_2addr", "load_2addr_stride64"))
)
def read_two(wave: Wave, instruction: Instruction) -> None:
    size = 4 if instruction.mnemonic.endswith("32") else 8
    for lane in wave.active_lanes():
        base = address_of(wave, instruction.operands[1], lane)
        low, high = (load(wave, a, size) for a in two_addresses(instruction, base, size))
        put(wave, instruction.operands[0], lane, size // 2, low | high << (8 * size))


@model(
    *(
        f"ds_{stem}_b{bits}"
        for bits in (32, 64)
        for stem in ("write2", "write2st64", "store_2addr", "store_2addr_stride64")
    )
)
def write_two(wave: Wave, instruction: Instruction) -> None:
    size = 4 if instruction.mnemonic.endswith("32") else 8
    for lane in wave.active_lanes():
        base = address_of(wave, instruction.operands[0], lane)
        for operand, address in zip(instruction.operands[1:3], two_addresses(instruction, base, size), strict=True):
            store(wave, address, size, registers(wave, operand, lane, size // 4))


OPERATIONS = {
    "add_u32": "add",
    "sub_u32": "sub",
    "rsub_u32": "rsub",
    "inc_u32": "inc",
    "dec_u32": "dec",
    "min_i32": "smin",
    "max_i32": "smax",
    "min_u32": "umin",
    "max_u32": "umax",
    "and_b32": "and",
    "or_b32": "or",
    "xor_b32": "xor",
    "add_f32": "add_f",
    "min_f32": "min_f",
    "max_f32": "max_f",
    "min_num_f32": "min_f",
    "max_num_f32": "max_f",
    "sub_clamp_u32": "csub",
    "cond_sub_u32": "cond_sub",
}
OPERATIONS |= {k.replace("32", "64"): v for k, v in OPERATIONS.items() if k not in ("sub_clamp_u32", "cond_sub_u32")}
OPERATIONS |= {"pk_add_f16": "pk_add_f16", "pk_add_bf16": "pk_add_bf16"}


def with_return(name: str) -> str:
    """add_u32 -> add_rtn_u32, cond_sub_u32 -> cond_sub_rtn_u32"""
    stem, kind = name.rsplit("_", 1)
    return f"{stem}_rtn_{kind}"


def atomic(name: str, operation: str, returns: bool) -> None:
    bits = 64 if name.endswith("64") else 32

    def on_wave(wave: Wave, instruction: Instruction) -> None:
        operands = instruction.operands[1:] if returns else instruction.operands
        for lane in wave.active_lanes():
            address = address_of(wave, operands[0], lane) + instruction.number("offset")
            old = load(wave, address, bits // 8)
            data = registers(wave, operands[1], lane, bits // 32)
            store(wave, address, bits // 8, updated(operation, bits, old, data))
            if returns:
                put(wave, instruction.operands[0], lane, bits // 32, old)

    model(f"ds_{with_return(name) if returns else name}")(on_wave)


for name, operation in OPERATIONS.items():
    atomic(name, operation, False)
    atomic(name, operation, True)
for name in ("wrxchg_rtn_b32", "wrxchg_rtn_b64", "storexchg_rtn_b32", "storexchg_rtn_b64"):

    def exchange(wave: Wave, instruction: Instruction) -> None:
        size = 8 if instruction.mnemonic.endswith("64") else 4
        for lane in wave.active_lanes():
            address = address_of(wave, instruction.operands[1], lane) + instruction.number("offset")
            old = load(wave, address, size)
            store(wave, address, size, registers(wave, instruction.operands[2], lane, size // 4))
            put(wave, instruction.operands[0], lane, size // 4, old)

    model(f"ds_{name}")(exchange)


def compare_and_store(name: str, new_first: bool) -> None:
    """ds_cmpst takes what to compare with first, ds_cmpstore what to store."""
    returns, bits = "_rtn_" in name, 64 if name.endswith("64") else 32

    def on_wave(wave: Wave, instruction: Instruction) -> None:
        operands = instruction.operands[1:] if returns else instruction.operands
        for lane in wave.active_lanes():
            address = address_of(wave, operands[0], lane) + instruction.number("offset")
            first, second = (registers(wave, o, lane, bits // 32) for o in operands[1:3])
            compare, new = (second, first) if new_first else (first, second)
            old = load(wave, address, bits // 8)
            if equal(name, bits, old, compare):
                store(wave, address, bits // 8, new)
            if returns:
                put(wave, instruction.operands[0], lane, bits // 32, old)

    model(name)(on_wave)


for bits in (32, 64):
    for middle in ("", "rtn_"):
        for kind in "bf":
            compare_and_store(f"ds_cmpst_{middle}{kind}{bits}", False)
            compare_and_store(f"ds_cmpstore_{middle}{kind}{bits}", True)


@model(*(f"ds_{n}_rtn_b{b}" for b in (32, 64) for n in ("wrxchg2", "wrxchg2st64")))
@model(*(f"ds_{n}_rtn_b{b}" for b in (32, 64) for n in ("storexchg_2addr", "storexchg_2addr_stride64")))
def exchange_two(wave: Wave, instruction: Instruction) -> None:
    size = 4 if instruction.mnemonic.endswith("32") else 8
    for lane in wave.active_lanes():
        base = address_of(wave, instruction.operands[1], lane)
        places = two_addresses(instruction, base, size)
        low, high = (load(wave, a, size) for a in places)
        for operand, address in zip(instruction.operands[2:4], places, strict=True):
            store(wave, address, size, registers(wave, operand, lane, size // 4))
        put(wave, instruction.operands[0], lane, size // 2, low | high << (8 * size))


@model("ds_wrap_rtn_b32")
def wrap(wave: Wave, instruction: Instruction) -> None:
    for lane in wave.active_lanes():
        address = address_of(wave, instruction.operands[1], lane) + instruction.number("offset")
        old = load(wave, address, 4)
        limit, more = (registers(wave, o, lane, 1) for o in instruction.operands[2:4])
        store(wave, address, 4, old - limit if old >= limit else old + more)
        put(wave, instruction.operands[0], lane, 1, old)


@model("ds_condxchg32_rtn_b64")
def exchange_where_marked(wave: Wave, instruction: Instruction) -> None:
    """Two words; each is replaced where the top bit of the new one is set, which itself is not stored."""
    for lane in wave.active_lanes():
        address = address_of(wave, instruction.operands[1], lane) + instruction.number("offset")
        old = load(wave, address, 8)
        for i in range(2):
            new = wave.read_lane("v", instruction.operands[2].register + i, lane)
            if new >> 31:
                store(wave, address + 4 * i, 4, new & 0x7FFFFFFF)
        put(wave, instruction.operands[0], lane, 2, old)


@model("ds_mskor_b32", "ds_mskor_rtn_b32", "ds_mskor_b64", "ds_mskor_rtn_b64")
def masked_or(wave: Wave, instruction: Instruction) -> None:
    returns, size = "_rtn_" in instruction.mnemonic, 8 if instruction.mnemonic.endswith("64") else 4
    operands = instruction.operands[1:] if returns else instruction.operands
    for lane in wave.active_lanes():
        address = address_of(wave, operands[0], lane) + instruction.number("offset")
        old = load(wave, address, size)
        clear, set_ = (registers(wave, o, lane, size // 4) for o in operands[1:3])
        store(wave, address, size, old & ~clear | set_)
        if returns:
            put(wave, instruction.operands[0], lane, size // 4, old)


@model("ds_append", "ds_consume")
def count_lanes(wave: Wave, instruction: Instruction) -> None:
    address = (wave.m0 & 0xFFFF) + instruction.number("offset")
    old = load(wave, address, 4)
    count = wave.exec.bit_count()
    store(wave, address, 4, (old + count if instruction.mnemonic == "ds_append" else old - count) & 0xFFFFFFFF)
    for lane in wave.active_lanes():
        put(wave, instruction.operands[0], lane, 1, old)


@model("ds_read_addtid_b32", "ds_load_addtid_b32")
def read_at_lane(wave: Wave, instruction: Instruction) -> None:
    for lane in wave.active_lanes():
        address = (wave.m0 & 0xFFFF) + instruction.number("offset") + 4 * lane
        put(wave, instruction.operands[0], lane, 1, load(wave, address, 4))


@model("ds_write_addtid_b32", "ds_store_addtid_b32")
def write_at_lane(wave: Wave, instruction: Instruction) -> None:
    for lane in wave.active_lanes():
        address = (wave.m0 & 0xFFFF) + instruction.number("offset") + 4 * lane
        store(wave, address, 4, registers(wave, instruction.operands[0], lane, 1))


@model("ds_read_b64_tr_b16", "ds_read_b64_tr_b8", "ds_read_b64_tr_b4", "ds_read_b96_tr_b6")
def read_transposed(wave: Wave, instruction: Instruction) -> None:
    """16 lanes read a matrix of rows of 16 elements; each lane gets a column of it."""
    bits = int(instruction.mnemonic.rsplit("_b", 1)[1])
    size = 12 if bits == 6 else 8
    rows = 8 * size // bits
    matrix: dict[int, list[int]] = {}
    for group in range(0, wave.size, 16):
        stream = []
        for lane in range(group, group + 16):
            address = address_of(wave, instruction.operands[1], lane) + instruction.number("offset")
            word = load(wave, address, size) if wave.active(lane) else 0
            stream += [word >> (bits * e) & ((1 << bits) - 1) for e in range(rows)]
        matrix[group] = stream
    for lane in wave.active_lanes():
        column = [matrix[lane & ~15][16 * row + lane % 16] for row in range(rows)]
        put(wave, instruction.operands[0], lane, size // 4, sum(x << (bits * row) for row, x in enumerate(column)))
