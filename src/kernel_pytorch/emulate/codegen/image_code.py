"""Image instructions and typed accesses of buffers: calls of the runtime's texture unit."""

from __future__ import annotations

from collections.abc import Sequence

from kernel_pytorch.emulate.assembly.instruction import Instruction, Operand, Register
from kernel_pytorch.emulate.codegen.emission import Emission
from kernel_pytorch.emulate.isa.row import Row

_DIMENSIONS = {
    "SQ_RSRC_IMG_1D": "1D", "SQ_RSRC_IMG_2D": "2D", "SQ_RSRC_IMG_3D": "3D", "SQ_RSRC_IMG_1D_ARRAY": "1D_ARRAY",
    "SQ_RSRC_IMG_2D_ARRAY": "2D_ARRAY",
}  # fmt: skip
_FLAGS = {"unorm": "KPT_IMAGE_UNNORMALIZED", "a16": "KPT_IMAGE_A16", "d16": "KPT_IMAGE_D16", "da": "KPT_IMAGE_ARRAY"}
_REFUSED = {
    "tfe": "results that say whether a page was there are not emulated",
    "lwe": "warnings about levels of detail are not emulated",
    "r128": "descriptors of four words are not emulated",
}
_MOST_ADDRESSES = 12


def is_image_modifier(name: str) -> bool:
    """Whether an image instruction knows a modifier, or refuses it with a reason."""
    return name in ("dmask", "dim") or name in _FLAGS or name in _REFUSED


def emit_image(em: Emission, instruction: Instruction, row: Row) -> None:
    """image_*: data, coordinates in one or several operands, the image's eight words and the sampler's four."""
    for name, why in _REFUSED.items():
        if instruction.modifiers.get(name):
            raise em.error(why)
    vectors = [one for one in instruction.operands if isinstance(one, Register) and one.file in ("v", "a")]
    scalars = [one for one in instruction.operands if isinstance(one, Register) and one.file == "s"]
    samples = row.fact("does") in ("SAMPLE", "GATHER")
    if len(vectors) < 2 or [one.count for one in scalars] != ([8, 4] if samples else [8]):
        raise em.error("the operands are not data, coordinates and descriptors")
    data, *coordinates = vectors
    mask = _mask(em, instruction, row, data)
    registers = [one.index + at for one in coordinates for at in range(one.count)]
    if len(registers) > _MOST_ADDRESSES:
        raise em.error(f"{len(registers)} registers of coordinates, where no image has more than {_MOST_ADDRESSES}")
    flags = [text for name, text in _FLAGS.items() if instruction.modifiers.get(name)]
    # Gradients of 16 bits: by the instruction's name, on gfx9 where the coordinates are so.
    if instruction.mnemonic.endswith("_g16") or (em.shape.generation == 9 and instruction.modifiers.get("a16")):
        flags.append("KPT_IMAGE_G16")
    if data.file == "a":
        flags.append("KPT_IMAGE_AGPR")
    use = {
        "action": f"KPT_IMAGE_{row.fact('does')}",
        "dim": f"KPT_DIM_{_dimension(em, instruction)}",
        "level": f"KPT_LEVEL_{row.fact('level') or 'NONE'}",
        "dmask": str(mask),
        "flags": " | ".join(flags) or "0",
    }
    words = [em.sgpr(one.index + at) for one in scalars for at in range(one.count)]
    _call(em, use, data, registers, words)


def emit_typed(
    em: Emission, instruction: Instruction, row: Row, data: Register, vector: Operand, words: Sequence[str]
) -> None:
    """buffer_*_format_*: the vector operand is the index, the offset, or both. `words`: the buffer's, scalar offset."""
    has_index, has_offset = (bool(instruction.modifiers.get(name)) for name in ("idxen", "offen"))
    registers = [vector.index + at for at in range(has_index + has_offset)] if isinstance(vector, Register) else []
    if len(registers) != has_index + has_offset:
        raise em.error(f"operand {vector} is not a vector register")
    if data.count != int(row.fact("typed")):
        raise em.error(f"{row.fact('typed')} channels, and {data.count} registers of data")
    offset = instruction.modifiers.get("offset", 0)
    use = {
        "action": "KPT_TYPED_LOAD" if row.fact("action") == "load" else "KPT_TYPED_STORE",
        "dmask": str((1 << int(row.fact("typed"))) - 1),
        "flags": "KPT_IMAGE_AGPR" if data.file == "a" else "0",
        "offset": str(offset),
        "has_index": str(int(has_index)),
        "has_offset": str(int(has_offset)),
    }
    _call(em, use, data, registers, words)


def _call(em: Emission, use: dict[str, str], data: Register, registers: Sequence[int], words: Sequence[str]) -> None:
    fields = {
        **use,
        "addresses": str(len(registers)),
        "address": f"{{{', '.join(map(str, registers)) or '0'}}}",
        "data": str(data.index),
        "lanes": "WAVE",
    }
    text = ", ".join(f".{name} = {value}" for name, value in fields.items())
    em.put(f"{{ static const KptImageUse use = {{{text}}}; const uint32_t words[] = {{{', '.join(words)}}};")
    em.put("w->services->image(w, &use, words, ex); }")


def _mask(em: Emission, instruction: Instruction, row: Row, data: Register) -> int:
    """Which channels are moved; the registers must be as many."""
    mask = instruction.modifiers.get("dmask", 0)
    if not isinstance(mask, int) or not 0 < mask < 16:
        raise em.error(f"dmask:{mask} names no channel")
    count = mask.bit_count()
    if row.fact("does") == "GATHER":
        if count != 1:
            raise em.error("a gather takes one channel")
        count = 4
    if instruction.modifiers.get("d16"):
        count = (count + 1) // 2
    if data.count != count:
        raise em.error(f"dmask:{mask:#x} needs {count} registers of data, and there are {data.count}")
    return mask


def _dimension(em: Emission, instruction: Instruction) -> str:
    """gfx9's instructions do not say it: there the descriptor does."""
    if em.shape.generation == 9:
        return "OF_RESOURCE"
    name = instruction.modifiers.get("dim", "")
    if name not in _DIMENSIONS:
        own = "; a port's own cube maps are built with -D KPT_SOFTWARE_TEXTURES" if "CUBE" in str(name) else ""
        raise em.error(f"images of {name or 'no dimension'} are not emulated: HIP's runtime makes none{own}")
    return _DIMENSIONS[str(name)]
