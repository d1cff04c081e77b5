"""Textures and surfaces that a port cannot give

What: Forms of textures and surfaces that neither HIP's runtime nor a port's software textures can do: mipmapped
    arrays, the driver's texture references, surface references, views of another format, arrays that another library
    owns, and cube maps on RDNA. kpt reports each form once per file, where possible at a call.
Why: MI100 to MI350 lack image hardware, or the part of it that CUDA's functions need. Elsewhere HIP's runtime knows
    no mipmapped arrays and no cube maps. All other forms work: on gfx9 a port keeps arrays in plain memory and
    computes each fetch (docs/textures.md), on RDNA it calls HIP's functions.
Fix: Create the object by cudaCreateTextureObject over plain memory, or over an array of one level, and copy the data
    of the other library into it. Replace a mipmapped array by an array and a texture object for each level, among
    which the kernel chooses by the level. Cube maps work on RDNA as well if the whole program is built with
    -DKPT_SOFTWARE_TEXTURES.
Source: ROCm/clr hipamd/src/hip_texture.cpp and hip_memory.cpp (imageSupport_, hipArrayCubemap);
    https://github.com/ROCm/clr/issues/276
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from kernel_pytorch.core.findings import Finding, Safety, Span
from kernel_pytorch.port.cxx.tokens import text_at, words
from kernel_pytorch.port.rule import Rule

if TYPE_CHECKING:
    from kernel_pytorch.port.cxx.source import CxxFile

RULE = Rule("KP246", "textures", languages=("cuda",), safety=Safety.MANUAL, triggers=(
    b"Mipmapped", b"CUmipmapped", b"TexRef", b"SurfRef", b"surface", b"BindSurface",
    b"ResourceViewDesc", b"MappedArray", b"Cubemap",
))  # fmt: skip

_FORMS = (
    (re.compile(rb"cuda\w*Mipmapped\w*|cuMipmappedArray\w+|CUmipmappedArray(?:_st)?"),
     "mipmapped arrays work neither in HIP's runtime nor in software: make an array and a texture object for each "
     "level, and choose among the objects by the level in the kernel"),
    (re.compile(rb"cu(?:(?:Tex|Surf)Ref\w+|ModuleGet(?:Tex|Surf)Ref)"),
     "the driver's texture references need image hardware: cuTexObjectCreate works without it"),
    (re.compile(rb"surface(?=<)|cudaBindSurfaceToArray"),
     "HIP has no surface references: a surface object does the same"),
    (re.compile(rb"cudaResourceViewDesc"), "software textures do not support a view with its own format"),
    (re.compile(rb"cudaGraphicsSubResourceGetMappedArray"),
     "the array belongs to another library, in a layout that only it knows: copy it first"),
    (re.compile(rb"cudaArrayCubemap|(?:tex|surf)Cubemap\w*"),
     "HIP's runtime has no cube maps for RDNA: build with -DKPT_SOFTWARE_TEXTURES there"),
)  # fmt: skip


def check(src: CxxFile) -> Iterator[Finding]:
    """The first call of each form in a file, or the first use where none is called."""
    left = list(_FORMS)
    # `surface` is a word of many programs: only `surface<void` is CUDA's.
    names = [name for name in src.vocabulary if name == b"surface" or _form(name, left) is not None]
    places = sorted(index for name in names for index in words(src).get(name))
    for index in (*(one for one in places if text_at(src, one + 1) == b"("), *places):
        text = text_at(src, index)
        form = _form(text, left, text_at(src, index + 1) + text_at(src, index + 2))
        if form is not None:
            left.remove(form)
            token = src.code[index]
            yield RULE.finding(src, Span(token.start, token.end), f"{text.decode()}: {form[1]}")


def _form(
    name: bytes, forms: Iterable[tuple[re.Pattern[bytes], str]], following: bytes = b""
) -> tuple[re.Pattern[bytes], str] | None:
    """The first of some forms that a name is of, `following` being the two tokens behind it."""
    shown = name + b"<" if name == b"surface" and following == b"<void" else name
    return next((form for form in forms if (found := form[0].match(shown)) and found.end() == len(name)), None)
