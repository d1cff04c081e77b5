"""Python values as kernel parameters: the bytes they become, and what is refused."""

from __future__ import annotations

import ctypes
import math
import struct
from typing import Any

import numpy as np
import pytest
import torch

from kernel_pytorch.toolchain.kernel_arguments import pack_arguments
from kernel_pytorch.toolchain.kernel_parameters import Parameter, parameter_types, pointee, scalar


def one(size: int, kind: str = "value", type_name: str = "") -> Parameter:
    return Parameter(0, 0, size, kind, "x", type_name)


def packed(parameter: Parameter, value: Any) -> bytes:
    return pack_arguments("k", [parameter], [value]).bytes_of(parameter)


class OnGPU(torch.Tensor):
    """A tensor that says it lies on a GPU: its address is all that packing takes from it."""

    is_cuda = True  # type: ignore[assignment]


def gpu_tensor(dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.zeros(4, dtype=dtype).as_subclass(OnGPU)


@pytest.mark.parametrize(
    ("size", "type_name", "value", "expected"),
    [
        (4, "int", 7, struct.pack("<i", 7)),
        (4, "int", -1, b"\xff" * 4),
        (4, "", 0xFFFFFFFF, b"\xff" * 4),
        (4, "unsigned int", 0xFFFFFFFF, b"\xff" * 4),
        (8, "long", -(2**63), struct.pack("<q", -(2**63))),
        (8, "unsigned long", 2**64 - 1, b"\xff" * 8),
        (1, "bool", True, b"\x01"),
        (1, "char", 200, b"\xc8"),
        (1, "char", -56, b"\xc8"),
        (2, "short", -2, struct.pack("<h", -2)),
        (4, "float", 1.5, struct.pack("<f", 1.5)),
        (4, "", 1.5, struct.pack("<f", 1.5)),
        (4, "float", 3, struct.pack("<f", 3.0)),
        (4, "float", True, struct.pack("<f", 1.0)),
        (8, "double", 0.1, struct.pack("<d", 0.1)),
        (8, "", 0.1, struct.pack("<d", 0.1)),
        (8, "double", 2, struct.pack("<d", 2.0)),
        (2, "__half", 1.5, struct.pack("<e", 1.5)),
        (2, "_Float16", -2, struct.pack("<e", -2.0)),
        (2, "__hip_bfloat16", 1.0, b"\x80\x3f"),
        (4, "float", math.inf, struct.pack("<f", math.inf)),
        (4, "int const", 7, struct.pack("<i", 7)),
        (4, "float", np.float32(2.5), struct.pack("<f", 2.5)),
        (4, "int", np.int32(-3), struct.pack("<i", -3)),
        (8, "unsigned long", np.uint64(2**63), struct.pack("<Q", 2**63)),
        (2, "", np.float16(0.5), struct.pack("<e", 0.5)),
        (8, "", np.complex64(1 + 2j), struct.pack("<ff", 1, 2)),
        (1, "bool", np.bool_(True), b"\x01"),
        (4, "int", ctypes.c_int(5), struct.pack("<i", 5)),
        (8, "", ctypes.c_double(0.25), struct.pack("<d", 0.25)),
        (3, "", b"abc", b"abc"),
    ],
)
def test_a_value_becomes_the_bytes_c_would_pass(size: int, type_name: str, value: Any, expected: bytes) -> None:
    assert packed(one(size, type_name=type_name), value) == expected


@pytest.mark.parametrize("value", [0.0, 1.0, -1.0, 3.14159, 1e-40, 65504.0, 1.00390625, 1.01171875, 3e38, math.inf])
def test_bfloat16_rounds_as_torch_does(value: float) -> None:
    expected = torch.tensor(value, dtype=torch.float32).to(torch.bfloat16).view(torch.uint16).item()
    assert packed(one(2, type_name="__hip_bfloat16"), value) == int(expected).to_bytes(2, "little")


def test_bfloat16_keeps_nan() -> None:
    (bits,) = struct.unpack("<H", packed(one(2, type_name="__nv_bfloat16"), math.nan))
    assert bits & 0x7F80 == 0x7F80
    assert bits & 0x007F != 0


def test_a_structure_goes_in_whole() -> None:
    class Shape(ctypes.Structure):
        _fields_ = (("rows", ctypes.c_int), ("scale", ctypes.c_double))

    assert packed(one(16), Shape(3, 0.5)) == struct.pack("<i4xd", 3, 0.5)
    with pytest.raises(TypeError, match=r"expected 12 bytes, .*Shape has 16"):
        packed(one(12), Shape(3, 0.5))


def test_arguments_lie_at_the_offsets_of_the_module() -> None:
    parameters = [
        Parameter(0, 0, 1, "value", type="char"),
        Parameter(1, 8, 8, "value", type="double"),
        Parameter(2, 16, 2, "value", type="short"),
        Parameter(3, 20, 4, "value", type="int"),
    ]
    arguments = pack_arguments("k", parameters, [1, 2.0, 3, 4])
    assert arguments.block.raw == struct.pack("<b7xdh2xi", 1, 2.0, 3, 4)
    base = ctypes.addressof(arguments.block)
    assert list(arguments.pointers) == [base, base + 8, base + 16, base + 20]


def test_a_kernel_without_parameters_packs() -> None:
    assert pack_arguments("k", [], []).block.raw == b"\0"


@pytest.mark.parametrize("type_name", ["float*", "float const*", ""])
def test_a_gpu_tensor_becomes_its_address(type_name: str) -> None:
    tensor = gpu_tensor()
    assert packed(one(8, "pointer", type_name), tensor) == struct.pack("<Q", tensor.data_ptr())


@pytest.mark.parametrize(
    ("type_name", "dtype"),
    [
        ("unsigned int*", torch.int32),
        ("unsigned char*", torch.bool),
        ("char*", torch.float32),
        ("void*", torch.float64),
        ("__half*", torch.float16),
        ("__hip_bfloat16*", torch.bfloat16),
        ("Particle*", torch.float32),
        ("long const*", torch.int64),
    ],
)
def test_a_tensor_of_a_matching_type_passes(type_name: str, dtype: torch.dtype) -> None:
    tensor = gpu_tensor(dtype)
    assert packed(one(8, "pointer", type_name), tensor) == struct.pack("<Q", tensor.data_ptr())


@pytest.mark.parametrize(
    ("type_name", "dtype"),
    [
        ("float*", torch.float64),
        ("float const*", torch.int32),
        ("int*", torch.int64),
        ("__half*", torch.bfloat16),
        ("double*", torch.float32),
    ],
)
def test_a_tensor_of_another_type_is_refused(type_name: str, dtype: torch.dtype) -> None:
    with pytest.raises(TypeError, match=rf"argument 0 .* the tensor holds {str(dtype)[6:]}"):
        packed(one(8, "pointer", type_name), gpu_tensor(dtype))


def test_raw_addresses_and_null() -> None:
    assert packed(one(8, "pointer"), ctypes.c_void_p(0xDEADBEEF)) == struct.pack("<Q", 0xDEADBEEF)
    assert packed(one(8, "pointer"), ctypes.c_void_p()) == bytes(8)
    assert packed(one(8, "pointer"), None) == bytes(8)


def test_the_cuda_array_interface_is_device_memory() -> None:
    class Foreign:
        __cuda_array_interface__ = {"data": (0x1000, False), "shape": (4,), "typestr": "<f4", "version": 3}  # noqa: RUF012

    assert packed(one(8, "pointer"), Foreign()) == struct.pack("<Q", 0x1000)


@pytest.mark.parametrize(
    ("parameter", "value", "error", "words"),
    [
        (one(8, "pointer", "float*"), torch.zeros(1), ValueError, "the tensor lies in host memory"),
        (one(8, "pointer", "float*"), np.zeros(1), ValueError, "the numpy array lies in host memory"),
        (one(4), np.zeros(1, np.float32), ValueError, "the numpy array lies in host memory"),
        (one(8, "pointer", "float*"), 5, TypeError, "expected device memory, got int"),
        (one(8, "pointer", "float*"), 1.0, TypeError, "expected device memory, got float"),
        (one(8, "pointer"), ctypes.pointer(ctypes.c_int(1)), TypeError, "lies in host memory"),
        (one(8, "unknown"), ctypes.c_char_p(b"x"), TypeError, "lies in host memory"),
        (one(4, type_name="int"), gpu_tensor(), TypeError, "expected a value of 4 bytes, got device memory"),
        (one(4, "unknown"), gpu_tensor(), TypeError, "expected a value of 4 bytes, got device memory"),
        (one(4, type_name="int"), 1.5, TypeError, "expected an integer, got float 1.5"),
        (one(4, type_name="int"), 2**31, OverflowError, "2147483648 is outside -2147483648..2147483647"),
        (one(4, type_name="unsigned int"), -1, OverflowError, "-1 is outside 0..4294967295"),
        (one(4), 2**32, OverflowError, "outside"),
        (one(1, type_name="bool"), 2, OverflowError, "a bool is 0 or 1"),
        (one(4, type_name="float"), 1e39, OverflowError, "does not fit a float of 4 bytes"),
        (one(2, type_name="__half"), 1e6, OverflowError, "does not fit a float of 2 bytes"),
        (one(2), 1.0, TypeError, "may be half or bfloat16"),
        (one(16), 1, TypeError, "expected a structure of 16 bytes"),
        (one(16), 1.0, TypeError, "expected 16 bytes"),
        (one(4, type_name="float"), np.float64(1), TypeError, "expected 4 bytes, numpy.float64 has 8"),
        (one(4, type_name="float"), np.int32(1), TypeError, "expected float of 4 bytes, got numpy.int32"),
        (one(4, type_name="int"), np.float32(1), TypeError, "expected int of 4 bytes, got numpy.float32"),
        (one(2, type_name="__hip_bfloat16"), np.float16(1), TypeError, "numpy does not have"),
        (one(8), ctypes.c_int(1), TypeError, "expected 8 bytes, ctypes.c_int has 4"),
        (one(4), "text", TypeError, "cannot pass str"),
        (one(4), [1], TypeError, "cannot pass list"),
        (one(8), 1j, TypeError, "cannot pass complex"),
        (one(4), None, TypeError, "cannot pass NoneType"),
    ],
)
def test_what_cannot_be_right_is_refused_by_name(
    parameter: Parameter, value: Any, error: type[Exception], words: str
) -> None:
    with pytest.raises(error) as caught:
        packed(parameter, value)
    assert str(caught.value).startswith("kernel 'k', argument 0 (")
    assert words in str(caught.value)


def test_the_wrong_number_of_arguments_lists_what_is_wanted() -> None:
    parameters = [Parameter(0, 0, 8, "pointer", "a", "float*"), Parameter(1, 8, 4, "value", "", "")]
    with pytest.raises(TypeError, match=r"kernel 'k' takes 2 arguments \(float\* a, 4 bytes\), 1 given"):
        pack_arguments("k", parameters, [1])
    with pytest.raises(TypeError, match="args must be a list or tuple, not str"):
        pack_arguments("k", parameters, "ab")


@pytest.mark.parametrize(
    ("signature", "types"),
    [
        ("add(float*, float const*, int)", ("float*", "float const*", "int")),
        ("void scale<float, 4>(float*, Pair<int, float>)", ("float*", "Pair<int, float>")),
        ("f()", ()),
        ("f(void)", ()),
        ("add", None),
        ("ns::k<(Kind)3>(int, void (*)(int, int))", ("int", "void (*)(int, int)")),
    ],
)
def test_types_are_read_from_a_demangled_name(signature: str, types: tuple[str, ...] | None) -> None:
    assert parameter_types(signature) == types


def test_scalar_and_pointee() -> None:
    assert scalar("unsigned int const") == scalar("unsigned int")
    assert scalar("float*") is None
    assert pointee("float const* __restrict__") == scalar("float")
    assert pointee("float**") is None
    assert pointee("float") is None
