"""Sub-dword selects of gfx9 and gfx10 as C expressions over uint32_t."""

from __future__ import annotations

from kernel_pytorch.emulate.assembly.instruction import AssemblyError

_FIELDS = {
    "BYTE_0": (0, 8),
    "BYTE_1": (8, 8),
    "BYTE_2": (16, 8),
    "BYTE_3": (24, 8),
    "WORD_0": (0, 16),
    "WORD_1": (16, 16),
    "DWORD": (0, 32),
}


def _field(select: str) -> tuple[int, int]:
    if select not in _FIELDS:
        raise AssemblyError(f"SDWA select {select!r} is not known")
    return _FIELDS[select]


def source(raw: str, select: str, sext: bool) -> str:
    """The selected part of a source, zero- or sign-extended to 32 bits."""
    shift, bits = _field(select)
    if bits == 32:
        return raw
    part = f"(({raw}) >> {shift})" if shift else f"({raw})"
    if sext:
        return f"(uint32_t)(int32_t)(int{bits}_t){part}"
    return f"({part} & 0x{(1 << bits) - 1:x}u)"


def merge(result: str, old: str, select: str, unused: str) -> str:
    """The destination with the result in the selected part and the rest cleared, sign-filled or kept."""
    shift, bits = _field(select)
    if bits == 32:
        return result
    mask = ((1 << bits) - 1) << shift
    placed = f"((({result}) << {shift}) & 0x{mask:08x}u)"
    if unused == "UNUSED_PAD":
        return placed
    if unused == "UNUSED_PRESERVE":
        return f"((({old}) & 0x{~mask & 0xFFFFFFFF:08x}u) | {placed})"
    if unused == "UNUSED_SEXT":
        return f"((uint32_t)(int32_t)(int{bits}_t)({result}) << {shift})"
    raise AssemblyError(f"SDWA dst_unused {unused!r} is not known")
