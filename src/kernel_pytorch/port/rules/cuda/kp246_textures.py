"""Textures and surfaces that a port cannot give

What: Forms of textures and surfaces that neither HIP's runtime nor a port's software textures can do: mipmapped
    arrays, the driver's texture references, surface references, views of another format, arrays that another library
    owns, and cube maps on RDNA. kpt reports each form once per file.
Why: MI100 to MI350 lack image hardware, or the part of it that CUDA's functions need. Elsewhere HIP's runtime knows
    no mipmapped arrays and no cube maps. All other forms work: on gfx9 a port keeps arrays in plain memory and
    computes each fetch (docs/textures.md), on RDNA it calls HIP's functions.
Fix: A person creates the object by cudaCreateTextureObject over plain memory, or over an array of one level, and
    copies into it what another library owns. Cube maps work on RDNA as well if the whole program is built with
    -DKPT_SOFTWARE_TEXTURES.
Source: ROCm/clr hipamd/src/hip_texture.cpp and hip_memory.cpp (imageSupport_, hipArrayCubemap);
    https://github.com/ROCm/clr/issues/276
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from kernel_pytorch.core.findings import Finding, Safety, Span
from kernel_pytorch.port.cxx.tokens import text_at
from kernel_pytorch.port.rule import Rule

if TYPE_CHECKING:
    from kernel_pytorch.port.cxx.source import CxxFile

RULE = Rule("KP246", "textures", languages=("cuda",), safety=Safety.MANUAL, triggers=(
    b"Mipmapped", b"TexRef", b"SurfRef", b"surface", b"BindSurface",
    b"ResourceViewDesc", b"MappedArray", b"Cubemap",
))  # fmt: skip

_FORMS = (
    (re.compile(rb"cuda\w*Mipmapped\w*"), "mipmapped arrays work neither in HIP's runtime nor in software"),
    (re.compile(rb"cu(?:(?:Tex|Surf)Ref\w+|ModuleGet(?:Tex|Surf)Ref)"),
     "the driver's texture references need image hardware: cuTexObjectCreate works without"),
    (re.compile(rb"surface(?=<)|cudaBindSurfaceToArray"),
     "HIP has no surface references: a surface object does the same"),
    (re.compile(rb"cudaResourceViewDesc"), "a view with a format of its own is refused where textures are software"),
    (re.compile(rb"cudaGraphicsSubResourceGetMappedArray"),
     "the array belongs to another library, in a layout that only it knows: copy it first"),
    (re.compile(rb"cudaArrayCubemap|(?:tex|surf)Cubemap\w*"),
     "HIP's runtime has no cube maps for RDNA: build with -DKPT_SOFTWARE_TEXTURES there"),
)  # fmt: skip


def check(src: CxxFile) -> Iterator[Finding]:
    """The first use of each form in a file."""
    left = list(_FORMS)
    for index, token in enumerate(src.code):
        if token.kind != "identifier" or not left:
            continue
        text = src.text(token)
        # `surface` is a word of many programs: only a template of that name is CUDA's.
        shown = text + b"<" if text == b"surface" and text_at(src, index + 1) == b"<" else text
        for form in left:
            found = form[0].match(shown)
            if found and found.end() == len(text):
                left.remove(form)
                yield RULE.finding(src, Span(token.start, token.end), f"{text.decode()}: {form[1]}")
                break
