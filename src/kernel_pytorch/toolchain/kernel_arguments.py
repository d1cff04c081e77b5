"""Packs Python values into the parameter block of a kernel, at the offsets the compiled module gives.

Whatever cannot be right is refused here, by name, before a driver sees it: on a GPU a wrong argument is a
memory fault or a wrong answer, never a message.
"""

from __future__ import annotations

import ctypes
import math
import struct
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeGuard

from kernel_pytorch.toolchain.kernel_parameters import POINTER, UNKNOWN, VALUE, Parameter, Scalar, pointee, scalar

if TYPE_CHECKING:
    from torch import Tensor

_HOST_MEMORY = "lies in host memory, which a kernel cannot read; copy it to the GPU first"


@dataclass(frozen=True)
class PackedArguments:
    """The parameter block and one pointer into it per parameter, as hip/cuLaunchKernel take them."""

    block: ctypes.Array[ctypes.c_char]
    pointers: ctypes.Array[ctypes.c_void_p]

    def bytes_of(self, parameter: Parameter) -> bytes:
        return self.block.raw[parameter.offset : parameter.offset + parameter.size]


def pack_arguments(kernel: str, parameters: Sequence[Parameter], arguments: Sequence[Any]) -> PackedArguments:
    """Pack `arguments` for `kernel`. Raises TypeError, ValueError or OverflowError naming the argument."""
    if isinstance(arguments, (str, bytes)) or not isinstance(arguments, Sequence):
        raise TypeError(f"kernel {kernel!r}: args must be a list or tuple, not {type(arguments).__name__}")
    if len(arguments) != len(parameters):
        wanted = ", ".join(" ".join(filter(None, (p.type, p.name))) or f"{p.size} bytes" for p in parameters)
        count = f"{len(parameters)} argument{'' if len(parameters) == 1 else 's'}"
        raise TypeError(f"kernel {kernel!r} takes {count} ({wanted}), {len(arguments)} given")
    size = max((p.offset + p.size for p in parameters), default=0)
    # Never zero bytes: an empty ctypes buffer has no address to hand over.
    block = ctypes.create_string_buffer(max(size, 1))
    base = ctypes.addressof(block)
    for parameter, value in zip(parameters, arguments, strict=True):
        try:
            packed = _bytes_of(parameter, value)
        except (TypeError, ValueError, OverflowError) as error:
            raise type(error)(f"kernel {kernel!r}, {parameter}: {error}") from None
        ctypes.memmove(base + parameter.offset, packed, parameter.size)
    addresses = [base + p.offset for p in parameters]
    return PackedArguments(block, (ctypes.c_void_p * max(len(addresses), 1))(*addresses))


def value_bytes(kernel: str, parameter: Parameter, value: Any) -> bytes:
    """One plain value (no device memory) as the parameter wants it. Raises like `pack_arguments`."""
    try:
        packed = _value(parameter, value)
        if len(packed) != parameter.size:
            raise TypeError(f"expected {parameter.size} bytes, {_kind(value)} has {len(packed)}")
    except (TypeError, ValueError, OverflowError) as error:
        raise type(error)(f"kernel {kernel!r}, {parameter}: {error}") from None
    return packed


def is_tensor(value: object) -> TypeGuard[Tensor]:
    """True for a torch tensor; asks only a torch that somebody already imported."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)


def _bytes_of(parameter: Parameter, value: Any) -> bytes:
    address = _device_address(parameter, value)
    if address is not None:
        if parameter.kind == VALUE or (parameter.kind == UNKNOWN and parameter.size != 8):
            raise TypeError(f"expected a value of {parameter.size} bytes, got device memory ({_kind(value)})")
        return struct.pack("<Q", address)
    if parameter.kind == POINTER:
        raise TypeError(
            f"expected device memory, got {_kind(value)}; pass a GPU tensor, or ctypes.c_void_p(address) "
            "for a raw device address"
        )
    packed = _value(parameter, value)
    if len(packed) != parameter.size:
        raise TypeError(f"expected {parameter.size} bytes, {_kind(value)} has {len(packed)}")
    return packed


def _device_address(parameter: Parameter, value: Any) -> int | None:
    """The device address `value` stands for, or None if it is a plain value."""
    if is_tensor(value):
        if not value.is_cuda:
            raise ValueError(f"the tensor {_HOST_MEMORY} (tensor.to('cuda'))")
        _check_element_type(parameter, str(value.dtype).removeprefix("torch."))
        return int(value.data_ptr())
    if value is None and parameter.kind != VALUE:
        return 0
    if isinstance(value, ctypes.c_void_p):
        return value.value or 0
    if isinstance(value, (ctypes._Pointer, ctypes.c_char_p, ctypes.c_wchar_p)):
        raise TypeError(f"a ctypes pointer {_HOST_MEMORY}")
    interface = getattr(value, "__cuda_array_interface__", None)
    if interface is not None:
        return int(interface["data"][0])
    if _is_numpy_array(value):
        raise ValueError(f"the numpy array {_HOST_MEMORY} (torch.from_numpy(array).to('cuda'))")
    return None


_TENSOR_ELEMENTS = {
    "float32": Scalar("float", 4),
    "float64": Scalar("float", 8),
    "float16": Scalar("float", 2),
    "bfloat16": Scalar("bfloat", 2),
    "int8": Scalar("int", 1),
    "uint8": Scalar("uint", 1),
    "int16": Scalar("int", 2),
    "uint16": Scalar("uint", 2),
    "int32": Scalar("int", 4),
    "uint32": Scalar("uint", 4),
    "int64": Scalar("int", 8),
    "uint64": Scalar("uint", 8),
    "bool": Scalar("bool", 1),
}


def _check_element_type(parameter: Parameter, dtype: str) -> None:
    wanted = pointee(parameter.type)
    given = _TENSOR_ELEMENTS.get(dtype)
    if wanted is None or given is None or wanted.family == "char":
        return
    whole = {"int", "uint", "char", "bool"}  # sign is the kernel's affair, torch has few unsigned types
    same_family = wanted.family == given.family or (wanted.family in whole and given.family in whole)
    if not same_family or wanted.size != given.size:
        raise TypeError(
            f"the tensor holds {dtype}; convert it, or pass ctypes.c_void_p(tensor.data_ptr()) to reinterpret its bytes"
        )


def _value(parameter: Parameter, value: Any) -> bytes:
    wanted = scalar(parameter.type)
    if isinstance(value, (ctypes.Structure, ctypes.Union, ctypes.Array, ctypes._SimpleCData)):
        return bytes(value)
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value)
    if _is_numpy_scalar(value):
        return _numpy_bytes(wanted, value)
    if isinstance(value, (bool, int)):
        return _integer(parameter.size, wanted, int(value))
    if isinstance(value, float):
        return _float(parameter.size, wanted, value)
    raise TypeError(
        f"cannot pass {_kind(value)}; pass int, float, bool, a numpy scalar, a ctypes value or structure, "
        "or a GPU tensor"
    )


def _integer(size: int, wanted: Scalar | None, value: int) -> bytes:
    if wanted is not None and wanted.family in ("float", "bfloat"):
        return _float(size, wanted, float(value))  # what C does when an int meets a float parameter
    if wanted is not None and wanted.family == "bool" and value not in (0, 1):
        raise OverflowError(f"a bool is 0 or 1, got {value}")
    if size not in (1, 2, 4, 8):
        raise TypeError(f"expected a structure of {size} bytes, got int; pass a ctypes.Structure")
    bits = 8 * size
    family = wanted.family if wanted is not None else "either"
    low = 0 if family in ("uint", "bool") else -(1 << (bits - 1))
    high = (1 << (bits - 1)) - 1 if family == "int" else (1 << bits) - 1
    if not low <= value <= high:
        raise OverflowError(f"{value} is outside {low}..{high}, the range of {size} bytes")
    return (value % (1 << bits)).to_bytes(size, "little")


def _float(size: int, wanted: Scalar | None, value: float) -> bytes:
    if wanted is not None and wanted.family not in ("float", "bfloat"):
        raise TypeError(f"expected an integer, got float {value!r}")
    if wanted is not None and wanted.family == "bfloat":
        return _bfloat16(value)
    if size == 2 and wanted is None:
        raise TypeError("2 bytes may be half or bfloat16; pass numpy.float16, or the bits as ctypes.c_uint16")
    code = {2: "<e", 4: "<f", 8: "<d"}.get(size)
    if code is None:
        raise TypeError(f"expected {size} bytes, got float")
    try:
        return struct.pack(code, value)
    except OverflowError:
        raise OverflowError(f"{value!r} does not fit a float of {size} bytes") from None


def _bfloat16(value: float) -> bytes:
    if math.isnan(value):
        return b"\xc0\x7f"
    try:
        (bits,) = struct.unpack("<I", struct.pack("<f", value))
    except OverflowError:
        raise OverflowError(f"{value!r} does not fit bfloat16") from None
    rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16
    return int(rounded & 0xFFFF).to_bytes(2, "little")


def _numpy_bytes(wanted: Scalar | None, value: Any) -> bytes:
    given = {"f": "float", "i": "int", "u": "uint", "b": "bool"}.get(value.dtype.kind)
    if wanted is not None and given is not None and (given == "float") != (wanted.family in ("float", "bfloat")):
        raise TypeError(f"expected {wanted.family} of {wanted.size} bytes, got numpy.{value.dtype}")
    if wanted is not None and wanted.family == "bfloat":
        raise TypeError("expected bfloat16, which numpy does not have; pass a Python float")
    return bytes(value.tobytes())


def _is_numpy_array(value: object) -> bool:
    numpy = sys.modules.get("numpy")
    return numpy is not None and isinstance(value, numpy.ndarray)


def _is_numpy_scalar(value: object) -> bool:
    numpy = sys.modules.get("numpy")
    return numpy is not None and isinstance(value, numpy.generic)


def _kind(value: object) -> str:
    kind = type(value)
    return kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__name__}"
