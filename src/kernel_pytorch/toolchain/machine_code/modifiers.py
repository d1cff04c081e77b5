"""What stands behind the operands: offsets, caching, lane crossings, and the immediates of scalar instructions."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from kernel_pytorch.toolchain.machine_code.operands import EncodingError

Fields = Mapping[str, int]
_SELECTIONS = ("BYTE_0", "BYTE_1", "BYTE_2", "BYTE_3", "WORD_0", "WORD_1", "DWORD")
_UNUSED = ("UNUSED_PAD", "UNUSED_SEXT", "UNUSED_PRESERVE")
_OMOD = ("", "mul:2", "mul:4", "div:2")
_FLAGS = (
    "clamp", "glc", "slc", "dlc", "scc", "sc0", "sc1", "nt", "offen", "idxen", "lds", "tfe", "gds",
)  # fmt: skip
_WAVE_SHIFTS = {0x130: "wave_shl:1", 0x134: "wave_rol:1", 0x138: "wave_shr:1", 0x13C: "wave_ror:1"}
_SCOPES = ("", "scope:SCOPE_SE", "scope:SCOPE_DEV", "scope:SCOPE_SYS")


def signed(value: int, bits: int) -> int:
    """A field as a number with a sign."""
    return value - (1 << bits) if value >> (bits - 1) else value


def _flag(name: str) -> Callable[[Fields, str], str]:
    return lambda fields, _: name if fields[name] else ""


def _decimal(field: str, bits: int = 0) -> Callable[[Fields, str], str]:
    def text(fields: Fields, _: str) -> str:
        value = signed(fields[field], bits) if bits else fields[field]
        return f"{field}:{value}" if value else ""

    return text


def _hexadecimal(value: int) -> str:
    return f"-0x{-value:x}" if value < 0 else f"0x{value:x}"


def _offset_hex(bits: int) -> Callable[[Fields, str], str]:
    return lambda fields, _: f"offset:{_hexadecimal(signed(fields['offset'], bits))}"


def _omod(fields: Fields, _: str) -> str:
    return _OMOD[fields["omod"]]


def _selection(field: str) -> Callable[[Fields, str], str]:
    def text(fields: Fields, _: str) -> str:
        if fields[field] >= len(_SELECTIONS):
            raise EncodingError(f"{field} {fields[field]} is not known")
        return f"{field}:{_SELECTIONS[fields[field]]}"

    return text


def _unused(fields: Fields, _: str) -> str:
    if fields["dst_unused"] >= len(_UNUSED):
        raise EncodingError("dst_unused 3 is not known")
    return f"dst_unused:{_UNUSED[fields['dst_unused']]}"


def _bits(name: str, field: str, default: int) -> Callable[[Fields, str], str]:
    """A list of single bits, `op_sel:[0,1]`; the table says which bit each entry shows."""

    def text(fields: Fields, which: str) -> str:
        value = fields[field]
        shown = [0 if bit == "-" else value >> int(bit) & 1 for bit in which]
        return "" if all(one == default for one in shown) else f"{name}:[{','.join(map(str, shown))}]"

    return text


def _dpp_ctrl(fields: Fields, generation: str) -> str:
    control = fields["dpp_ctrl"]
    if control < 0x100:
        return f"quad_perm:[{','.join(str(control >> 2 * at & 3) for at in range(4))}]"
    amount = control & 15
    if 0x100 < control < 0x130 and amount:
        return f"{('row_shl', 'row_shr', 'row_ror')[(control >> 4) - 16]}:{amount}"
    old = generation.startswith("9")
    if old and control in _WAVE_SHIFTS:
        return _WAVE_SHIFTS[control]
    if control in (0x140, 0x141):
        return ("row_mirror", "row_half_mirror")[control - 0x140]
    if old and control in (0x142, 0x143):
        return ("row_bcast:15", "row_bcast:31")[control - 0x142]
    if 0x150 <= control <= 0x15F and generation != "9":
        return f"{'row_newbcast' if old else 'row_share'}:{amount}"
    if 0x160 <= control <= 0x16F and not old:
        return f"row_xmask:{amount}"
    raise EncodingError(f"lane crossing 0x{control:x} is not known")


def _masks(fields: Fields, _: str) -> str:
    return f"row_mask:0x{fields['row_mask']:x} bank_mask:0x{fields['bank_mask']:x}"


def _bound_ctrl(fields: Fields, _: str) -> str:
    return "bound_ctrl:1" if fields["bound_ctrl"] else ""


def _fi(fields: Fields, _: str) -> str:
    return "fi:1" if fields.get("fi") or fields.get("dpp") == 234 else ""


def _lanes(fields: Fields, _: str) -> str:
    return f"dpp8:[{','.join(str(fields['lanes'] >> 3 * at & 7) for at in range(8))}]"


def _swizzle(fields: Fields, _: str) -> str:
    value = fields["offset"]
    if not value:
        return ""
    if value & 0xFF00 == 0x8000:
        return f"offset:swizzle(QUAD_PERM,{','.join(str(value >> 2 * at & 3) for at in range(4))})"
    if value >= 0xE000:
        return f"offset:swizzle(FFT,{value & 31})"
    if 0xC000 <= value < 0xE000:
        return f"offset:swizzle(ROTATE,{value >> 10 & 1},{value >> 5 & 31})"
    if value & 0x8000:
        return f"offset:{value}"
    both, either, flipped = value & 31, value >> 5 & 31, value >> 10 & 31
    group = 32 - both
    if both == 31 and not either and flipped.bit_count() == 1:
        return f"offset:swizzle(SWAP,{flipped})"
    if both == 31 and not either and flipped and not flipped & (flipped + 1):
        return f"offset:swizzle(REVERSE,{flipped + 1})"
    if group > 1 and not group & (group - 1) and either < group and not flipped:
        return f"offset:swizzle(BROADCAST,{group},{either})"
    letters = ""
    for bit in range(4, -1, -1):
        of_zero, of_one = ((one & both >> bit | either >> bit) ^ flipped >> bit for one in (0, 1))
        letters += {(0, 0): "0", (1, 1): "1", (0, 1): "p", (1, 0): "i"}[of_zero & 1, of_one & 1]
    return f'offset:swizzle(BITMASK_PERM,"{letters}")'


def _scope(fields: Fields, _: str) -> str:
    return _SCOPES[fields["scope"]]


def _temporal_hint(fields: Fields, kind: str) -> str:
    value, scope = fields["th"], fields["scope"]
    if not value:
        return ""
    if kind == "ATOMIC":
        if value >= 4:
            name = ("CASCADE_NT" if value & 2 else "CASCADE_RT") if scope >= 2 else f"0x{value:x}"
        else:
            name = ("", "RETURN", "NT", "NT_RETURN")[value]
    elif value == 3:
        name = "BYPASS" if scope == 3 else "LU" if kind == "LOAD" else "WB"
    else:
        if value == 7 and kind == "LOAD":
            return "th:0x7"
        name = ("", "NT", "HT", "", "NT_RT", "RT_NT", "NT_HT", "NT_WB")[value]
    return f"th:TH_{kind}_{name}"


def _byte_sel(fields: Fields, which: str) -> str:
    """A byte out of four, in two bits of op_sel: the table says which, the higher one first."""
    value = (fields["op_sel"] >> int(which[0]) & 1) << 1 | fields["op_sel"] >> int(which[1]) & 1
    return f"byte_sel:{value}" if value else ""


def _truth_table(fields: Fields, _: str) -> str:
    """The eight bits of v_bitop3, where others have output scaling, absolute values and signs."""
    value = fields["omod"] << 6 | fields["abs"] << 3 | fields["neg"]
    return f"bitop3:{value if value <= 10 else hex(value)}" if value else ""


def _negated(fields: Fields, _: str) -> str:
    value = fields["blgp"]
    return f"neg:[{value & 1},{value >> 1 & 1},{value >> 2 & 1}]" if value else ""


#: name -> function of the fields and of what the table says behind the name's `=`.
MODIFIERS: dict[str, Callable[[Fields, str], str]] = {
    **{name: _flag(name) for name in _FLAGS},
    "omod": _omod,
    "dst_sel": _selection("dst_sel"),
    "dst_unused": _unused,
    "src0_sel": _selection("src0_sel"),
    "src1_sel": _selection("src1_sel"),
    "byte_sel": _byte_sel,
    "bitop3": _truth_table,
    "op_sel": _bits("op_sel", "op_sel", 0),
    "op_sel_hi": _bits("op_sel_hi", "op_sel_hi", 1),
    "op_sel_hi0": _bits("op_sel_hi", "op_sel_hi", 0),
    "scale_sel": _bits("op_sel", "scale_sel", 0),
    "scale_hi": _bits("op_sel_hi", "scale_hi", 1),
    "neg_lo": _bits("neg_lo", "neg", 0),
    "neg_hi": _bits("neg_hi", "neg_hi", 0),
    "cbsz": _decimal("cbsz"),
    "abid": _decimal("abid"),
    "blgp": _decimal("blgp"),
    "negated": _negated,
    "offset": _decimal("offset"),
    "offset12": _decimal("offset", 12),
    "offset13": _decimal("offset", 13),
    "offset24": _decimal("offset", 24),
    "offset_hex21": _offset_hex(21),
    "offset_hex24": _offset_hex(24),
    "offset0": _decimal("offset0"),
    "offset1": _decimal("offset1"),
    "dpp_ctrl": _dpp_ctrl,
    "masks": _masks,
    "bound_ctrl": _bound_ctrl,
    "fi": _fi,
    "lanes": _lanes,
    "swizzle": _swizzle,
    "scope": _scope,
    "th": _temporal_hint,
}
