"""Image instructions as text: how many registers data and coordinates have follows from the name and from fields.

The rules are LLVM's (AMDGPU::getAddrSizeMIMGOp, convertMIMGInst). gfx9 does not say how many dimensions an image has:
LLVM writes the least that an instruction may have, and the table has that number.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from kernel_pytorch.toolchain.machine_code.modifiers import MODIFIERS
from kernel_pytorch.toolchain.machine_code.operands import EncodingError, vgprs
from kernel_pytorch.toolchain.machine_code.table import Row

FORMS = frozenset({"MIMG", "VIMAGE", "VSAMPLE"})
#: name -> coordinates, gradients, by the number in the field.
_DIMENSIONS = (("1D", 1, 2), ("2D", 2, 4), ("3D", 3, 6), ("CUBE", 3, 4), ("1D_ARRAY", 2, 2), ("2D_ARRAY", 3, 4))
_NAME = re.compile(r"image_(?P<what>sample|gather4h?|load|store|get_resinfo|get_lod)(?P<rest>\w*)\Z")
_FLAGS = ("unorm", "th", "scope", "glc", "slc", "dlc", "scc", "r128", "a16", "tfe", "lwe", "da", "d16")


def has_known_shape(mnemonic: str) -> bool:
    """Whether the registers of an image instruction follow from these rules: not atomics, several samples, rays."""
    match = _NAME.match(mnemonic)
    return match is not None and "_msaa" not in mnemonic


def image_printer(
    form: str, row: Row, generation: int, scalar: Callable[[int, int], str]
) -> Callable[[dict[str, int]], str]:
    """A function from the fields of an image instruction to its text. `scalar` names scalar registers."""
    mnemonic = row.mnemonic
    match = _NAME.match(mnemonic)
    if match is None:
        raise EncodingError(f"{mnemonic}: which registers it has is not known")
    what, words = match["what"], match["rest"].strip("_").split("_")
    samples = what in ("sample", "gather4", "gather4h", "get_lod")
    kind = "STORE" if what == "store" else "LOAD"
    least = int(row.operands[0].removeprefix("vaddr:v")) if row.operands else 0

    def text(fields: dict[str, int]) -> str:
        if generation > 9 and fields["dim"] >= len(_DIMENSIONS):
            raise EncodingError(f"{mnemonic} of an image with several samples")
        data = _data(fields, what)
        shown = [vgprs(fields["vdata"], data, "a" if fields.get("acc") else "v")]
        shown.append(vgprs(fields["vaddr"], least) if least else _addresses(fields, form, generation, what, words))
        step = 1 if generation >= 12 else 4
        shown.append(scalar(fields["srsrc"] * step, 8))
        if samples:
            shown.append(scalar(fields["ssamp"] * step, 4))
        modifiers = [f"dmask:0x{fields['dmask']:x}"] if fields["dmask"] else []
        if generation > 9:
            modifiers.append(f"dim:SQ_RSRC_IMG_{_DIMENSIONS[fields['dim']][0]}")
        modifiers += [one for name in _FLAGS if name in fields and (one := _flag(fields, name, kind, generation))]
        return " ".join([f"{mnemonic} {', '.join(shown)}", *modifiers])

    return text


def _flag(fields: Mapping[str, int], name: str, kind: str, generation: int) -> str:
    if name in ("th", "scope"):
        return MODIFIERS[name](fields, kind)
    if not fields[name]:
        return ""
    # On gfx9 the bit of short descriptors means short coordinates.
    return "a16" if name == "r128" and generation == 9 else name


def _data(fields: Mapping[str, int], what: str) -> int:
    count = 4 if what.startswith("gather4") else max(fields["dmask"].bit_count(), 1)
    if fields.get("d16"):
        count = (count + 1) // 2
    return count + (1 if fields.get("tfe") else 0)


def _addresses(fields: Mapping[str, int], form: str, generation: int, what: str, words: list[str]) -> str:
    count = _address_words(fields, what, words)
    given = [fields[name] for name in ("vaddr", "vaddr1", "vaddr2", "vaddr3", "vaddr4") if name in fields]
    if generation == 10:
        extra = fields["nsa"]
        given = [fields["vaddr"], *(fields["more"] >> 8 * at & 255 for at in range(4 * extra))]
        if not extra:
            return vgprs(fields["vaddr"], count)
        if count > len(given):
            raise EncodingError(f"{count} registers of coordinates, and {len(given)} are named")
        given = given[:count]
    elif generation == 11 and not fields["nsa"]:
        return vgprs(fields["vaddr"], count)
    elif count == 1 and generation > 11:
        return vgprs(given[0], 1)
    if count == 1:
        raise EncodingError("one register of coordinates in the form for several")
    most = 4 if form == "VSAMPLE" else 5
    parts = [vgprs(one, 1) for one in given[:count]]
    if generation > 10 and count > most:
        parts = [*parts[: most - 1], vgprs(given[most - 1], count - most + 1)]
    return f"[{', '.join(parts)}]"


def _address_words(fields: Mapping[str, int], what: str, words: list[str]) -> int:
    """How many registers the coordinates and what goes with them take."""
    _, coordinates, gradients = _DIMENSIONS[fields["dim"]]
    if what == "get_resinfo":
        return 1
    extra = sum(word in words for word in ("c", "o", "b"))
    has_level = any(word in words for word in ("l", "cl", "mip"))
    if what == "get_lod":
        return (coordinates + 1) // 2 if fields["a16"] else coordinates
    components = coordinates + has_level
    count = extra + ((components + 1) // 2 if fields["a16"] else components)
    if "d" in words or "cd" in words:
        count += (gradients // 2 + 1) // 2 * 2 if "g16" in words else gradients
    return count
