"""Dimensions, streams, devices and the choice of a kernel, before any driver is called."""

from __future__ import annotations

import ctypes
from typing import Any

import pytest

from kernel_pytorch.backends.launch import check_block, check_shared_bytes, dimensions, stream_handle
from kernel_pytorch.toolchain.kernel_symbols import choose_kernel


@pytest.mark.parametrize(
    ("value", "expected"), [(5, (5, 1, 1)), ((2,), (2, 1, 1)), ([2, 3], (2, 3, 1)), ((1, 2, 3), (1, 2, 3))]
)
def test_dimensions_are_filled_up_with_ones(value: Any, expected: tuple[int, int, int]) -> None:
    assert dimensions(value, "grid") == expected


@pytest.mark.parametrize(
    ("value", "error", "words"),
    [
        (0, ValueError, "at least 1"),
        ((4, -1), ValueError, "at least 1"),
        ((), ValueError, "one to three dimensions"),
        ((1, 1, 1, 1), ValueError, "one to three dimensions"),
        ((1.5,), TypeError, "whole numbers, got float"),
        ((True,), TypeError, "whole numbers, got bool"),
    ],
)
def test_bad_dimensions_name_what_they_are(value: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words) as caught:
        dimensions(value, "block")
    assert str(caught.value).startswith("block=")


def test_a_block_beyond_what_the_kernel_was_compiled_for_is_refused() -> None:
    check_block("k", (256, 1, 1), 256)
    with pytest.raises(ValueError, match="has 512 threads, it was compiled for at most 256"):
        check_block("k", (256, 2, 1), 256)
    with pytest.raises(ValueError, match=r"compiled for exactly \(64, 1, 1\)"):
        check_block("k", (32, 2, 1), 1024, (64, 1, 1))


def test_streams_by_handle_object_and_default() -> None:
    class Stream:
        cuda_stream = 77

    assert stream_handle(None, [1, 2.0], 0) == 0
    assert stream_handle(12, [], 0) == 12
    assert stream_handle(Stream(), [], 0) == 77
    assert stream_handle(ctypes.c_void_p(9), [], 0) == 9
    with pytest.raises(TypeError, match="pass a torch stream"):
        stream_handle("main", [], 0)


def test_shared_bytes_must_be_a_count() -> None:
    assert check_shared_bytes(0) == 0
    with pytest.raises(ValueError, match="negative"):
        check_shared_bytes(-1)
    with pytest.raises(TypeError, match="whole bytes"):
        check_shared_bytes(1.0)  # type: ignore[arg-type]


TWO = {
    "_Z3addPfi": "add(float*, int)",
    "_ZN2ns5scaleIfEEvPT_": "void ns::scale<float>(float*)",
}


@pytest.mark.parametrize(
    ("label", "wanted", "symbol"),
    [
        ("add", None, "_Z3addPfi"),
        ("x", "add", "_Z3addPfi"),
        ("x", "_Z3addPfi", "_Z3addPfi"),
        ("x", "add(float*, int)", "_Z3addPfi"),
        ("x", "ns::scale<float>", "_ZN2ns5scaleIfEEvPT_"),
        ("x", "scale", "_ZN2ns5scaleIfEEvPT_"),
        ("scale", None, "_ZN2ns5scaleIfEEvPT_"),
    ],
)
def test_a_kernel_is_found_by_symbol_or_name(label: str, wanted: str | None, symbol: str) -> None:
    assert choose_kernel(label, TWO, wanted) == symbol


def test_the_only_kernel_needs_no_name() -> None:
    assert choose_kernel("add_kernel", {"_Z3addPfi": "add(float*, int)"}) == "_Z3addPfi"


def test_an_unclear_choice_lists_the_kernels() -> None:
    with pytest.raises(ValueError, match=r"holds 2 kernels; say which with kernel=.*add\(float\*, int\)"):
        choose_kernel("nothing", TWO)
    with pytest.raises(ValueError, match="'sub' is not in the module; it has: add"):
        choose_kernel("add", TWO, "sub")
    overloads = {"_Z1fi": "f(int)", "_Z1ff": "f(float)"}
    with pytest.raises(ValueError, match="names more than one kernel"):
        choose_kernel("x", overloads, "f")
