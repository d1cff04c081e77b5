"""Global, flat, buffer, scratch and scalar memory instructions."""

from __future__ import annotations

from .atomics import equal, updated
from .registry import model, read_raw, scalar_dwords, signed
from .state import Wave, generation
from .text import Instruction, Operand

SPACES = ("global", "flat", "buffer", "scratch")


def load(wave: Wave, address: int, size: int) -> int:
    at = address - wave.memory_base
    assert at >= 0 and at + size <= len(wave.memory), "a test address outside the model's memory"
    return int.from_bytes(wave.memory[at : at + size], "little")


def store(wave: Wave, address: int, size: int, value: int) -> None:
    at = address - wave.memory_base
    assert at >= 0 and at + size <= len(wave.memory), "a test address outside the model's memory"
    wave.memory[at : at + size] = (value & ((1 << (8 * size)) - 1)).to_bytes(size, "little")


def wide_address(wave: Wave, instruction: Instruction, first: int, lane: int, size: int) -> int:
    """Address of a global or flat access whose address operand is number `first` and base `first + 1` (or "off")."""
    vector, offset = instruction.operands[first], instruction.number("offset")
    base = instruction.operands[first + 1] if len(instruction.operands) > first + 1 else None
    if base is not None and base.kind == "s" and "flat" not in instruction.mnemonic:
        low = read_raw(wave, vector, "u32", lane) if vector.kind == "v" else 0
        if wave.target == "gfx1250":
            low = signed(low, 32) * (size if "scale_offset" in instruction.modifiers else 1)
        return (scalar_dwords(wave, base.register, 2) + low + offset) & (1 << 64) - 1
    return (read_raw(wave, vector, "u64", lane) + offset) & (1 << 64) - 1


def buffer_address(wave: Wave, instruction: Instruction, first: int, lane: int, size: int) -> int | None:
    """Address of a raw or structured buffer access, or None where it is out of range."""
    vector, resource, scalar_offset = instruction.operands[first : first + 3]
    words = [wave.s[resource.register + i] for i in range(4)]
    base, stride, records = words[0] | (words[1] & 0xFFFF) << 32, words[1] >> 16 & 0x3FFF, words[2]
    if wave.target == "gfx1250":
        whole = sum(word << 32 * i for i, word in enumerate(words))
        base, records, stride = whole & (1 << 57) - 1, whole >> 57 & (1 << 45) - 1, whole >> 108 & 0x3FFF
    index = offset = 0
    at = vector.register
    if "idxen" in instruction.modifiers:
        index = wave.read_lane("v", at, lane)
        at += 1
    if "offen" in instruction.modifiers:
        offset = wave.read_lane("v", at, lane)
    offset += instruction.number("offset")
    uniform = read_raw(wave, scalar_offset, "u32", 0)
    structured = stride != 0 and "idxen" in instruction.modifiers
    if structured:
        if index >= records or (generation(wave.target) >= 10 and offset >= stride):
            return None
    elif offset + size + uniform > records:
        return None
    return base + uniform + offset + stride * index


def scratch_place(wave: Wave, instruction: Instruction, first: int, lane: int) -> int:
    total = instruction.number("offset")
    for operand in instruction.operands[first : first + 2]:
        if operand.kind in ("v", "s"):
            total += read_raw(wave, operand, "u32", lane)
    return total


class Access:
    """Where one lane's bytes are, whichever instruction names them."""

    def __init__(self, wave: Wave, instruction: Instruction, first: int, lane: int, size: int) -> None:
        self.wave, self.size, self.lane = wave, size, lane
        self.space = instruction.mnemonic.split("_")[0]
        if self.space == "buffer":
            self.address = buffer_address(wave, instruction, first, lane, size)
        elif self.space == "scratch":
            self.address = scratch_place(wave, instruction, first, lane)
        else:
            self.address = wide_address(wave, instruction, first, lane, size)

    def read(self) -> int:
        if self.address is None:
            return 0
        if self.space == "scratch":
            return int.from_bytes(self.wave.scratch[self.lane][self.address : self.address + self.size], "little")
        return load(self.wave, self.address, self.size)

    def write(self, value: int) -> None:
        value &= (1 << (8 * self.size)) - 1
        if self.address is None:
            return
        if self.space == "scratch":
            data = value.to_bytes(self.size, "little")
            self.wave.scratch[self.lane][self.address : self.address + self.size] = data
        else:
            store(self.wave, self.address, self.size, value)


def words_of(wave: Wave, operand: Operand, lane: int, count: int) -> int:
    return sum(wave.read_lane(operand.kind, operand.register + i, lane) << (32 * i) for i in range(count))


def loading(stems: str, size: int, extend: str = "", half: str = "") -> None:
    def on_wave(wave: Wave, instruction: Instruction) -> None:
        destination = instruction.operands[0]
        if "lds" in instruction.modifiers:
            store_in_lds(wave, instruction, size, extend)
            return
        results = {}
        for lane in wave.active_lanes():
            value = Access(wave, instruction, 1, lane, size).read()
            value = signed(value, 8 * size) if extend == "i" else value
            old = wave.read_lane(destination.kind, destination.register, lane)
            if half == "low":
                value = old & 0xFFFF0000 | value & 0xFFFF
            elif half == "high":
                value = old & 0xFFFF | (value & 0xFFFF) << 16
            results[lane] = value
        for lane, value in results.items():
            for i in range(max(1, size // 4)):
                wave.write_lane(destination.kind, destination.register + i, lane, value >> (32 * i))

    model(*(f"{space}_{stem}" for space in SPACES for stem in stems.split()))(on_wave)


def store_in_lds(wave: Wave, instruction: Instruction, size: int, extend: str) -> None:
    """Lane after lane to M0 + offset + lane * size; parts of a word are extended to a whole one."""
    stride = max(size, 4)
    for lane in wave.active_lanes():
        value = Access(wave, instruction, 0, lane, size).read()
        value = signed(value, 8 * size) if extend == "i" else value
        at = (wave.m0 & 0xFFFF) + instruction.number("offset") + lane * stride
        wave.lds[at : at + stride] = (value & ((1 << (8 * stride)) - 1)).to_bytes(stride, "little")


def storing(stems: str, size: int, high: bool = False) -> None:
    def on_wave(wave: Wave, instruction: Instruction) -> None:
        buffer = instruction.mnemonic.startswith("buffer")
        data = instruction.operands[0 if buffer else 1]
        for lane in wave.active_lanes():
            value = words_of(wave, data, lane, max(1, size // 4))
            if buffer:
                access = Access(wave, instruction, 1, lane, size)
            else:
                operands = (instruction.operands[0], *instruction.operands[2:])
                access = Access(
                    wave, Instruction(instruction.mnemonic, "", operands, instruction.modifiers), 0, lane, size
                )
            access.write(value >> 16 if high else value)

    model(*(f"{space}_{stem}" for space in SPACES for stem in stems.split()))(on_wave)


for size, old_name, new_name in (
    (4, "dword", "b32"),
    (8, "dwordx2", "b64"),
    (12, "dwordx3", "b96"),
    (16, "dwordx4", "b128"),
):
    loading(f"load_{old_name} load_{new_name}", size)
    storing(f"store_{old_name} store_{new_name}", size)
loading("load_ubyte load_u8", 1)
loading("load_sbyte load_i8", 1, "i")
loading("load_ushort load_u16", 2)
loading("load_sshort load_i16", 2, "i")
loading("load_ubyte_d16 load_d16_u8", 1, "u", "low")
loading("load_sbyte_d16 load_d16_i8", 1, "i", "low")
loading("load_short_d16 load_d16_b16", 2, "u", "low")
loading("load_ubyte_d16_hi load_d16_hi_u8", 1, "u", "high")
loading("load_sbyte_d16_hi load_d16_hi_i8", 1, "i", "high")
loading("load_short_d16_hi load_d16_hi_b16", 2, "u", "high")
storing("store_byte store_b8", 1)
storing("store_short store_b16", 2)
storing("store_byte_d16_hi store_d16_hi_b8", 1, high=True)
storing("store_short_d16_hi store_d16_hi_b16", 2, high=True)

ATOMICS = {  # name -> (operation, bits)
    "swap": ("swap", 32),
    "add": ("add", 32),
    "sub": ("sub", 32),
    "smin": ("smin", 32),
    "umin": ("umin", 32),
    "smax": ("smax", 32),
    "umax": ("umax", 32),
    "and": ("and", 32),
    "or": ("or", 32),
    "xor": ("xor", 32),
    "inc": ("inc", 32),
    "dec": ("dec", 32),
}
ATOMICS |= {f"{k}_x2": (op, 64) for k, (op, _) in list(ATOMICS.items())}
ATOMICS |= {
    "add_f32": ("add_f", 32),
    "add_f64": ("add_f", 64),
    "min_f64": ("min_f", 64),
    "max_f64": ("max_f", 64),
    "pk_add_f16": ("pk_add_f16", 32),
    "pk_add_bf16": ("pk_add_bf16", 32),
    "fmin": ("min_f", 32),
    "fmax": ("max_f", 32),
    "fmin_x2": ("min_f", 64),
    "fmax_x2": ("max_f", 64),
    "min_f32": ("min_f", 32),
    "max_f32": ("max_f", 32),
    "min_num_f64": ("min_f", 64),
    "max_num_f64": ("max_f", 64),
    "min_num_f32": ("min_f", 32),
    "max_num_f32": ("max_f", 32),
    "csub": ("csub", 32),
    "csub_u32": ("csub", 32),
    "sub_clamp_u32": ("csub", 32),
    "cond_sub_u32": ("cond_sub", 32),
}
for bits in (32, 64):
    ATOMICS |= {
        f"swap_b{bits}": ("swap", bits),
        f"add_u{bits}": ("add", bits),
        f"sub_u{bits}": ("sub", bits),
        f"min_i{bits}": ("smin", bits),
        f"min_u{bits}": ("umin", bits),
        f"max_i{bits}": ("smax", bits),
        f"max_u{bits}": ("umax", bits),
        f"and_b{bits}": ("and", bits),
        f"or_b{bits}": ("or", bits),
        f"xor_b{bits}": ("xor", bits),
        f"inc_u{bits}": ("inc", bits),
        f"dec_u{bits}": ("dec", bits),
    }


def returns_old(wave: Wave, instruction: Instruction) -> bool:
    """Whether the old value comes back: sc0 or glc, or th:TH_ATOMIC_RETURN on gfx12."""
    m = instruction.modifiers
    return "glc" in m or "sc0" in m or "RETURN" in m.get("th", "")


def atomic_access(wave: Wave, instruction: Instruction, lane: int, size: int) -> tuple[Access, Operand, Operand | None]:
    """The place, the data operand, and the destination where the old value is wanted."""
    operands = instruction.operands
    if instruction.mnemonic.startswith("buffer"):
        destination = operands[0] if returns_old(wave, instruction) else None
        return Access(wave, instruction, 1, lane, size), operands[0], destination
    destination = operands[0] if returns_old(wave, instruction) else None
    rest = operands[1:] if destination is not None else operands
    plain = Instruction(instruction.mnemonic, "", (rest[0], *rest[2:]), instruction.modifiers)
    return Access(wave, plain, 0, lane, size), rest[1], destination


@model(*(f"{space}_atomic_{name}" for space in SPACES[:3] for name in ATOMICS))
def atomic(wave: Wave, instruction: Instruction) -> None:
    operation, bits = ATOMICS[instruction.mnemonic.split("_atomic_")[1]]
    for lane in wave.active_lanes():
        access, data, destination = atomic_access(wave, instruction, lane, bits // 8)
        value = words_of(wave, data, lane, bits // 32)
        old = access.read()
        access.write(updated(operation, bits, old, value))
        if destination is not None:
            for i in range(bits // 32):
                wave.write_lane(destination.kind, destination.register + i, lane, old >> (32 * i))


@model(
    *(
        f"{space}_atomic_{name}"
        for space in SPACES[:3]
        for name in (
            "cmpswap",
            "cmpswap_x2",
            "cmpswap_b32",
            "cmpswap_b64",
            "fcmpswap",
            "fcmpswap_x2",
            "cmpswap_f32",
        )
    )
)
def compare_and_swap(wave: Wave, instruction: Instruction) -> None:
    bits = 64 if instruction.mnemonic.endswith(("x2", "64")) else 32
    for lane in wave.active_lanes():
        access, data, destination = atomic_access(wave, instruction, lane, bits // 8)
        value = words_of(wave, data, lane, bits // 16)
        new, compare = value & (1 << bits) - 1, value >> bits
        old = access.read()
        if equal(instruction.mnemonic, bits, old, compare):
            access.write(new)
        if destination is not None:
            for i in range(bits // 32):
                wave.write_lane(destination.kind, destination.register + i, lane, old >> (32 * i))


LDS_LOADS = {
    "dword": (4, ""),
    "dwordx3": (12, ""),
    "dwordx4": (16, ""),
    "ubyte": (1, "u"),
    "sbyte": (1, "i"),
    "ushort": (2, "u"),
    "sshort": (2, "i"),
}


@model(*(f"global_load_lds_{name}" for name in LDS_LOADS))
@model(*(f"scratch_load_lds_{name}" for name in LDS_LOADS))
def load_to_lds(wave: Wave, instruction: Instruction) -> None:
    size, extend = LDS_LOADS[instruction.mnemonic.rsplit("_", 1)[1]]
    store_in_lds(wave, instruction, size, extend)


@model("global_load_dword_addtid", "global_load_addtid_b32", "global_store_dword_addtid", "global_store_addtid_b32")
def at_lane(wave: Wave, instruction: Instruction) -> None:
    """A word for each lane, lane after lane from a scalar address."""
    data = instruction.operands[0]
    base = scalar_dwords(wave, instruction.operands[1].register, 2) + instruction.number("offset")
    for lane in wave.active_lanes():
        if "_load_" in instruction.mnemonic:
            wave.write_lane("v", data.register, lane, load(wave, base + 4 * lane, 4))
        else:
            store(wave, base + 4 * lane, 4, wave.read_lane("v", data.register, lane))
