"""What the cache keeps of a compiled kernel: the code object and the stamps of every file it was made from."""

from __future__ import annotations

import json
import struct
from dataclasses import dataclass

from kernel_pytorch.toolchain.identity import Stamp, unchanged

_LENGTH = struct.Struct("<I")


@dataclass(frozen=True)
class StoredKernel:
    """A code object with its origin. It is current as long as no header it included has changed."""

    binary: bytes
    dependencies: tuple[Stamp, ...]
    compile_time_ms: float
    toolchain: str
    assembly: str | None = None

    @property
    def is_current(self) -> bool:
        return unchanged(self.dependencies)

    def to_bytes(self) -> bytes:
        """The form in the disk cache."""
        facts = {
            "dependencies": self.dependencies,
            "compile_time_ms": self.compile_time_ms,
            "toolchain": self.toolchain,
            "assembly": self.assembly,
        }
        head = json.dumps(facts).encode()
        return _LENGTH.pack(len(head)) + head + self.binary


def stored_kernel(payload: bytes) -> StoredKernel:
    """The kernel behind bytes that the cache gave back; their checksum was right, so they are ours."""
    (length,) = _LENGTH.unpack_from(payload)
    end = _LENGTH.size + length
    facts = json.loads(payload[_LENGTH.size : end])
    dependencies = tuple((path, size, time_ns) for path, size, time_ns in facts["dependencies"])
    return StoredKernel(
        payload[end:], dependencies, facts["compile_time_ms"], facts["toolchain"], facts.get("assembly")
    )
