"""HIP's C API through ctypes, for scripts that run in a process of their own with the emulated runtime."""

from __future__ import annotations

import ctypes
import os
import struct
from pathlib import Path
from typing import Any

H2D, D2H, D2D = 1, 2, 3
INVALID_VALUE, OUT_OF_MEMORY, INVALID_CONFIGURATION, INVALID_HANDLE, NOT_FOUND = 1, 2, 9, 400, 500
ILLEGAL_ADDRESS, LAUNCH_TIMEOUT, LAUNCH_FAILURE, NOT_SUPPORTED = 700, 702, 719, 801

library = ctypes.CDLL(str(Path(os.environ["KPT_TEST_RUNTIME"]) / "libamdhip64.so"))


class Dim3(ctypes.Structure):
    _fields_ = [("x", ctypes.c_uint32), ("y", ctypes.c_uint32), ("z", ctypes.c_uint32)]


def call(name: str, *arguments: Any) -> int:
    """The error code of a call."""
    return int(getattr(library, name)(*arguments))


def good(name: str, *arguments: Any) -> None:
    """A call that must succeed."""
    code = call(name, *arguments)
    assert code == 0, f"{name} returned {code}"


def size(value: int) -> ctypes.c_size_t:
    return ctypes.c_size_t(value)


def malloc(count: int, name: str = "hipMalloc", *more: Any) -> int:
    """An address from one of the allocation functions."""
    pointer = ctypes.c_void_p()
    good(name, ctypes.byref(pointer), size(count), *more)
    return pointer.value or 0


def upload(address: int, data: bytes) -> None:
    good("hipMemcpy", ctypes.c_void_p(address), data, size(len(data)), H2D)


def download(address: int, count: int) -> bytes:
    data = ctypes.create_string_buffer(count)
    good("hipMemcpy", data, ctypes.c_void_p(address), size(count), D2H)
    return data.raw


def words(address: int, count: int) -> list[int]:
    return list(struct.unpack(f"<{count}I", download(address, 4 * count)))


def module(path: str | None = None) -> ctypes.c_void_p:
    handle = ctypes.c_void_p()
    good("hipModuleLoad", ctypes.byref(handle), (path or os.environ["KPT_TEST_CODE_OBJECT"]).encode())
    return handle


def function(loaded: ctypes.c_void_p, name: str) -> ctypes.c_void_p:
    handle = ctypes.c_void_p()
    good("hipModuleGetFunction", ctypes.byref(handle), loaded, name.encode())
    return handle


def launch(
    kernel: ctypes.c_void_p,
    grid: tuple[int, int, int],
    block: tuple[int, int, int],
    values: list[Any],
    lds: int = 0,
    stream: Any = None,
) -> int:
    """The error code of a launch with these ctypes values as arguments."""
    pointers = (ctypes.c_void_p * max(len(values), 1))(*[ctypes.addressof(value) for value in values])
    return call("hipModuleLaunchKernel", kernel, *grid, *block, lds, stream, pointers, None)


def pointer_and_number(address: int, number: int) -> list[Any]:
    return [ctypes.c_uint64(address), ctypes.c_uint64(number)]


def name_of(code: int) -> str:
    library.hipGetErrorName.restype = ctypes.c_char_p
    return str(library.hipGetErrorName(code).decode())
