"""How an opcode is asked about: the bits of a question, and the text of an answer in its parts."""

from __future__ import annotations

import re

from kernel_pytorch.toolchain.machine_code.formats import Format

#: The literal behind every question.
K = 0x12345678
#: What the fields are in the first question; no two in a format name the same register.
BASE = {
    "vdst": 8, "vdata": 56, "data": 56, "data0": 56, "data1": 72, "addr": 48, "vaddr": 48, "src0": 280, "src1": 288,
    "src2": 296, "vsrc1": 32, "ssrc0": 24, "ssrc1": 28, "sdata": 24, "sbase": 6, "soffset": 60, "saddr": 36,
    "srsrc": 11, "srsrc128": 44, "scale0": 336, "scale1": 344, "srcx": 280, "vsrcx": 32, "vdstx": 8, "srcy": 296,
    "vsrcy": 40, "vdsty": 5,
}  # fmt: skip
FLAGS = {
    "gds", "clamp", "idxen", "offen", "sc0", "glc", "slc", "nt", "sc1", "dlc", "scc", "lds", "bound_ctrl", "fi",
}  # fmt: skip


def assemble(form: Format, fields: dict[str, int]) -> int:
    """The bits of an instruction."""
    word = form.value
    places = form.places()
    for name, value in fields.items():
        if name in places:
            shift, mask = places[name]
            word |= (value & mask) << shift
    return word


def split(text: str) -> tuple[str, list[str], list[str]]:
    """Mnemonic, operands, modifiers."""
    mnemonic, _, rest = text.partition(" ")
    pieces, depth, current = [], 0, ""
    for character in rest:
        depth += (character in "[(") - (character in "])")
        if character == "," and depth == 0:
            pieces.append(current.strip())
            current = ""
        else:
            current += character
    words, inner, depth = [], "", 0
    for character in current.strip():
        depth += (character in "[(") - (character in "])")
        if character == " " and depth == 0:
            words.append(inner)
            inner = ""
        else:
            inner += character
    words += [inner] if inner else []
    if words and not is_modifier(words[0]):
        pieces.append(words.pop(0))
    return mnemonic, pieces, words


def is_modifier(word: str) -> bool:
    name = word.partition(":")[0]
    if ":" in word and "[" not in name and "(" not in name:
        return True
    return word in FLAGS or word in ("row_mirror", "row_half_mirror", "tfe")


def split_commas(rest: str) -> list[str]:
    """Operands apart by commas outside brackets."""
    return [part.strip() for part in re.split(r",(?![^(\[]*[)\]])", rest)] if rest else []


def is_matrix(mnemonic: str) -> bool:
    """Whether the factors must be vector registers."""
    return re.search("mfma|smfmac|wmma|swmmac", mnemonic) is not None
