"""Scalar loads and the clocks."""

from __future__ import annotations

from kernel_pytorch.emulate.isa.row import Row, memory

_WIDTHS = {"dword|b32": "4", "dwordx2|b64": "8", "dwordx3|b96": "12", "dwordx4|b128": "16", "dwordx8|b256": "32",
           "dwordx16|b512": "64"}  # fmt: skip

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
        for row in memory(f"s_load_{name}", space="SCALAR", action="load_part", moves=name)
    ),
    *memory("s_memtime", space="SCALAR", action="clock", realtime="0"),
    *memory("s_memrealtime", space="SCALAR", action="clock", realtime="1"),
)
