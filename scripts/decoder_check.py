"""Random encodings of every row through our decoder and through LLVM's: the texts must be equal."""

from __future__ import annotations

import random
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

from decoder_llvm import Llvm
from decoder_questions import BASE, is_matrix
from decoder_target import Rows

from kernel_pytorch.toolchain.machine_code.decode import Decoder
from kernel_pytorch.toolchain.machine_code.formats import Format, formats_of
from kernel_pytorch.toolchain.machine_code.images import FORMS as IMAGE_FORMS
from kernel_pytorch.toolchain.machine_code.operands import EncodingError
from kernel_pytorch.toolchain.machine_code.table import Row

Different = dict[tuple[str, int], list[tuple[str, str, str]]]


def check(program: Path, target: str, rows: Rows, count: int) -> tuple[int, Different]:
    """Random encodings of every row through both; those that differ, as (bytes, LLVM's, ours)."""
    decoder = Decoder(target, rows, {key: row.mnemonic for key, row in rows.items() if key[0] in ("HWREG", "MESSAGE")})
    asked = list(_encodings(decoder, target, rows, count))
    texts = Llvm(program, target).texts([code for _, code in asked])
    different: Different = defaultdict(list)
    compared = 0
    never = Counter(key for key in rows if key[0] not in ("HWREG", "MESSAGE", "VOPDX", "VOPDY"))
    for (key, code), (text, instructions) in zip(asked, texts, strict=True):
        if text is None:
            continue
        compared += 1
        never.pop(key, None)
        ours = decoder.instruction(code).text
        if ours != text or instructions != 1:
            different[key].append((code.hex(" ", 4), text, ours))
    print(f"  {target}: rows of which no encoding was compared:", dict(Counter(form for form, _ in never)))
    return compared, different


def _encodings(decoder: Decoder, target: str, rows: Rows, count: int) -> Iterator[tuple[tuple[str, int], bytes]]:
    """`count` random encodings of every row, less those that our decoder refuses."""
    chance = random.Random(24)
    for form in formats_of(target):
        for (name, opcode), row in rows.items():
            if name.removesuffix("_RTN") != form.name and not (form.name == "VOPD" and name == "VOPDX"):
                continue
            for _ in range(count):
                word = form.value
                for field, shift, mask in form.fields:
                    if (form.mask >> shift) & mask != mask:
                        value = _random_field(chance, field, mask)
                        word |= _allowed(value, field, mask, form, row, target) << shift
                where, mask = form.places()["opx" if form.name == "VOPD" else "op"]
                word = word & ~(mask << where) | (opcode & mask) << where
                if "oph" in form.places():
                    word = word & ~1 | opcode >> 7
                if name.endswith("_RTN"):
                    flag = next(one for one in ("glc", "sc0", "th") if one in form.places())
                    word |= 1 << form.places()[flag][0]
                word = word & ~form.mask | form.value
                code = word.to_bytes(form.bits // 8, "little") + chance.randrange(1 << 32).to_bytes(4, "little")
                try:
                    size = decoder.instruction(code).size
                except EncodingError:
                    continue
                yield (name, opcode), code[:size]


def _allowed(value: int, field: str, mask: int, form: Format, row: Row, target: str) -> int:
    """The value, or the nearest one that the instruction has a use for."""
    if form.name in IMAGE_FORMS:
        if field in ("srsrc", "ssamp") and mask > 31:
            value = value % 24 * 4
        if field == "ssamp" and not re.match("image_(sample|gather|get_lod)", row.mnemonic):
            value = 0
        return value or 1 if field == "dmask" else value
    if field == "op_sel":
        # gfx11's bits without a use make LLVM fall back to instructions without halves.
        shown = "".join(one[-4:] for one in row.modifiers if one.startswith(("op_sel=", "byte_sel=")))
        value &= sum(1 << int(bit) for bit in set(re.sub("[^0-9]", "", shown)))
    if field == "abid" and form.name == "VOP3PX":
        value = 1
    if field in ("src0", "src1") and mask > 255 and is_matrix(row.mnemonic):
        value |= 256
    # Registers without a use must be zero in some formats.
    is_used = any(f"{field}:" in operand for operand in row.operands)
    if field in {*BASE, "sdst"} and form.name not in ("VOPD", "FLAT") and not is_used:
        value = 0
    if field == "saddr" and form.name == "FLAT":
        value = {9: 0, 10: 125}.get(int(target[3:-2]), 124)
    return value


def _random_field(chance: random.Random, field: str, mask: int) -> int:
    if field in ("src0", "src1", "src2", "srcx", "srcy", "ssrc0", "ssrc1", "scale0", "scale1"):
        kinds = [chance.randrange(0, 96) & ~3, chance.randrange(128, 209), chance.randrange(240, 249), 106, 255]
        kinds += [256 + 2 * chance.randrange(120)] * (6 if mask > 255 else 0)
        if mask == 255:
            kinds = [2 * chance.randrange(100)]
        return chance.choice(kinds)
    if field in ("sdst", "saddr", "soffset", "sdata"):
        return chance.choice([4 * chance.randrange(20), 106])
    if field.startswith("vaddr") and field != "vaddr":  # of images: those without a use must be zero
        return 2 * chance.randrange(64) if chance.random() < 0.7 else 0
    if field.startswith("v") or field in ("addr", "data", "data0", "data1"):
        return 2 * chance.randrange(64) & mask
    if field in ("clamp", "omod", "abs", "neg", "acc", "acc_cd", "tfe", "op_sel"):
        return chance.randrange(mask + 1) if chance.random() < 0.3 and field != "tfe" else 0
    return chance.randrange(mask + 1) if chance.random() < 0.6 else 0
