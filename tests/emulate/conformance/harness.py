"""One program on the engine and on the model, from the same start, and what differs."""

from __future__ import annotations

import random
from dataclasses import dataclass

import numpy as np

from kernel_pytorch.emulate.host_compiler import HostCompiler, find_host_compiler
from kernel_pytorch.emulate.single import Snippets, WaveState, build_snippets

from ..model import Wave, run
from ..model.registry import APPROXIMATE
from ..model.state import DEFAULT_MODE
from .operands import exec_patterns, whole_register
from .programs import MASK_SOURCE, SCALARS, SOURCES, WIDE, Program

VGPRS = 256
LDS_BYTES = 4096
SCRATCH_BYTES = 256


@dataclass(frozen=True)
class QuickCompiler(HostCompiler):
    """Compiles in a fifth of the time: tests run each function a few times only."""

    def flags(self, optimization: str) -> tuple[str, ...]:
        return tuple(flag for flag in super().flags("-O0") if flag != "-ftree-vectorize")


def quick_compiler() -> HostCompiler:
    found = find_host_compiler()
    return QuickCompiler(found.command, found.kind, found.version)


class Library:
    """Programs of one target and wave size, compiled; `as_shipped`: with the flags kernels are built with."""

    def __init__(self, programs: list[Program], mode: int = DEFAULT_MODE, as_shipped: bool = False) -> None:
        self.programs, self.mode = programs, mode
        compiler = find_host_compiler() if as_shipped else quick_compiler()
        texts = ["\n".join(program.lines) for program in programs]
        self._snippets: Snippets = build_snippets(texts, programs[0].target, programs[0].wave, mode, compiler=compiler)

    def run(self, index: int, start: Start) -> None:
        """Run one program on registers and memory, in place."""
        wave = self.programs[index].wave
        exec_mask = int(start.state[128]) | int(start.state[129]) << 32
        scalars = np.ascontiguousarray(start.state[:128])
        scratch = start.scratch.reshape(wave, SCRATCH_BYTES)
        held = WaveState(
            wave, scalars, start.v, start.a, start.lds, scratch, exec_mask, int(start.state[130]), int(start.state[131])
        )
        self._snippets.run(index, held)
        assert not held.faults, f"{self.programs[index].lines}: faults {held.faults[:3]}"
        start.state[:128] = scalars
        start.state[128:131] = held.exec & 0xFFFFFFFF, held.exec >> 32, held.scc


class Start:
    """Registers and memory before a program runs."""

    def __init__(self, program: Program, rng: random.Random, pattern: int, registers: int, mode: int) -> None:
        self.registers = registers
        size = program.wave
        bits = np.random.default_rng(rng.getrandbits(32))
        self.v = bits.integers(0, 1 << 32, (VGPRS, size), dtype=np.uint32)
        self.a = bits.integers(0, 1 << 32, (VGPRS, size), dtype=np.uint32)
        self.state = bits.integers(0, 1 << 32, 132, dtype=np.uint32)
        self.lds = bits.integers(0, 256, LDS_BYTES, dtype=np.uint8)
        self.scratch = bits.integers(0, 256, size * SCRATCH_BYTES, dtype=np.uint8)
        self.memory = bits.integers(0, 256, 1 << 14, dtype=np.uint8)
        self.state[128:130] = pattern & 0xFFFFFFFF, pattern >> 32
        self.state[130] = rng.getrandbits(1)
        self.state[131] = mode
        if size == 32:
            self.state[129] = 0
        for position, kind in program.kinds.items():
            if kind == "mask":
                continue
            for lane in range(size if registers > SOURCES[position] else 0):  # scalar programs read no lanes
                other = int(self.v[SOURCES[0], lane]) | int(self.v[SOURCES[0] + 1, lane]) << 32
                value = whole_register(kind, rng, other & (1 << (64 if kind in WIDE else 32)) - 1 if position else None)
                self.v[SOURCES[position], lane] = value & 0xFFFFFFFF
                if kind in WIDE:
                    self.v[SOURCES[position] + 1, lane] = value >> 32
            value = self._scalar(position, kind, rng)
            self.state[SCALARS[position]] = value & 0xFFFFFFFF
            if kind in WIDE:
                self.state[SCALARS[position] + 1] = value >> 32
        assert MASK_SOURCE < 128

    def _scalar(self, position: int, kind: str, rng: random.Random) -> int:
        """A scalar operand. There is one of it where a vector operand has a lane for each edge: it is often equal."""
        if not position:
            return whole_register(kind, rng)
        first = int(self.state[SCALARS[0]]) | int(self.state[SCALARS[0] + 1]) << 32
        first &= (1 << (64 if kind in WIDE else 32)) - 1
        return first if rng.random() < 0.3 else whole_register(kind, rng, first)

    def wave(self, program: Program) -> Wave:
        """The same start for the model."""
        wave = Wave(program.target, program.wave)
        wave.s = self.state[:128].tolist()
        wave.exec = int(self.state[128]) | int(self.state[129]) << 32
        wave.scc, wave.mode = int(self.state[130]), int(self.state[131])
        wave.v = dict(enumerate(self.v[: self.registers].tolist()))
        wave.a = dict(enumerate(self.a[: self.registers].tolist()))
        wave.lds = bytearray(self.lds.tobytes())
        wave.memory = bytearray(self.memory.tobytes())
        wave.memory_base = self.memory.ctypes.data
        for lane in range(program.wave):
            wave.scratch[lane] = bytearray(self.scratch[lane * SCRATCH_BYTES : (lane + 1) * SCRATCH_BYTES].tobytes())
        return wave


def is_nan(x: int, width: int, mantissa: int) -> bool:
    return x & ((1 << (width - 1)) - 1) > ((1 << (width - 1 - mantissa)) - 1) << mantissa


def both_nan(kind: str, x: int, y: int) -> bool:
    """Whether two words are the same but for the payload and sign of NaNs, as results of this kind."""
    if kind == "f32":
        return is_nan(x, 32, 23) and is_nan(y, 32, 23)
    mantissa = {"f16": 10, "bf16": 7}.get(kind)
    if mantissa is None:
        return False
    return all(
        (x >> s & 0xFFFF) == (y >> s & 0xFFFF)
        or (is_nan(x >> s & 0xFFFF, 16, mantissa) and is_nan(y >> s & 0xFFFF, 16, mantissa))
        for s in (0, 16)
    )


def steps_apart(x: int, y: int, width: int) -> int:
    top = 1 << (width - 1)
    order_x = top - x if x & top else x
    order_y = top - y if y & top else y
    return abs(order_x - order_y)


def close(kind: str, x: int, y: int) -> bool:
    """Within one step of each other, or the same denormal lost."""
    width, mantissa = {"f32": (32, 23), "f16": (16, 10), "f64": (64, 52)}[kind]
    if kind == "f16":
        x, y = x & 0xFFFF, y & 0xFFFF
    smallest = 1 << mantissa
    magnitude = (1 << (width - 1)) - 1
    if x & magnitude < smallest and y & magnitude < smallest:
        return True
    return steps_apart(x, y, width) <= 1


def result_kind(program: Program, row_result: str) -> str:
    """What floats a result register holds, for comparing NaNs."""
    name = program.name
    if "bf16" in name and not name.startswith(
        (
            "v_dot2_f32",
            "v_dot2c",
            "v_dot2acc",
            "v_mfma",
            "v_smfmac",
            "v_wmma_f32",
            "v_swmmac_f32",
            "v_cvt_f32",
            "v_fma_mix_f32",
        )
    ):
        return "bf16"
    if row_result in ("f16", "h16") or ("f16" in name and row_result in ("u32", "u16") and "dot2" not in name):
        return "f16"
    if name.startswith(("v_wmma_f16", "v_swmmac_f16", "v_dot2_f16")):
        return "f16"
    if row_result == "f64" or name.startswith("v_mfma_f64"):
        return "f64"
    if name.startswith(
        (
            "v_mfma_f32",
            "v_smfmac_f32",
            "v_wmma_f32",
            "v_wmma_scale_f32",
            "v_wmma_scale16_f32",
            "v_swmmac_f32",
            "v_cvt_pk_f32",
            "v_cvt_scalef32_pk_f32",
            "v_cvt_scale_pk8_f32",
        )
    ):
        return "f32"
    return "f32" if row_result == "f32" else ""


def differences(
    library: Library,
    index: int,
    row_result: str,
    rng: random.Random,
    pattern: int,
    registers: int = 96,
    prepare: object = None,
) -> list[str]:
    """Run a program on both; a line for the first few places where they differ."""
    program = library.programs[index]
    start = Start(program, rng, pattern, registers, library.mode)
    if callable(prepare):
        prepare(start)
    wave = start.wave(program)
    for line in program.lines:
        run(wave, line)
    before = start.v.copy()
    library.run(index, start)
    kind = result_kind(program, row_result)
    approximate = program.name in APPROXIMATE
    found = []
    for bank, mine, theirs in (("v", start.v, wave.v), ("a", start.a, wave.a)):
        model = np.array([theirs[r] for r in range(registers)], dtype=np.uint32)
        for register, lane in np.argwhere(mine[:registers] != model):
            x, y = int(mine[register, lane]), int(model[register, lane])
            if kind == "f64":
                base = register & ~1
                x, y = (int(m[base, lane]) | int(m[base + 1, lane]) << 32 for m in (mine, model))
                if is_nan(x, 64, 52) and is_nan(y, 64, 52):
                    continue
            elif both_nan(kind, x, y):
                continue
            if approximate and close(kind or "f32", x, y):
                continue
            operands = [hex(int(before[s, lane]) | int(before[s + 1, lane]) << 32) for s in SOURCES[:3]]
            found.append(f"{bank}{register} lane {lane}: engine {x:#x}, model {y:#x}, sources {operands}")
    final = [*wave.s, wave.exec & 0xFFFFFFFF, wave.exec >> 32, wave.scc]
    for i, (x, y) in enumerate(zip(start.state[:131], final, strict=True)):
        same = int(x) == y or (i >= 70 and both_nan(kind, int(x), y))
        if not same and not (approximate and i >= 70 and close(kind or "f32", int(x), y)):
            name = {128: "exec_lo", 129: "exec_hi", 130: "scc"}.get(i, f"s{i}")
            found.append(f"{name}: engine {int(x):#x}, model {y:#x}")
    for name, mine_bytes, model_bytes in (("LDS", start.lds, wave.lds), ("memory", start.memory, wave.memory)):
        different = np.flatnonzero(mine_bytes != np.frombuffer(bytes(model_bytes), dtype=np.uint8))
        if len(different):
            at = int(different[0])
            found.append(f"{name} byte {at}: engine {mine_bytes[at]:#x}, model {model_bytes[at]:#x}")
    for lane in range(program.wave):
        ours = start.scratch[lane * SCRATCH_BYTES : (lane + 1) * SCRATCH_BYTES].tobytes()
        if ours != bytes(wave.scratch[lane]):
            found.append(f"scratch of lane {lane} differs")
            break
    return [
        f"{program.target} {program.name} exec {pattern:#x}: {line}  [{'; '.join(program.lines)}]" for line in found
    ]


def patterns(program: Program, rng: random.Random) -> list[int]:
    return exec_patterns(program.wave, rng)
