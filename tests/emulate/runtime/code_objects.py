"""Writes small AMD code objects: ELF files with kernel symbols, variables and relocations, but no machine code."""

from __future__ import annotations

import struct
from collections.abc import Sequence

MACHINE = 224
RELATIVE64, ABS64 = 13, 3
KERNELS = ("add", "state", "hidden", "barrier", "early", "wait", "forever", "store", "trap", "grid", "checked", "print")


def code_object(kernels: Sequence[str] = KERNELS, salt: bytes = b"") -> bytes:
    """A code object with these kernels, `table` (ints 5, 6, 7), `pointer` (to table) and `absolute` (to table + 4)."""
    names = b"\0"
    offsets: dict[str, int] = {}
    variables = ("table", "pointer", "absolute")
    for name in (*(f"{kernel}.kd" for kernel in kernels), *kernels, *variables):
        offsets[name] = len(names)
        names += name.encode() + b"\0"
    base = 0x1000
    data = struct.pack("<3i4x", 5, 6, 7) + b"\0" * 16 + salt
    descriptors = len(data) + (-len(data) % 64)
    data += b"\0" * (descriptors - len(data)) + b"\0" * 64 * len(kernels)
    symbols = b"\0" * 24
    index: dict[str, int] = {}

    def add(name: str, value: int, size: int) -> None:
        nonlocal symbols
        index[name] = len(symbols) // 24
        symbols += struct.pack("<IBBHQQ", offsets[name], 0x11, 0, 4, value, size)

    for number, kernel in enumerate(kernels):
        add(f"{kernel}.kd", base + descriptors + 64 * number, 64)
        add(kernel, base + descriptors + 64 * number, 4)
    add("table", base, 12)
    add("pointer", base + 16, 8)
    add("absolute", base + 24, 8)
    relocations = struct.pack("<QQq", base + 16, RELATIVE64, base)
    relocations += struct.pack("<QQq", base + 24, index["table"] << 32 | ABS64, 4)
    return _elf(base, data, symbols, names, relocations)


def _elf(base: int, data: bytes, symbols: bytes, names: bytes, relocations: bytes) -> bytes:
    head = 64 + 56
    parts = {"data": data, "symbols": symbols, "names": names, "relocations": relocations}
    places: dict[str, int] = {}
    body = b""
    for name, content in parts.items():
        body += b"\0" * (-(head + len(body)) % 16)
        places[name] = head + len(body)
        body += content
    sections_at = head + len(body) + (-(head + len(body)) % 16)
    body += b"\0" * (sections_at - head - len(body))

    def section(kind: int, flags: int, address: int, part: str, link: int, entry: int) -> bytes:
        return struct.pack("<IIQQQQIIQQ", 0, kind, flags, address, places[part], len(parts[part]), link, 0, 8, entry)

    sections = b"\0" * 64
    sections += section(11, 2, 0, "symbols", 2, 24)  # SHT_DYNSYM
    sections += section(3, 2, 0, "names", 0, 0)  # SHT_STRTAB
    sections += section(4, 2, 0, "relocations", 1, 24)  # SHT_RELA
    sections += section(1, 3, base, "data", 0, 0)  # SHT_PROGBITS
    ident = b"\x7fELF" + bytes([2, 1, 1, 64, 4]) + b"\0" * 7
    header = ident + struct.pack("<HHIQQQIHHHHHH", 3, MACHINE, 1, 0, 64, sections_at, 0, 64, 56, 1, 64, 5, 2)
    program = struct.pack("<IIQQQQQQ", 1, 6, places["data"], base, base, len(data), len(data) + 64, 4096)
    return header + program + body + sections


def bundle(entries: Sequence[tuple[str, bytes]]) -> bytes:
    """A clang offload bundle."""
    table = 24 + 8 + sum(24 + len(name) for name, _ in entries)
    head, body = b"__CLANG_OFFLOAD_BUNDLE__" + struct.pack("<Q", len(entries)), b""
    for name, content in entries:
        head += struct.pack("<QQQ", table + len(body), len(content), len(name)) + name.encode()
        body += content
    return head + body
