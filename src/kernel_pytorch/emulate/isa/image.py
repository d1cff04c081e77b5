"""Images and typed views of buffers: what HIP's device library makes of textures and surfaces."""

from __future__ import annotations

from kernel_pytorch.emulate.isa.row import Row, memory

#: Where the level of detail comes from -> the ends of the names. Images here have one level.
_SAMPLES = {"": "|_lz", "GIVEN": "_l", "GRADIENT": "_d|_d_g16", "BIAS": "_b"}
#: The most registers of coordinates on gfx9, whose machine code names the first one only: three gradients of two parts
#: each and three coordinates, the last of which may have a level of detail or a layer in its place.
GFX9_COORDINATES = 10
_GATHERS = {"": "|_lz", "GIVEN": "_l", "BIAS": "_b"}


def _names(prefix: str, ends: str) -> str:
    return "|".join(prefix + end for end in ends.split("|"))


ROWS: tuple[Row, ...] = (
    *memory("image_load", space="IMAGE", action="load", does="LOAD"),
    *memory("image_load_mip", space="IMAGE", action="load", does="LOAD", level="GIVEN"),
    *memory("image_store", space="IMAGE", action="store", does="STORE"),
    *memory("image_store_mip", space="IMAGE", action="store", does="STORE", level="GIVEN"),
    *memory("image_get_resinfo", space="IMAGE", action="load", does="INFO"),
    *(
        row
        for level, ends in _SAMPLES.items()
        for row in memory(_names("image_sample", ends), space="IMAGE", action="load", does="SAMPLE", level=level)
    ),
    *(
        row
        for level, ends in _GATHERS.items()
        for row in memory(_names("image_gather4", ends), space="IMAGE", action="load", does="GATHER", level=level)
    ),
    *(
        row
        for count, channels in enumerate(("x", "xy", "xyz", "xyzw"), 1)
        for row in (
            *memory(f"buffer_load_format_{channels}", space="BUFFER", action="load", typed=str(count)),
            *memory(f"buffer_store_format_{channels}", space="BUFFER", action="store", typed=str(count)),
        )
    ),
)
