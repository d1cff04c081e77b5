"""One kernel's description out of a code object's metadata, without reading those of the others.

A library's code object describes thousands of kernels in one MessagePack document. To read it as a whole takes longer
than to translate the one kernel that a program launches.
"""

from __future__ import annotations

import re
import struct

from kernel_pytorch.toolchain.msgpack import MessagePackError, Value, value_at

# A map's first byte or bytes, where the map's first key is one of the compiler's: a short text that begins with a dot.
_MAP = re.compile(rb"(?:[\x80-\x8f]|\xde[\x00-\xff]{2})(?=[\xa1-\xbf]\.)")
_NAME = b"\xa5.name"
# Keys that come first and last in a kernel's description, and that no argument has.
_ALWAYS = (".group_segment_fixed_size", ".kernarg_segment_size", ".vgpr_count", ".wavefront_size")
_WINDOWS = (1 << 13, 1 << 20)
_FIRST_KEYS = 64  # bytes that what stands before `.args` takes at most


def kernel_entry(document: bytes, symbol: str) -> dict[Value, Value] | None:
    """The description of the kernel with that symbol; None where it is not found this way."""
    wanted = _NAME + _packed(symbol)
    at = document.find(wanted)
    while at >= 0:
        for window in _WINDOWS:
            start = max(0, at - window)
            found = _entry_around(document, start, at, symbol)
            if found is not None and (start == 0 or found[0] - start > _FIRST_KEYS):
                return found[1]
        at = document.find(wanted, at + 1)
    return None


def _entry_around(document: bytes, start: int, name_at: int, symbol: str) -> tuple[int, dict[Value, Value]] | None:
    # The farthest first: the last byte of a number within the description may look like the beginning of a map, and
    # what is read from there on lacks the keys before it.
    for match in _MAP.finditer(document, start, name_at):
        try:
            value = value_at(document, match.start())
        except MessagePackError:
            continue
        if isinstance(value, dict) and value.get(".name") == symbol and all(key in value for key in _ALWAYS):
            return match.start(), value
    return None


def _packed(text: str) -> bytes:
    content = text.encode()
    size = len(content)
    if size < 32:
        return bytes([0xA0 | size]) + content
    if size < 1 << 8:
        return bytes([0xD9, size]) + content
    if size < 1 << 16:
        return b"\xda" + struct.pack(">H", size) + content
    return b"\xdb" + struct.pack(">I", size) + content
