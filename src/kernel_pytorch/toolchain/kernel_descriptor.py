"""The 64 bytes the hardware's command processor reads before it starts a kernel.

They say the same as the metadata note in another encoding, so they serve to check it.
Layout: LLVM's AMDGPU usage guide, "Kernel Descriptor".
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

from kernel_pytorch.core.hardware import processor

DESCRIPTOR_BYTES = 64


@dataclass(frozen=True)
class KernelDescriptor:
    """Fields of one kernel descriptor (`<kernel>.kd`)."""

    lds_bytes: int
    scratch_bytes: int
    kernarg_bytes: int
    granulated_vgprs: int
    granulated_sgprs: int
    wave_size: int
    workgroup_processor_mode: bool
    uses_dynamic_stack: bool
    accum_offset: int | None  # gfx90a on: architectural VGPRs before the first AGPR

    def vgprs_at_most(self, target: str) -> int:
        """The registers the hardware hands to a wave: the metadata's count rounded up to the encoding's step."""
        return (self.granulated_vgprs + 1) * vgpr_encoding_granule(target, self.wave_size)


def vgpr_encoding_granule(target: str, wave_size: int) -> int:
    """Registers per step of GRANULATED_WORKITEM_VGPR_COUNT."""
    row = processor(target)
    return row.vgpr_step_wave32 if wave_size == 32 and row.vgpr_step_wave32 is not None else row.vgpr_step_wave64


def parse_descriptor(data: bytes, target: str) -> KernelDescriptor:
    """Decode the 64 bytes of a kernel descriptor."""
    lds, scratch, kernarg = struct.unpack_from("<III", data, 0)
    rsrc3, rsrc1, _rsrc2, properties = struct.unpack_from("<IIIH", data, 44)
    row = processor(target)
    return KernelDescriptor(
        lds_bytes=lds,
        scratch_bytes=scratch,
        kernarg_bytes=kernarg,
        granulated_vgprs=rsrc1 & 0x3F,
        granulated_sgprs=(rsrc1 >> 6) & 0xF,
        wave_size=32 if row.vgpr_step_wave32 is not None and properties & (1 << 10) else 64,
        # Elsewhere the bit means something else.
        workgroup_processor_mode=row.has_wgp_mode and bool(rsrc1 & (1 << 29)),
        uses_dynamic_stack=bool(properties & (1 << 11)),
        accum_offset=((rsrc3 & 0x3F) + 1) * 4 if row.has_accum_offset else None,
    )
