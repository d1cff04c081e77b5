"""Sizes of the tensors in an operator's signature, as the profiler writes them down."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from kernel_pytorch.perf.trace.recording import Signature

# torch's type names in traces -> (bytes, the hardware table's name for the arithmetic)
DTYPES: dict[str, tuple[int, str]] = {
    "float": (4, "fp32"),
    "double": (8, "fp64"),
    "c10::Half": (2, "fp16"),
    "c10::BFloat16": (2, "bf16"),
    "c10::Float8_e4m3fn": (1, "fp8"),
    "c10::Float8_e4m3fnuz": (1, "fp8"),
    "c10::Float8_e5m2": (1, "fp8"),
    "c10::Float8_e5m2fnuz": (1, "fp8"),
    "c10::Float8_e8m0fnu": (1, "fp8"),
    "c10::Float4_e2m1fn_x2": (1, "fp4"),
    "signed char": (1, "int8"),
    "unsigned char": (1, "int8"),
    "char": (1, "int8"),
    "bool": (1, "int8"),
    "short": (2, "int16"),
    "short int": (2, "int16"),
    "int": (4, "int32"),
    "long": (8, "int64"),
    "long int": (8, "int64"),
    "c10::complex<float>": (8, "fp32"),
    "c10::complex<double>": (16, "fp64"),
    "c10::complex<c10::Half>": (4, "fp16"),
}
_BY_SIZE = {"1": "unsigned char", "2": "c10::Half", "4": "float", "8": "double"}


@dataclass(frozen=True)
class Tensor:
    """One tensor argument."""

    shape: tuple[int, ...]
    dtype: str
    strides: tuple[int, ...] = ()

    @property
    def count(self) -> int:
        """Elements."""
        return math.prod(self.shape)

    @property
    def stored_count(self) -> int:
        """Elements in memory: an expanded dimension (stride 0) is stored once."""
        if len(self.strides) != len(self.shape):
            return self.count
        sizes = (n for n, step in zip(self.shape, self.strides, strict=True) if step != 0)
        return math.prod(sizes)

    @property
    def element_bytes(self) -> int:
        return DTYPES[self.dtype][0]

    @property
    def bytes(self) -> int:
        """Bytes to read all of it once."""
        return self.stored_count * self.element_bytes

    @property
    def arithmetic(self) -> str:
        """ "bf16", "fp32", ...: the row of the hardware table."""
        return DTYPES[self.dtype][1]


def tensor(signature: Signature, position: int) -> Tensor | None:
    """The tensor at an argument position; None where there is none, or its type is not known."""
    if position >= len(signature.dims) or position >= len(signature.types):
        return None
    dims, dtype = signature.dims[position], signature.types[position]
    if dtype not in DTYPES or not isinstance(dims, tuple) or not all(isinstance(n, int) for n in dims):
        return None
    strides = signature.strides[position] if position < len(signature.strides) else ()
    if not isinstance(strides, tuple) or not all(isinstance(n, int) for n in strides):
        strides = ()
    return Tensor(dims, dtype, strides)


def tensors(signature: Signature) -> list[Tensor]:
    """All tensor arguments, also those inside lists, in order."""
    found: list[Tensor] = []
    for position in range(len(signature.dims)):
        one = tensor(signature, position)
        if one is not None:
            found.append(one)
        else:
            found += _list(signature, position)
    return found


def _list(signature: Signature, position: int) -> list[Tensor]:
    """A TensorList: its dimensions are a list of lists, and the type of its elements is not written down.

    Whoever knows their size (a cat kernel's name tells it) writes it as "TensorList:2".
    """
    dims: Any = signature.dims[position]
    if not isinstance(dims, tuple) or not dims or not all(isinstance(item, tuple) for item in dims):
        return []
    strides: Any = signature.strides[position] if position < len(signature.strides) else ()
    kind = signature.types[position] if position < len(signature.types) else ""
    dtype = _BY_SIZE.get(kind.removeprefix("TensorList:"))
    if dtype is None:
        return []
    listed = strides if isinstance(strides, tuple) and len(strides) == len(dims) else ((),) * len(dims)
    return [Tensor(item, dtype, step) for item, step in zip(dims, listed, strict=True)]


def integers(signature: Signature, position: int) -> tuple[int, ...] | None:
    """A list of integers such as "[1, 1]" among the concrete inputs."""
    text = argument(signature, position)
    if not (text.startswith("[") and text.endswith("]")):
        return None
    parts = [part.strip() for part in text[1:-1].split(",") if part.strip()]
    try:
        return tuple(int(part) for part in parts)
    except ValueError:
        return None


def flag(signature: Signature, position: int) -> bool:
    """A boolean among the concrete inputs; False where it is not written down."""
    return argument(signature, position).lower() in ("true", "1")


def argument(signature: Signature, position: int) -> str:
    """A concrete input as written, or ""."""
    return signature.concrete[position].strip() if position < len(signature.concrete) else ""
