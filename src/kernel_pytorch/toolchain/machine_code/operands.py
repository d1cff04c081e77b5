"""Registers, constants and source operands as text, the way LLVM writes them."""

from __future__ import annotations

from collections.abc import Callable

VGPR = 256
LITERAL = 255
_FLOATS = ("0.5", "-0.5", "1.0", "-1.0", "2.0", "-2.0", "4.0", "-4.0", "0.15915494")
#: What codes 240 to 248 are in an operand, by the letter that the table gives its type.
FLOATS = {
    "": _FLOATS,
    "h": _FLOATS,  # of 16 bits: so is a literal
    "d": (*_FLOATS[:-1], "0.15915494309189532"),
    "i": ("0x3800", "0xb800", "0x3c00", "0xbc00", "0x4000", "0xc000", "0x4400", "0xc400", "0x3118"),
    "w": ("0x3f000000", "0xbf000000", "0x3f800000", "0xbf800000", "0x40000000", "0xc0000000", "0x40800000",
          "0xc0800000", "0x3e22f983"),
}  # fmt: skip
_NAMED = {
    235: "src_shared_base",
    236: "src_shared_limit",
    237: "src_private_base",
    238: "src_private_limit",
    239: "src_pops_exiting_wave_id",
    251: "src_vccz",
    252: "src_execz",
    253: "src_scc",
}
_TTMP, _TTMP_END = 108, 124


class EncodingError(ValueError):
    """Bits that are no instruction, or none that is known."""


def vgprs(index: int, width: int, letter: str = "v") -> str:
    """Vector registers from `index` on."""
    if index + width > 256:
        raise EncodingError(f"registers {letter}{index} to {letter}{index + width - 1} are more than there are")
    return f"{letter}{index}" if width == 1 else f"{letter}[{index}:{index + width - 1}]"


def scalar_names(generation: int) -> Callable[[int, int], str]:
    """A function from a scalar register's code (0 to 127) and a width to its name."""
    pairs = {106: "vcc", 126: "exec"}
    single = {106: "vcc_lo", 107: "vcc_hi", 126: "exec_lo", 127: "exec_hi"}
    sgprs = 106
    if generation == 9:
        sgprs = 102
        pairs |= {102: "flat_scratch", 104: "xnack_mask"}
        single |= {102: "flat_scratch_lo", 103: "flat_scratch_hi", 104: "xnack_mask_lo", 105: "xnack_mask_hi"}
    null = 125 if generation == 10 else 124 if generation >= 11 else None
    single[124 if null != 124 else 125] = "m0"

    def name(code: int, width: int) -> str:
        if code == null:
            return "null"
        if width == 1:
            if code < sgprs:
                return f"s{code}"
            if code in single:
                return single[code]
            if _TTMP <= code < _TTMP_END:
                return f"ttmp{code - _TTMP}"
        elif width == 2 and code in pairs:
            return pairs[code]
        elif code % (2 if width == 2 else 4) == 0:
            if code + width <= sgprs:
                return f"s[{code}:{code + width - 1}]"
            if code >= _TTMP and code + width <= _TTMP_END:
                return f"ttmp[{code - _TTMP}:{code - _TTMP + width - 1}]"
        raise EncodingError(f"{width} scalar registers from code {code} on: there is no such operand")

    return name


def source(
    code: int, width: int, floats: str, literal: int | None, scalar: Callable[[int, int], str], letter: str = "v"
) -> str:
    """A source of eight or nine bits: scalar registers, constants, a literal, vector registers."""
    if code >= VGPR:
        return vgprs(code - VGPR, width, letter)
    if code < 128:
        return scalar(code, width)
    if code <= 192:
        return str(code - 128)
    if code <= 208:
        return str(192 - code)
    if 240 <= code <= 248:
        return FLOATS[floats][code - 240]
    if code == LITERAL and literal is not None:
        return literal_text(literal, floats)
    if code in _NAMED:
        return _NAMED[code]
    raise EncodingError(f"source code {code}: there is no such operand")


def literal_text(literal: int, floats: str) -> str:
    """A literal as LLVM writes it: `lit()` where the same value has a code of its own, so that it can be assembled."""
    number = literal - 0x100000000 if literal >> 31 else literal
    if floats == "i":  # integers of 16 bits: floating point has no codes there that LLVM would have to tell apart
        is_short = -16 <= number <= 64
        literal = literal if is_short else literal & 0xFFFF
    elif floats == "h":
        low = literal & 0xFFFF
        number = low - 0x10000 if low >> 15 else low
        is_short = -16 <= number <= 64 or low in _HALVES
        literal = literal if is_short else low
    else:
        is_short = floats != "d" and (-16 <= number <= 64 or literal in _SINGLES)
    return f"lit(0x{literal:x})" if is_short else f"0x{literal:x}"


_HALVES = frozenset(int(one, 16) for one in FLOATS["i"])
_SINGLES = frozenset(int(one, 16) for one in FLOATS["w"])
