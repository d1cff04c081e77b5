"""torch.cuda.FloatTensor and its like, on the emulated GPU: older programs make tensors with them.

A build of torch without CUDA has these types, and refuses to use one because of a byte in it that says "a CUDA type".
They work where the device has kernels, and ours has: the byte is taken away.
"""

from __future__ import annotations

import ctypes
from typing import Any

_AFTER = 1024  # bytes behind the beginning of a type within which its name in full lies


def unlock_legacy_types() -> None:
    """From now on they are types like those of the CPU. A layout that is not the one we know is left alone."""
    import torch

    for plain, of_gpu in _pairs(torch):
        place, flags = _flags(of_gpu)
        other, flags_of_cpu = _flags(plain)
        if place and other and flags == b"\1" + flags_of_cpu[1:] and flags_of_cpu == bytes(len(flags)):
            ctypes.memset(place, 0, 1)


def _pairs(torch: Any) -> list[tuple[Any, Any]]:
    names = [name for name in vars(torch) if name.endswith("Tensor") and hasattr(torch.cuda, name)]
    pairs = [(getattr(torch, name), getattr(torch.cuda, name)) for name in names]
    return [pair for pair in pairs if all(type(one).__name__ == "tensortype" for one in pair)]


def _flags(kind: Any) -> tuple[int, bytes]:
    """Where the flags of a type are and what they say: is it a CUDA type, is it an XPU type. Its name follows them."""
    whole = f"{kind.__module__}.{kind.__name__}".encode()
    found = ctypes.string_at(id(kind), _AFTER).find(whole + b"\0")
    count = 2
    return (id(kind) + found - count, ctypes.string_at(id(kind) + found - count, count)) if found > count else (0, b"")
