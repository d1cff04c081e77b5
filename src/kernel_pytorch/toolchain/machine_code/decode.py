"""From the bytes of an AMD kernel to the text of its instructions, one after another."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache

from kernel_pytorch.toolchain.machine_code.formats import Format, by_top_bits
from kernel_pytorch.toolchain.machine_code.images import FORMS as IMAGE_FORMS
from kernel_pytorch.toolchain.machine_code.images import image_printer
from kernel_pytorch.toolchain.machine_code.immediates import IMMEDIATES, index_modes
from kernel_pytorch.toolchain.machine_code.modifiers import MODIFIERS, signed
from kernel_pytorch.toolchain.machine_code.operands import (
    LITERAL,
    VGPR,
    EncodingError,
    scalar_names,
    source,
    vgprs,
)
from kernel_pytorch.toolchain.machine_code.table import Row, decodable_targets, names_of, rows_of

_LONGEST = 20
_KIND = re.compile(r"(?:([MNS])(\d)\.)?(\w+):([a-z])(\d+)([a-z]*)\Z")
# The bit that says whether an operand of a matrix instruction is in accumulation registers.
_ACCUMULATION = {"src0": ("acc", 0), "src1": ("acc", 1), "vdst": ("acc_cd", 0), "src2": ("acc_cd", 0)}
_SOURCES = ("src0", "src1", "src2", "ssrc0", "ssrc1", "srcx", "srcy", "scale0", "scale1")
_NINE_BIT_FORMS = ("VOP3", "VOP3P", "VOP3PX", "VOP1", "VOP2", "VOPC")
# Fields of scalar registers that count in pairs or in fours.
_STEPS = {"sbase": 2, "srsrc": 4}
_WHOLE_WORD = 6  # of dst_sel
_BRANCH = re.compile(r"s_(c?branch|call)")

Printer = Callable[[dict[str, int]], str]


@dataclass(frozen=True)
class Decoded:
    """One instruction: its text, how many bytes it has, and for a branch how far from its end it goes."""

    text: str
    size: int
    branch: int | None = None


def is_known(target: str) -> bool:
    """Whether the machine code of a target can be decoded."""
    return target in decodable_targets()


def decode(code: bytes, address: int, target: str) -> Iterator[tuple[int, Decoded]]:
    """The instructions of a stretch of code that begins at `address`, with their addresses.

    Raises EncodingError with the address and the bytes of what is not known.
    """
    decoder = decoder_of(target)
    at = 0
    while at + 4 <= len(code):
        try:
            one = decoder.instruction(code[at : at + _LONGEST])
        except EncodingError as error:
            shown = code[at : at + 8].hex(" ", 4)
            raise EncodingError(f"{target} machine code at 0x{address + at:x} ({shown}): {error}") from None
        yield address + at, one
        at += one.size


@cache
def decoder_of(target: str) -> Decoder:
    """The decoder of a target; it keeps what it has seen."""
    if target not in decodable_targets():
        raise EncodingError(f"no machine code of {target} can be decoded: only of {', '.join(decodable_targets())}")
    return Decoder(target, rows_of(target), names_of(target))


class Decoder:
    """Instructions of one target. Printers of rows are made when a row is met for the first time."""

    def __init__(self, target: str, rows: Mapping[tuple[str, int], Row], names: Mapping[tuple[str, int], str]) -> None:
        self._rows = rows
        self._names = names
        self._generation = int(target[3:-2])
        # Lane crossings: gfx90a and later have row_newbcast, gfx908 has not.
        self._crossings = "9" if target == "gfx908" else "9+" if self._generation == 9 else str(self._generation)
        self._formats = by_top_bits(target)
        self._scalar = scalar_names(self._generation)
        self._printers: dict[tuple[str, int], tuple[Printer, tuple[str, ...], bool, bool]] = {}
        self._seen: dict[bytes, Decoded] = {}

    def instruction(self, code: bytes) -> Decoded:
        """The instruction that a stretch of at least 4 bytes begins with."""
        word = int.from_bytes(code, "little")
        for form in self._formats[word >> 26 & 63]:
            if word & form.mask == form.value:
                # A matrix instruction with scales is two instructions of 8 bytes; others of such a pair stand alone.
                if form.name == "VOP3PX" and ("VOP3PX", word >> 80 & 127) not in self._rows:
                    continue
                break
        else:
            raise EncodingError("no format has these bits")
        size = form.bits // 8
        key = code[: size + 4]
        found = self._seen.get(key)
        if found is None:
            found = self._seen[key] = self._decode(form, word, len(code))
        return found

    def _decode(self, form: Format, word: int, available: int) -> Decoded:
        fields = {name: word >> shift & mask for name, shift, mask in form.fields}
        if form.name == "VOPD":
            return self._dual(fields, word, available)
        # The highest bit of an image's opcode is apart from the others on gfx9 and gfx10.
        opcode = fields["op"] | fields.get("oph", 0) << 7
        name = form.name
        if (f"{name}_RTN", opcode) in self._rows and _returns(fields):
            name += "_RTN"
        printer, sources, literal_follows, is_branch = self._printer(name, opcode)
        size = form.bits // 8
        if literal_follows or any(fields[source] == LITERAL for source in sources):
            fields["literal"] = word >> form.bits & 0xFFFFFFFF
            size += 4
        if size > available:
            raise EncodingError("the code ends within an instruction")
        text = printer(fields)
        return Decoded(text, size, 4 * signed(fields["simm"], 16) if is_branch else None)

    def _dual(self, fields: dict[str, int], word: int, available: int) -> Decoded:
        first, _, first_literal, _ = self._printer("VOPDX", fields["opx"])
        second, _, second_literal, _ = self._printer("VOPDY", fields["opy"])
        # The second destination is odd where the first is even.
        fields["vdsty"] = fields["vdsty"] << 1 | (~fields["vdstx"] & 1)
        size = 8
        if first_literal or second_literal or LITERAL in (fields["srcx"], fields["srcy"]):
            fields["literal"] = word >> 64 & 0xFFFFFFFF
            size = 12
        if size > available:
            raise EncodingError("the code ends within an instruction")
        return Decoded(f"{first(fields)} :: {second(fields)}", size)

    def _printer(self, form: str, opcode: int) -> tuple[Printer, tuple[str, ...], bool, bool]:
        key = (form, opcode)
        found = self._printers.get(key)
        if found is None:
            row = self._rows.get(key)
            if row is None:
                raise EncodingError(f"{form} has no opcode {opcode} here")
            literal_follows = any(operand.startswith("literal:") for operand in row.operands)
            printer = self.row_printer(form, row)
            is_branch = _BRANCH.match(row.mnemonic) is not None and form in ("SOPP", "SOPK")
            sources = tuple(field for field in _SOURCES if self._may_be_literal(form, field, row))
            found = self._printers[key] = (printer, sources, literal_follows, is_branch)
        return found

    def _may_be_literal(self, form: str, field: str, row: Row) -> bool:
        """Whether code 255 in a field is a literal: where an operand shows the field, and it has more than a vector
        register's eight bits. VOP3 has literals since gfx10."""
        if form.endswith(("_DPP", "_DPP8", "_SDWA")) and field == "src0":
            return False
        if self._generation == 9 and form.startswith("VOP3"):
            return False
        return any(match[3] == field for operand in row.operands if (match := _KIND.match(operand)))

    def row_printer(self, form: str, row: Row) -> Printer:
        """A function from the fields of an instruction to its text."""
        if form in IMAGE_FORMS:
            return image_printer(form, row, self._generation, self._scalar)
        operands = [self._operand(form, text) for text in row.operands]
        if "f8f6f4" in row.mnemonic:
            operands = [
                self._narrow_factor(form, text) if text.startswith(("src0:", "src1:")) else printer
                for text, printer in zip(row.operands, operands, strict=True)
            ]
        modifiers = []
        for word in row.modifiers:
            name, _, detail = word.partition("=")
            modifiers.append((MODIFIERS[name], self._crossings if name == "dpp_ctrl" else detail))
        prepare = _preparation(form)
        whole_only = form in ("VOP1_SDWA", "VOP2_SDWA") and "dst_sel" not in row.modifiers and bool(operands)

        def text(fields: dict[str, int]) -> str:
            if prepare is not None:
                prepare(fields)
            if whole_only and fields["dst_sel"] != _WHOLE_WORD:
                raise EncodingError(f"{row.mnemonic} with a part of its result chosen (dst_sel {fields['dst_sel']})")
            shown = ", ".join([one for operand in operands if (one := operand(fields))])
            words = [row.mnemonic, shown] if shown else [row.mnemonic]
            for modifier, detail in modifiers:
                if one := modifier(fields, detail):
                    words.append(one)
            return " ".join(words)

        return text

    def _operand(self, form: str, spec: str) -> Printer:
        if spec.startswith("simm:"):
            immediate = IMMEDIATES[spec[5:]]
            return lambda fields: immediate(fields["simm"], self._names, self._generation)
        match = _KIND.match(spec)
        if match is None:
            return lambda _: spec
        modified, number, field, letter, width, detail = match.groups()
        plain = self._register(form, field, letter, int(width), detail)
        return plain if modified is None else _modified(plain, modified, int(number))

    def _narrow_factor(self, form: str, spec: str) -> Printer:
        """A factor of a matrix instruction whose format a field tells: FP8 takes 8 registers, FP6 6, FP4 4."""
        field, _, kind = spec.partition(":")
        format_field = {"src0": "cbsz", "src1": "blgp"}[field]
        printers = {width: self._register(form, field, kind[0], width, "") for width in (4, 6, 8)}

        def text(fields: dict[str, int]) -> str:
            if fields[format_field] > 4:
                raise EncodingError(f"{format_field} {fields[format_field]}: no such format of a factor")
            return printers[(8, 8, 6, 6, 4)[fields[format_field]]](fields)

        return text

    def _register(self, form: str, field: str, letter: str, width: int, detail: str) -> Printer:
        scalar = self._scalar
        if letter == "k":
            return lambda fields: f"0x{fields['literal']:x}"
        if letter == "n":
            return lambda fields: _small(fields[field])
        if letter == "l":
            return lambda fields: _small(fields["literal"])
        if letter == "z":
            return lambda fields: _hexadecimal(signed(fields[field], width) if width else fields[field])
        if letter == "e":
            return lambda fields: IMMEDIATES["message"](fields[field], self._names, self._generation)
        if letter == "j":
            return lambda fields: index_modes(fields[field])
        if letter == "q":
            alone = "vcc" if width == 2 else "vcc_lo"
            return lambda fields: scalar(fields["sdst"], width) if fields["sd"] else alone
        if letter in "va":
            # A source of nine bits that must be a vector register: the highest one is set.
            least = VGPR if form in _NINE_BIT_FORMS and field in _SOURCES else 0
            return lambda fields: vgprs(_above(fields[field], least), width, letter)
        if letter == "w":
            flag, bit = _ACCUMULATION.get(field, ("acc", 0)) if form.startswith("VOP3P") else ("acc", 0)
            if field in ("src0", "src1"):
                return lambda fields: vgprs(_above(fields[field], VGPR), width, "va"[fields[flag] >> bit & 1])
            if field == "src2":
                return lambda fields: source(
                    fields[field], width, detail, fields.get("literal"), scalar, "va"[fields[flag] >> bit & 1]
                )
            return lambda fields: vgprs(fields[field], width, "va"[fields[flag] >> bit & 1])
        if letter == "s":
            step = _STEPS.get(field, 1)
            return lambda fields: _scalar_only(fields[field] * step, width, detail, fields.get("literal"), scalar)
        if letter == "h":
            is_any = field == "src0" and "DPP" not in form
            return lambda fields: _half(fields[field], detail, fields.get("literal"), scalar, is_any)
        if letter == "g":
            bit = {"src0": 0, "src1": 1, "src2": 2, "vdst": 3}[field]
            return lambda fields: _selected_half(
                fields[field], fields["op_sel"] >> bit & 1, detail, fields.get("literal"), scalar, form, field
            )
        return lambda fields: source(fields[field], width, detail, fields.get("literal"), scalar)


def _hexadecimal(value: int) -> str:
    return f"-0x{-value:x}" if value < 0 else f"0x{value:x}"


def _above(code: int, least: int) -> int:
    if code < least:
        raise EncodingError(f"source code {code}: only a vector register may be here")
    return code - least


def _small(value: int) -> str:
    number = signed(value, 32)
    return str(number) if -16 <= number <= 64 else f"0x{value:x}"


def _returns(fields: Mapping[str, int]) -> bool:
    """Whether an atomic gives back the value from before: it then has one more operand."""
    return bool(fields.get("glc", 0) or fields.get("sc0", 0) or fields.get("th", 0) & 1)


def _scalar_only(code: int, width: int, floats: str, literal: int | None, scalar: Callable[[int, int], str]) -> str:
    if code >= VGPR:
        raise EncodingError(f"source code {code}: a vector register where only scalar ones may be")
    return source(code, width, floats, literal, scalar)


def _half(code: int, floats: str, literal: int | None, scalar: Callable[[int, int], str], is_any: bool) -> str:
    """A 16-bit half of one of the first 128 vector registers; the highest bit says which half."""
    if is_any and code < VGPR:
        return source(code, 1, floats, literal, scalar)
    return f"v{code & 127}.{'lh'[code >> 7 & 1]}"


def _selected_half(
    code: int, high: int, floats: str, literal: int | None, scalar: Callable[[int, int], str], form: str, field: str
) -> str:
    if field == "vdst" or code >= VGPR or (field == "src0" and "DPP" in form):
        return f"v{code & 255}.{'lh'[high]}"
    return source(code, 1, floats, literal, scalar)


def _modified(plain: Printer, kind: str, number: int) -> Printer:
    if kind == "S":
        field = f"sext{number}"
        return lambda fields: f"sext({plain(fields)})" if fields[field] else plain(fields)

    def text(fields: dict[str, int]) -> str:
        shown = plain(fields)
        negative, absolute = fields["neg"] >> number & 1, kind == "M" and fields["abs"] >> number & 1
        if absolute:
            return f"-|{shown}|" if negative else f"|{shown}|"
        if not negative:
            return shown
        is_number = shown[0].isdigit() or shown[0] == "-"
        return f"neg({shown})" if is_number else f"-{shown}"

    return text


def _preparation(form: str) -> Printer | None:
    """What has to be put together out of several fields before the operands can be written."""
    if form.endswith("_SDWA"):
        return _prepare_sdwa
    if form.endswith("_DPP") and not form.startswith("VOP3"):
        return _prepare_dpp
    if form.startswith("VOP3P"):
        return _prepare_packed
    return None


def _prepare_sdwa(fields: dict[str, int]) -> str:
    fields["src0"] |= (1 - fields["s0"]) << 8
    fields["vsrc1"] = fields.get("vsrc1", 0) | (1 - fields.get("s1", 0)) << 8
    return _prepare_dpp(fields)


def _prepare_dpp(fields: dict[str, int]) -> str:
    fields["neg"] = fields["neg0"] | fields.get("neg1", 0) << 1
    fields["abs"] = fields["abs0"] | fields.get("abs1", 0) << 1
    return ""


def _prepare_packed(fields: dict[str, int]) -> str:
    fields["op_sel_hi"] = fields.get("op_sel_hi", 0) | fields.get("op_sel_hi2", 0) << 2
    # Packed instructions without packed operands have signs and absolute values where others have neg_lo and neg_hi.
    fields["abs"] = fields.get("neg_hi", 0)
    return ""
