"""NumPy arrays as arguments of the stand-ins: a device pointer is an ordinary address."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]
TYPES = {"s": np.float32, "d": np.float64, "c": np.complex64, "z": np.complex128}
TOLERANCE = {"s": 2e-4, "d": 1e-11, "c": 2e-4, "z": 1e-11}
OP = {"N": 111, "T": 112, "C": 113}
UPPER, LOWER = 121, 122
NON_UNIT, UNIT = 131, 132
LEFT, RIGHT = 141, 142


def pointer(array: Array | None) -> ctypes.c_void_p:
    """Address of an array's data."""
    return ctypes.c_void_p(None if array is None else array.ctypes.data)


def pointers(arrays: list[Array]) -> tuple[Array, ctypes.c_void_p]:
    """An array of addresses, as the batched routines take it; keep the first value alive."""
    table = np.array([array.ctypes.data for array in arrays], dtype=np.uint64)
    return table, pointer(table)


def random_matrix(letter: str, rows: int, columns: int, seed: int = 0) -> Array:
    """Column-major numbers around zero."""
    random = np.random.default_rng(seed)
    values = random.standard_normal((rows, columns))
    if letter in "cz":
        values = values + 1j * random.standard_normal((rows, columns))
    return np.asfortranarray(values.astype(TYPES[letter]))


def applied(op: str, matrix: Array) -> Array:
    """op(matrix)."""
    return {"N": matrix, "T": matrix.T, "C": matrix.conj().T}[op]


def call(library: ctypes.CDLL, name: str, *arguments: Any) -> int:
    """Call `name`: arrays go as addresses, Python floats as double, ints as 64 bits (C reads what it needs)."""
    converted: list[Any] = []
    for argument in arguments:
        if isinstance(argument, np.ndarray):
            converted.append(pointer(argument))
        elif isinstance(argument, bool | int | np.integer):
            converted.append(ctypes.c_int64(int(argument)))
        elif isinstance(argument, float):
            converted.append(ctypes.c_double(argument))
        elif argument is None:
            converted.append(ctypes.c_void_p(None))
        else:
            converted.append(argument)
    return int(getattr(library, name)(*converted))


def close(found: Array, expected: Array, letter: str) -> None:
    """Equal within rounding of the type, relative to the largest value."""
    scale = max(1.0, float(np.abs(expected).max(initial=0)))
    np.testing.assert_allclose(found, expected, rtol=0, atol=TOLERANCE[letter] * scale)
