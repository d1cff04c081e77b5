"""Scalar loads and the clocks; the scalar stores and atomics of gfx9, which compilers no longer use."""

from __future__ import annotations

from kernel_pytorch.emulate.isa.row import Row, memory
from kernel_pytorch.emulate.isa.vector_memory import ATOMICS

_WIDTHS = {"dword|b32": "4", "dwordx2|b64": "8", "dwordx3|b96": "12", "dwordx4|b128": "16", "dwordx8|b256": "32",
           "dwordx16|b512": "64"}  # fmt: skip

# s_scratch_load and s_scratch_store are left out: what their offset counts is not laid down well enough.
_STORED = {"dword": "4", "dwordx2": "8", "dwordx4": "16"}
_ATOMICS = ("SWAP", "CMPSWAP", "ADD", "SUB", "SMIN", "UMIN", "SMAX", "UMAX", "AND", "OR", "XOR", "INC", "DEC")


def _writes() -> tuple[Row, ...]:
    rows: list[Row] = []
    for prefix, through in (("s", ""), ("s_buffer", "buffer_")):
        for name, size in _STORED.items():
            rows += memory(f"{prefix}_store_{name}", space="SCALAR", action=f"{through}store", bytes=size)
        for operation in _ATOMICS:
            for bits, names in zip(("32", "64"), ATOMICS[operation], strict=True):
                rows += memory(
                    f"{prefix}_atomic_{names.split('|')[0]}",
                    space="SCALAR",
                    action=f"{through}atomic",
                    operation=operation,
                    bits=bits,
                )
    return tuple(rows)


ROWS: tuple[Row, ...] = (
    *(
        row
        for names, size in _WIDTHS.items()
        for row in (
            *memory("|".join(f"s_load_{name}" for name in names.split("|")), space="SCALAR", action="load", bytes=size),
            *memory(
                "|".join(f"s_buffer_load_{name}" for name in names.split("|")),
                space="SCALAR",
                action="buffer_load",
                bytes=size,
            ),
        )
    ),
    *(
        row
        for name in ("u8", "i8", "u16", "i16")
        for row in (
            *memory(f"s_load_{name}", space="SCALAR", action="load_part", moves=name),
            *memory(f"s_buffer_load_{name}", space="SCALAR", action="buffer_load_part", moves=name),
        )
    ),
    *_writes(),
    *memory("s_memtime|s_get_shader_cycles_u64", space="SCALAR", action="clock", realtime="0"),
    *memory("s_memrealtime", space="SCALAR", action="clock", realtime="1"),
)
