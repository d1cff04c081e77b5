"""Which function models which mnemonic, and how a lane's operands reach it."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from . import softfloat as sf
from .dpp import dpp_source, is_dpp
from .sdwa import sdwa_read, sdwa_write
from .softfloat import F16, F32, FORMATS, Format
from .state import MASK32, VCC, Environment, Wave, generation
from .text import Instruction, Operand, base_mnemonic, float_bits, parse

__all__ = ["MODELS", "base_mnemonic", "lanewise", "model", "run"]

MODELS: dict[str, Callable[[Wave, Instruction], None]] = {}
APPROXIMATE: set[str] = set()  # the hardware's own tables decide the last bit

WIDTH = {"16": 16, "32": 32, "64": 64, "24": 32, "96": 96, "128": 128, "8": 32}


@functools.cache
def width_of(kind: str) -> int:
    return WIDTH[kind.lstrip("abcdefghijklmnopqrstuvwxyz")]


def format_of(kind: str) -> Format | None:
    return FORMATS.get(kind)


def signed(value: int, bits: int) -> int:
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


def model(*names: str) -> Callable[[Callable[[Wave, Instruction], None]], Callable[[Wave, Instruction], None]]:
    """Register a function on the whole wave."""

    def register(function: Callable[[Wave, Instruction], None]) -> Callable[[Wave, Instruction], None]:
        for name in names:
            assert name not in MODELS, f"{name} is modelled twice"
            MODELS[name] = function
        return function

    return register


def run(wave: Wave, line: str) -> None:
    """Carry one instruction out; both halves of a `::` pair read the registers as they were before."""
    if "::" in line:
        first, second = (part.strip().replace("v_dual_", "v_", 1) for part in line.split("::"))
        other = wave.copy()
        run(wave, first)
        run(other, second)
        register = parse(second).operands[0].register
        wave.v[register] = other.v[register]
        return
    instruction = parse(line)
    MODELS[instruction.mnemonic](wave, instruction)


def scalar_dwords(wave: Wave, register: int, count: int) -> int:
    return sum(wave.s[register + i] << (32 * i) for i in range(count))


def constant_bits(operand: Operand, kind: str) -> int:
    """An inline constant or literal as an operand of this kind reads it."""
    width = width_of(kind)
    f = format_of(kind) or {16: F16, 32: F32, 64: sf.F64}.get(width, F32)
    if operand.number is not None:
        return float_bits(f, operand.number)
    value = operand.value
    if width == 64 and kind == "f64" and not -16 <= value <= 64:
        return (value & MASK32) << 32  # a literal is the high half of a double
    return value & ((1 << width) - 1)


def read_raw(wave: Wave, operand: Operand, kind: str, lane: int) -> int:
    """The operand's bits, before modifiers."""
    width = width_of(kind)
    dwords = max(1, width // 32)
    if operand.kind in ("v", "a"):
        bits = wave.read_lane(operand.kind, operand.register, lane)
        for i in range(1, dwords):
            bits |= wave.read_lane(operand.kind, operand.register + i, lane) << (32 * i)
        if operand.half == "h":
            bits >>= 16
        return bits & ((1 << width) - 1)
    if operand.kind == "s":
        return scalar_dwords(wave, operand.register, dwords) & ((1 << width) - 1)
    if operand.kind == "exec":
        return (wave.exec >> (32 * operand.register)) & ((1 << width) - 1)
    if operand.kind == "scc":
        return wave.scc
    if operand.kind == "constant":
        return constant_bits(operand, kind)
    if operand.kind == "null":
        return 0
    raise ValueError(f"cannot read operand {operand.text}")


def modified(bits: int, operand: Operand, kind: str) -> int:
    """Absolute value and negation of a floating-point source; sign as Python's for integer kinds."""
    f = format_of(kind)
    if f is not None:
        bits = bits & ~f.sign_bit if operand.absolute else bits
        return sf.negate(f, bits) if operand.negative else bits
    if operand.absolute or operand.negative:
        top = 1 << (width_of(kind) - 1)  # v_cndmask and v_mov treat the bits as a float's
        bits = bits & ~top if operand.absolute else bits
        bits = bits ^ top if operand.negative else bits
    return signed(bits, width_of(kind)) if kind.startswith("i") else bits


def read_mask(wave: Wave, operand: Operand) -> int:
    """A lane mask in scalar registers."""
    if operand.kind == "exec":
        return wave.exec
    if operand.kind == "constant":
        return operand.value & wave.all_lanes
    return scalar_dwords(wave, operand.register, 2 if wave.size == 64 else 1)


def write_mask(wave: Wave, operand: Operand, value: int) -> None:
    if operand.kind == "exec":
        wave.exec = value
    elif operand.kind == "s":
        for i in range(2 if wave.size == 64 else 1):
            wave.s[operand.register + i] = value >> (32 * i) & MASK32
    else:
        assert operand.kind == "null", operand.text


def clamp_float(f: Format, x: int, env: Environment) -> int:
    if sf.is_nan(f, x):
        return 0 if env.generation >= 12 or env.wave.mode >> 8 & 1 else x
    if sf.sign_of(f, x):
        return 0
    return min(x, f.one)


def output_scale(f: Format, x: int, instruction: Instruction, env: Environment) -> int:
    power = {"mul:2": 1, "mul:4": 2, "div:2": -1}
    for key in ("mul", "div"):
        if key in instruction.modifiers:
            x = sf.scale(f, x, power[f"{key}:{instruction.modifiers[key]}"], env.rounding(f))
            x = 0 if sf.is_zero(f, x) else x
    return x


def write_vector(wave: Wave, operand: Operand, kind: str, lane: int, bits: int, high: bool, zero_rest: bool) -> None:
    """Write a result of this kind; a 16-bit one into the low or high half."""
    width = width_of(kind)
    bits &= (1 << width) - 1
    if operand.kind == "s":
        for i in range(max(1, width // 32)):
            wave.s[operand.register + i] = bits >> (32 * i) & MASK32
        return
    if width == 16:
        old = wave.read_lane(operand.kind, operand.register, lane)
        if high or operand.half == "h":
            bits = old & 0xFFFF | bits << 16
        elif not zero_rest:
            bits = old & 0xFFFF0000 | bits
    for i in range(max(1, width // 32)):
        wave.write_lane(operand.kind, operand.register + i, lane, bits >> (32 * i) & MASK32)


def lanewise(
    names: str, result: str, sources: str, function: Callable[..., Any], *, raw: bool = False, keeps_high: bool = False
) -> None:
    """Register a function of one lane's operands: `f(env, a, b, ...)`.

    Kinds of operand: u32 i32 f32 f16 bf16 f64 u64 ... and "mask" (the lane's bit of a scalar mask). A source
    "old:f32" is the destination's former value. `result` may be "mask" or, with a carry, "u32+mask". Floating-point
    sources lose denormals as MODE asks and results too, unless `raw`. `keeps_high`: a 16-bit result leaves the other
    half alone on every target (most instructions of gfx9 clear it).
    """
    kinds = sources.split()
    results = result.split("+")

    def on_wave(wave: Wave, instruction: Instruction) -> None:
        _run_lanewise(wave, instruction, results, kinds, function, raw, keeps_high)

    for name in names.split():
        assert name not in MODELS, f"{name} is modelled twice"
        MODELS[name] = on_wave
        on_wave.__doc__ = result


def _run_lanewise(
    wave: Wave,
    instruction: Instruction,
    results: list[str],
    kinds: list[str],
    function: Callable[..., Any],
    raw: bool,
    keeps_high: bool,
) -> None:
    operands = list(instruction.operands)
    compares_exec = instruction.mnemonic.startswith("v_cmpx") and generation(wave.target) >= 10
    if compares_exec and operands[0].kind == "exec" and len(operands) > 2:
        operands = operands[1:]
    destinations = [] if compares_exec else operands[: len(results)]
    texts = operands[len(destinations) :]
    select = instruction.bits("op_sel", 4)
    moves = is_dpp(instruction)
    masks = [0] * len(results)
    if kinds[-1] == "mask" and len(texts) == sum(not k.startswith("old:") for k in kinds) - 1:
        texts = [*texts, Operand("s", VCC, 2)]  # implied, as in v_dual_cndmask
    given = sum(not k.startswith("old:") for k in kinds)
    high_result = bool(select[given]) if given < 4 else False  # the last op_sel bit is the result's
    for lane in wave.active_lanes():
        env = Environment(wave, lane, "clamp" in instruction.modifiers)
        source_lane, zero, enabled = lane, False, True
        if moves:
            source_lane, zero, enabled = dpp_source(wave, instruction, lane)
        if not enabled:
            continue
        arguments = []
        position = 0
        for kind in kinds:
            if kind.startswith("old:"):
                value = read_raw(wave, destinations[0], kind[4:], lane)
                if width_of(kind[4:]) == 16 and high_result and destinations[0].kind == "v":
                    value = wave.read_lane("v", destinations[0].register, lane) >> 16
                arguments.append(_prepare(env, value, destinations[0], kind[4:], raw))
                continue
            operand = texts[position]
            if kind == "mask":
                arguments.append(read_mask(wave, operand) >> lane & 1)
            else:
                at = source_lane if position == 0 else lane
                value = 0 if zero and position == 0 else read_raw(wave, operand, kind, at)
                if instruction.suffix == "_sdwa" and position < 2:
                    whole = 0 if zero and position == 0 else read_raw(wave, operand, "u32", at)
                    value = sdwa_read(instruction, operand, position, whole, width_of(kind))
                elif width_of(kind) == 16 and select[position] and operand.kind in ("v", "a", "s"):
                    value = read_raw(wave, operand, "u32", at) >> 16
                arguments.append(_prepare(env, value, operand, kind, raw))
            position += 1
        assert position == given
        outcome = function(env, *arguments)
        outcomes = outcome if isinstance(outcome, tuple) else (outcome,)
        for index, (kind, bits) in enumerate(zip(results, outcomes, strict=True)):
            if kind == "mask":
                masks[index] |= int(bool(bits)) << lane
                continue
            f = format_of(kind)
            if f is not None and not raw:
                bits = output_scale(f, env.flush_output(f, bits), instruction, env)
                bits = clamp_float(f, bits, env) if env.clamp else bits
            if instruction.suffix == "_sdwa":
                sdwa_write(wave, instruction, destinations[index], lane, bits, width_of(kind))
                continue
            zero_rest = generation(wave.target) == 9 and not keeps_high and not destinations[index].half
            write_vector(wave, destinations[index], kind, lane, bits, high_result, zero_rest and not high_result)
    for index, kind in enumerate(results):
        if kind == "mask":
            if instruction.mnemonic.startswith("v_cmpx"):
                wave.exec = masks[index]
            for destination in destinations[index : index + 1]:
                write_mask(wave, destination, masks[index])


def _prepare(env: Environment, bits: int, operand: Operand, kind: str, raw: bool) -> int:
    value = modified(bits, operand, kind)
    f = format_of(kind)
    return env.flush_input(f, value) if f is not None and not raw else value
