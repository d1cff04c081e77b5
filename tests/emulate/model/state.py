"""The registers and memory of one wave, and the floating-point environment its MODE register asks for."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

from .softfloat import F32, Format, flush

VCC, M0 = 106, 124
MASK32, MASK64 = 0xFFFFFFFF, 0xFFFFFFFFFFFFFFFF
DEFAULT_MODE = 0xF0 | 1 << 8 | 1 << 9  # nearest, denormals kept, DX10_CLAMP, IEEE


def is_gfx9(target: str) -> bool:
    return target in ("gfx90a", "gfx942", "gfx950")


def generation(target: str) -> int:
    """9 for the CDNA parts, 10, 11 or 12 for the RDNA ones."""
    return 9 if is_gfx9(target) else int(target[3:5])


@dataclass
class Wave:
    target: str
    size: int
    s: list[int] = field(default_factory=lambda: [0] * 128)
    v: dict[int, list[int]] = field(default_factory=dict)
    a: dict[int, list[int]] = field(default_factory=dict)
    exec: int = 0
    scc: int = 0
    mode: int = DEFAULT_MODE
    lds: bytearray = field(default_factory=bytearray)
    memory: bytearray = field(default_factory=bytearray)
    memory_base: int = 0  # the device address of memory[0]
    scratch: dict[int, bytearray] = field(default_factory=lambda: defaultdict(lambda: bytearray(256)))

    def bank(self, name: str) -> dict[int, list[int]]:
        return self.a if name == "a" else self.v

    def read_lane(self, bank: str, register: int, lane: int) -> int:
        registers = self.bank(bank)
        return registers[register][lane] if register in registers else 0

    def write_lane(self, bank: str, register: int, lane: int, value: int) -> None:
        self.bank(bank).setdefault(register, [0] * self.size)[lane] = value & MASK32

    def active(self, lane: int) -> bool:
        return bool(self.exec >> lane & 1)

    def active_lanes(self) -> list[int]:
        return [lane for lane in range(self.size) if self.exec >> lane & 1]

    @property
    def all_lanes(self) -> int:
        return (1 << self.size) - 1

    @property
    def m0(self) -> int:
        return self.s[M0]

    def copy(self) -> Wave:
        return Wave(
            self.target,
            self.size,
            list(self.s),
            {r: list(x) for r, x in self.v.items()},
            {r: list(x) for r, x in self.a.items()},
            self.exec,
            self.scc,
            self.mode,
            bytearray(self.lds),
            bytearray(self.memory),
            self.memory_base,
            defaultdict(lambda: bytearray(256), {k: bytearray(b) for k, b in self.scratch.items()}),
        )


@dataclass(frozen=True)
class Environment:
    """What an instruction's arithmetic needs to know besides its operands."""

    wave: Wave
    lane: int = 0
    clamp: bool = False

    @property
    def target(self) -> str:
        return self.wave.target

    @property
    def generation(self) -> int:
        return generation(self.wave.target)

    @property
    def ieee(self) -> bool:
        return self.generation >= 12 or bool(self.wave.mode >> 9 & 1)

    def rounding(self, f: Format) -> int:
        return self.wave.mode >> (0 if f is F32 else 2) & 3

    def flush_input(self, f: Format, x: int) -> int:
        """Denormal modes 0 and 2 do not let denormals in."""
        keeps = self.wave.mode >> (4 if f is F32 else 6) & 1
        return x if keeps else flush(f, x)

    def flush_output(self, f: Format, x: int) -> int:
        keeps = self.wave.mode >> (5 if f is F32 else 7) & 1
        return x if keeps else flush(f, x)
