"""The 16-bit immediates of scalar instructions as text: counts to wait for, hardware registers, messages, delays."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from kernel_pytorch.toolchain.machine_code.operands import EncodingError

#: Numbers to names, of hardware registers and of messages, as the table has them for a target.
Names = Mapping[tuple[str, int], str]
_INSTRUCTION_IDS = (
    "NO_DEP", "VALU_DEP_1", "VALU_DEP_2", "VALU_DEP_3", "VALU_DEP_4", "TRANS32_DEP_1", "TRANS32_DEP_2",
    "TRANS32_DEP_3", "FMA_ACCUM_CYCLE_1", "SALU_CYCLE_1", "SALU_CYCLE_2", "SALU_CYCLE_3",
)  # fmt: skip
_SKIPS = ("SAME", "NEXT", "SKIP_1", "SKIP_2", "SKIP_3", "SKIP_4")
# name, shift, ones, the first generation that has it
_DEPENDENCIES = (
    ("hold_cnt", 7, 1), ("sa_sdst", 0, 1), ("va_vdst", 12, 15), ("va_sdst", 9, 7), ("va_ssrc", 8, 1), ("va_vcc", 1, 1),
    ("vm_vsrc", 2, 7),
)  # fmt: skip


def _signed16(value: int) -> int:
    return value - 65536 if value >> 15 else value


def _small(value: int, _names: Names, _generation: int) -> str:
    number = _signed16(value)
    return str(number) if -16 <= number <= 64 else f"0x{value:x}"


def _count(value: int, _names: Names, _generation: int) -> str:
    return str(value) if value <= 64 else f"0x{value:x}"


def _waits(value: int, _names: Names, generation: int) -> str:
    if generation >= 11:
        counts = {"vmcnt": (value >> 10, 63), "expcnt": (value & 7, 7), "lgkmcnt": (value >> 4 & 63, 63)}
    else:
        lgkm = (value >> 8 & 15, 15) if generation == 9 else (value >> 8 & 63, 63)
        counts = {"vmcnt": (value & 15 | value >> 10 & 48, 63), "expcnt": (value >> 4 & 7, 7), "lgkmcnt": lgkm}
    waits = [f"{name}({count})" for name, (count, most) in counts.items() if count != most]
    return " ".join(waits or [f"{name}({count})" for name, (count, _) in counts.items()])


def _register(value: int, names: Names, _generation: int) -> str:
    number, offset, width = value & 63, value >> 6 & 31, (value >> 11) + 1
    name = names.get(("HWREG", number), str(number))
    return f"hwreg({name})" if (offset, width) == (0, 32) else f"hwreg({name}, {offset}, {width})"


def _message(value: int, names: Names, generation: int) -> str:
    found = names.get(("MESSAGE", value))
    if found is not None:
        return f"sendmsg({found})"
    if generation >= 11:
        return f"sendmsg({value}, 0, 0)" if value < 256 else str(value)
    if value & ~0x37F:
        return str(value)
    return f"sendmsg({value & 15}, {value >> 4 & 7}, {value >> 8 & 3})"


def _delay(value: int, _names: Names, _generation: int) -> str:
    first, skip, second = value & 15, value >> 4 & 7, value >> 7 & 15
    if first >= len(_INSTRUCTION_IDS) or second >= len(_INSTRUCTION_IDS) or skip >= len(_SKIPS):
        raise EncodingError(f"delay 0x{value:x} is not known")
    parts = [f"instid0({_INSTRUCTION_IDS[first]})"] * bool(first)
    parts += [f"instskip({_SKIPS[skip]})"] * bool(skip)
    parts += [f"instid1({_INSTRUCTION_IDS[second]})"] * bool(second)
    return " | ".join(parts) or "0"


def _dependencies(value: int, _names: Names, _generation: int) -> str:
    if value & 0x60:
        return f"0x{value:x}"
    counts = [(name, value >> shift & ones, ones) for name, shift, ones in _DEPENDENCIES]
    waits = [f"depctr_{name}({count})" for name, count, most in counts if count != most]
    return " ".join(waits or [f"depctr_{name}({count})" for name, count, _ in counts])


def index_modes(value: int) -> str:
    """Which operands s_set_gpr_idx_on makes relative."""
    if value > 15:
        return f"0x{value:x}"
    return f"gpr_idx({','.join(name for at, name in enumerate(('SRC0', 'SRC1', 'SRC2', 'DST')) if value >> at & 1)})"


def _clause(value: int, _names: Names, _generation: int) -> str:
    return f"0x{value:x}"


#: By the letter that the table has behind `simm:`.
IMMEDIATES: dict[str, Callable[[int, Names, int], str]] = {
    "u": lambda value, _names, _generation: str(value),
    "i": lambda value, _names, _generation: str(_signed16(value)),
    "n": _small,
    "m": _count,
    "h": _clause,
    "o": lambda value, _names, _generation: str(value) if value else "",
    "wait": _waits,
    "register": _register,
    "message": _message,
    "delay": _delay,
    "depends": _dependencies,
    "index": lambda value, _names, _generation: index_modes(value),
}
