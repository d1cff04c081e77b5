"""Operands and modifiers of one instruction, from text."""

from __future__ import annotations

import re
import struct
from dataclasses import replace

from kernel_pytorch.emulate.assembly.instruction import (
    M0,
    TTMP,
    VCC,
    AssemblyError,
    Decimal,
    HardwareRegister,
    Label,
    LabelDistance,
    Modifier,
    Named,
    Number,
    Operand,
    Raw,
    Register,
    SymbolPart,
)

_FLAGS = frozenset(
    {
        "clamp", "glc", "slc", "dlc", "sc0", "sc1", "nt", "offen", "idxen", "lds", "gds", "done", "early",
        "bound_ctrl", "fi", "matrix_a_reuse", "matrix_b_reuse", "scale_offset", "nv", "unorm", "a16", "d16", "da",
        "r128", "tfe", "lwe"
    }
)  # fmt: skip
_VALUED = frozenset(
    {
        "offset", "offset0", "offset1", "op_sel", "op_sel_hi", "neg_lo", "neg_hi", "mul", "div", "quad_perm",
        "row_shl", "row_shr", "row_ror", "wave_shl", "wave_shr", "wave_rol", "wave_ror", "row_share", "row_xmask",
        "row_newbcast", "row_bcast", "row_mask", "bank_mask", "bound_ctrl", "fi", "dpp8", "dst_sel", "dst_unused",
        "src0_sel", "src1_sel", "cbsz", "abid", "blgp", "neg", "th", "scope", "format", "dmask", "dim", "index_key",
        "matrix_a_fmt", "matrix_b_fmt", "matrix_a_scale", "matrix_b_scale", "matrix_a_scale_fmt",
        "matrix_b_scale_fmt", "byte_sel", "bitop3", "wait_exp", "wait_va_vdst"
    }
)  # fmt: skip
_DPP_FLAGS = frozenset({"row_mirror", "row_half_mirror", "row_newbcast"})
_FILES = {"s": ("s", 0), "v": ("v", 0), "a": ("a", 0), "acc": ("a", 0), "ttmp": ("s", TTMP)}
_FIXED = {
    "vcc": Register("s", VCC, 2),
    "vcc_lo": Register("s", VCC),
    "vcc_hi": Register("s", VCC + 1),
    "exec": Register("exec", 0, 2),
    "exec_lo": Register("exec", 0),
    "exec_hi": Register("exec", 1),
    "m0": Register("s", M0),
    "flat_scratch": Register("s", 102, 2),
    "flat_scratch_lo": Register("s", 102),
    "flat_scratch_hi": Register("s", 103),
    "xnack_mask": Register("s", 104, 2),
    "xnack_mask_lo": Register("s", 104),
    "xnack_mask_hi": Register("s", 105),
}
_NAMED = frozenset(
    {
        "null", "off", "scc", "src_scc", "src_vccz", "src_execz", "src_shared_base", "src_shared_limit",
        "src_private_base", "src_private_limit", "src_pops_exiting_wave_id", "src_flat_scratch_base_lo",
        "src_flat_scratch_base_hi", "vccz", "execz", "shared_base", "private_base", "shared_limit", "private_limit"
    }
)  # fmt: skip
#: Names of numbers: formats of matrices, and the lanes that their scales are in. Where the elements of the formats with
#: six bits lie is not known: without a number here they are refused.
_NUMBERED = {
    "MATRIX_FMT_FP8": 0,
    "MATRIX_FMT_BF8": 1,
    "MATRIX_FMT_FP4": 4,
    "MATRIX_SCALE_ROW0": 0,
    "MATRIX_SCALE_ROW1": 1,
}
_SINGLE = re.compile(r"(acc|ttmp|[sva])(\d+)(\.[lh])?\Z")
_RANGE = re.compile(r"(acc|ttmp|[sva])\[(\d+)(?::(\d+))?\]\Z")
_INTEGER = re.compile(r"-?(?:0[xX][0-9a-fA-F]+|\d+)\Z")
_DECIMAL = re.compile(r"-?\d+\.\d*(?:[eE][-+]?\d+)?\Z")
_SYMBOL = re.compile(
    r"([A-Za-z_.$][\w.$@]*?)@(rel32|gotpcrel32|rel64|gotpcrel64|rel|gotpcrel|abs32|abs64)(?:@(lo|hi))?([-+]\d+)?\Z"
)
_LABEL = re.compile(r"[A-Za-z_.$][\w.$]*\Z")
_DISTANCE = re.compile(r"\(?\(?([\w.$]+)-([\w.$]+)\)?(?:&4294967295|>>(32))?\)?\Z")
_GROUP = re.compile(r"hwreg\((\w+)(?:,\s*(\d+),\s*(\d+))?\)\Z")
_LITERAL_64 = re.compile(r"lit64\((-?(?:0[xX][0-9a-fA-F]+|\d+))\)\Z")
_LIST = re.compile(r"\[([-\d,\s]*)\]\Z")


def split_operands(text: str) -> tuple[list[str], list[str]]:
    """Operand texts and modifier texts: operands are apart by commas, modifiers follow the last one after a space.

    Inline assembly may leave the comma out (`v[2:3] off sc1`), which LLVM takes.
    """
    pieces: list[str] = []
    depth = 0
    start = 0
    for at, character in enumerate(text):
        if character in "[(":
            depth += 1
        elif character in "])":
            depth -= 1
        elif character == "|" and depth == 0:
            continue
        elif character == "," and depth == 0:
            pieces.append(text[start:at].strip())
            start = at + 1
    last = text[start:].strip()
    words = _words(last)
    if not words:
        return pieces, []
    if _is_modifier(words[0]) and not _SINGLE.match(words[0]):  # behind a comma a16 is a register
        return pieces, words
    count = 1
    while count < len(words) and _is_operand(words[count]):
        count += 1
    return [*pieces, *words[:count]], words[count:]


def flattened(pieces: list[str]) -> list[str]:
    """Operands one by one where several stand in brackets: the addresses of an image, `[v6, v1, v[2:3]]`."""
    found: list[str] = []
    for piece in pieces:
        is_list = piece.startswith("[v") and piece.endswith("]")
        found += split_operands(piece[1:-1])[0] if is_list else [piece]
    return found


def _is_operand(word: str) -> bool:
    """Whether a word after an operand is one too, and no modifier."""
    return word == "off" or bool(_SINGLE.match(word) or _RANGE.match(word))


def _is_modifier(word: str) -> bool:
    name = word.partition(":")[0]
    if ":" in word and "[" not in name:
        return name in _VALUED
    return name in _FLAGS or name in _DPP_FLAGS


def _words(text: str) -> list[str]:
    words: list[str] = []
    depth = 0
    current = ""
    for character in text:
        depth += (character in "[(") - (character in "])")
        if character.isspace() and depth == 0:
            if current:
                words.append(current)
            current = ""
        else:
            current += character
    return [*words, current] if current else words


def parse_operand(text: str) -> Operand:
    """One operand."""
    neg = absolute = sext = False
    if text.startswith("-") and not _INTEGER.match(text) and not _DECIMAL.match(text):
        neg, text = True, text[1:].strip()
    if text.startswith("neg(") and text.endswith(")"):
        neg, text = True, text[4:-1].strip()
    if text.startswith("|") and text.endswith("|") and len(text) > 2:
        absolute, text = True, text[1:-1].strip()
    elif text.startswith("abs(") and text.endswith(")"):
        absolute, text = True, text[4:-1].strip()
    if text.startswith("sext(") and text.endswith(")"):
        sext, text = True, text[5:-1].strip()
    found = _plain(text)
    if not (neg or absolute or sext):
        return found
    if not isinstance(found, (Register, Number, Decimal, Named)):
        raise AssemblyError(f"operand {text!r} cannot be negated")
    return replace(found, neg=neg, abs=absolute, sext=sext)


def _plain(text: str) -> Operand:
    if text in _FIXED:
        return _FIXED[text]
    if text in _NAMED:
        return Named(text)
    if match := _SINGLE.match(text):
        file, base = _FILES[match[1]]
        return Register(file, base + int(match[2]), half=(match[3] or ".")[1:])
    if match := _RANGE.match(text):
        file, base = _FILES[match[1]]
        first, last = int(match[2]), int(match[3] or match[2])
        if last < first:
            raise AssemblyError(f"operand {text!r}: the register range runs backwards")
        return Register(file, base + first, last - first + 1)
    if _INTEGER.match(text):
        return Number(int(text, 0))
    if _DECIMAL.match(text):
        return Decimal(float(text))
    if match := _SYMBOL.match(text):
        kind = {
            "rel32": "rel32",
            "rel": "rel32",
            "gotpcrel32": "gotpcrel32",
            "gotpcrel": "gotpcrel32",
            "abs32": "abs32",
        }
        if match[2].endswith("64"):  # gfx1250: both halves in one literal
            return SymbolPart(match[1], match[2], int(match[4] or 0))
        return SymbolPart(match[1], f"{kind[match[2]]}@{match[3] or 'lo'}", int(match[4] or 0))
    if match := _GROUP.match(text):
        return HardwareRegister(match[1], int(match[2] or 0), int(match[3] or 32))
    if match := _LITERAL_64.match(text):
        return Number(int(match[1], 0), whole=True)
    if text.startswith(("sendmsg(", "lit(", "src_", "gpr_idx(")):
        inner = re.match(r"lit\((.*)\)\Z", text)
        return _plain(inner[1]) if inner else Raw(text)
    if _LABEL.match(text):
        return Label(text)
    if match := _DISTANCE.match(text.replace(" ", "")):
        return LabelDistance(match[1], match[2], 32 if match[3] else 0)
    if _LIST.match(text):
        return Raw(text)
    raise AssemblyError(f"operand {text!r} is not understood")


def parse_modifiers(words: list[str]) -> dict[str, Modifier]:
    """Modifiers such as `offset:16 sc0 op_sel:[0,1]`; an unknown one is an error that names it."""
    found: dict[str, Modifier] = {}
    for word in words:
        name, colon, value = word.partition(":")
        if not colon:
            if name not in _FLAGS and name not in _DPP_FLAGS:
                raise AssemblyError(f"modifier {word!r} is not known")
            found[name] = True
        elif name not in _VALUED:
            raise AssemblyError(f"modifier {word!r} is not known")
        elif match := _LIST.match(value):
            found[name] = tuple(int(part) for part in match[1].split(","))
        elif _INTEGER.match(value):
            found[name] = int(value, 0)
        elif value.startswith("swizzle("):
            found[name] = swizzle_offset(value)
        elif value in _NUMBERED:
            found[name] = _NUMBERED[value]
        elif re.match(r"[A-Za-z_]\w*\Z", value):
            found[name] = value
        elif re.match(r"\[[\w, ]*\]\Z", value):
            found[name] = value[1:-1]
        else:
            raise AssemblyError(f"modifier {word!r}: its value is not understood")
    return found


def swizzle_offset(text: str) -> int:
    """The number of `swizzle(MODE, ...)`, as ds_swizzle_b32 takes it."""
    mode, *fields = [part.strip().strip('"') for part in text.removeprefix("swizzle(").removesuffix(")").split(",")]
    if mode == "BITMASK_PERM":
        and_mask = or_mask = xor_mask = 0
        for bit, character in zip(range(4, -1, -1), fields[0], strict=True):
            and_mask |= (character in "pi") << bit
            or_mask |= (character == "1") << bit
            xor_mask |= (character == "i") << bit
        return and_mask | or_mask << 5 | xor_mask << 10
    numbers = [int(one, 0) for one in fields]
    if mode == "QUAD_PERM":
        return 0x8000 | sum(lane << (2 * at) for at, lane in enumerate(numbers))
    if mode == "SWAP":
        return 0x1F | numbers[0] << 10
    if mode == "REVERSE":
        return 0x1F | (numbers[0] - 1) << 10
    if mode == "BROADCAST":
        return (0x1F - numbers[0] + 1) | numbers[1] << 5
    if mode == "ROTATE":
        return 0xC000 | numbers[0] << 10 | numbers[1] << 5
    if mode == "FFT":
        return 0xE000 | numbers[0]
    raise AssemblyError(f"{text}: the swizzle mode is not known")


def float_bits(value: float, bits: int) -> int:
    """The bits of a floating-point constant in a format of 16, 32 or 64 bits."""
    # 1/(2 pi) is printed shortened; the hardware's constant is the correctly rounded one.
    if abs(value - 0.15915494309189532) < 1e-7:
        return {16: 0x3118, 32: 0x3E22F983, 64: 0x3FC45F306DC9C882}[bits]
    if bits == 16:
        return int.from_bytes(struct.pack("<e", value), "little")
    if bits == 32:
        return int.from_bytes(struct.pack("<f", value), "little")
    return int.from_bytes(struct.pack("<d", value), "little")
