"""Textures and surfaces

What: Texture references, texture and surface objects, and the functions that read and write through them. kpt reports
    them once per file.
Why: MI200, MI300 and MI350 have no image hardware (__HIP_NO_IMAGE_SUPPORT), so the calls do not compile for them or
    the objects cannot be created. Elsewhere the row pitch must be a multiple of 256 bytes, and linear filtering of
    integer texels read as floats is refused.
Fix: A person reads linear memory (with clamping or wrapping in the kernel) and interpolates by hand, or asks
    hipDeviceAttributeImageSupport and keeps both paths.
Source: https://rocm.docs.amd.com/projects/HIP/en/latest/how-to/hip_cpp_language_extensions.html; ROCm/clr#275;
    https://github.com/jeffdaily/moat/blob/main/PORTING_GUIDE.md
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from kernel_pytorch.core.findings import Finding, Safety, Span
from kernel_pytorch.port.cxx.tokens import text_at, words
from kernel_pytorch.port.rule import Rule

if TYPE_CHECKING:
    from kernel_pytorch.port.cxx.source import CxxFile
    from kernel_pytorch.port.cxx.unit import Unit

_FUNCTIONS = tuple(
    name.encode()
    for name in [
        "tex1Dfetch",
        "tex1D",
        "tex2D",
        "tex3D",
        "tex1DLayered",
        "tex2DLayered",
        "texCubemap",
        "tex2Dgather",
        "tex2DLod",
        "tex3DLod",
        "tex2DGrad",
        "surf1Dread",
        "surf1Dwrite",
        "surf2Dread",
        "surf2Dwrite",
        "surf3Dread",
        "surf3Dwrite",
        "surf2DLayeredread",
        "surf2DLayeredwrite",
    ]
)
_TYPES = (
    b"cudaTextureObject_t",
    b"cudaSurfaceObject_t",
    b"cudaCreateTextureObject",
    b"cudaCreateSurfaceObject",
    b"cudaBindTexture",
)

RULE = Rule(
    "KP246", "textures", languages=("cuda",), safety=Safety.MANUAL, triggers=(b"tex", b"surf", b"Texture", b"Surface")
)

_TEXTURES = re.compile(rb"\btexture\s*<|\b(?:cuda|CU)(?:Texture|Surface|texObject|surfObject)")


def check_in_unit(src: CxxFile, unit: Unit) -> Iterator[Finding]:
    """The first use in a file, with how many there are."""
    known = words(src)
    uses = [index for name in _TYPES for index in known.get(name, ())]
    uses += [index for name in _FUNCTIONS for index in known.get(name, ()) if text_at(src, index + 1) in (b"(", b"<")]
    uses += [index for index in known.get(b"texture", ()) if text_at(src, index + 1) == b"<"]
    # Without textures in the unit these are functions of the project's own that happen to be called tex2D.
    if uses and any(_TEXTURES.search(file.data) for file in unit.files):
        token = src.code[min(uses)]
        name = src.text(token).decode("utf-8", "replace")
        count = f" ({len(uses)} uses in this file)" if len(uses) > 1 else ""
        message = f"{name}: MI200 and MI300 have no image hardware: textures and surfaces do not work there{count}"
        yield RULE.finding(src, Span(token.start, token.end), message)
