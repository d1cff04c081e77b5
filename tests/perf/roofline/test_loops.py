"""What torch's loops cost besides bytes: axes that are left, cache lines by counting them, conversions, workgroups."""

from __future__ import annotations

from typing import Any

import pytest

from kernel_pytorch.perf.roofline.forms import Product, Streamed, access_of
from kernel_pytorch.perf.roofline.loops import LANES, LINE_BYTES, merged_axes, streamed
from kernel_pytorch.perf.roofline.shapes import Tensor
from kernel_pytorch.perf.roofline.work import work_of
from kernel_pytorch.perf.trace.recording import Signature

BF16, FP32, INT64 = "c10::BFloat16", "float", "long int"


def tensor(shape: tuple[int, ...], strides: tuple[int, ...] = (), dtype: str = BF16) -> Tensor:
    return Tensor(shape, dtype, strides)


def form_of(name: str, dims: Any, types: Any, strides: Any = ()) -> Streamed:
    found = work_of(Signature(name, dims, types, strides))
    assert found is not None and isinstance(found.form, Streamed)
    return found.form


@pytest.mark.parametrize(
    ("tensors", "axes"),
    [
        ([tensor((4, 8, 16)), tensor((4, 8, 16))], [512]),
        ([tensor((4, 8, 16)), tensor((4, 8, 16), (256, 16, 1))], [128, 4]),
        ([tensor((2, 16, 559, 64)), tensor((2, 16, 559, 64), (572416, 64, 1024, 1))], [64, 559, 16, 2]),
        ([tensor((16, 16, 559, 64)), tensor((1, 1, 559, 64))], [35776, 256]),
        ([tensor((8, 6)), tensor((8, 6), (1, 8))], [6, 8]),
        ([tensor((1, 1))], []),
    ],
)
def test_axes_that_follow_each_other_in_every_tensor_are_one(tensors: list[Tensor], axes: list[int]) -> None:
    assert merged_axes(tensors) == axes


def test_a_tensor_with_holes_is_gone_through_element_by_element() -> None:
    assert access_of([tensor((4, 8), (16, 1))]) == "strided"
    assert access_of([tensor((4, 8), (1, 4))]) == "same"
    assert streamed("elementwise", [tensor((4, 8), (16, 1))]).steps > 0 == streamed("copy", [tensor((4, 8))]).steps


@pytest.mark.parametrize(
    ("shape", "strides"), [((64, 256), (256, 1)), ((64, 256), (1, 64)), ((32, 12, 64, 8), (18432, 64, 1, 2304))]
)
def test_lines_are_those_that_a_wave_touches(shape: tuple[int, ...], strides: tuple[int, ...]) -> None:
    """Counted wave by wave over all elements, in the order of the result."""
    from itertools import product

    places = [sum(i * step for i, step in zip(at, strides, strict=True)) for at in product(*map(range, shape))]
    lines = 0
    for first in range(0, len(places), LANES):
        wave = range(first, first + LANES)
        lines += len({2 * number // LINE_BYTES for number in wave})
        lines += len({2 * places[number] // LINE_BYTES for number in wave})
    found = streamed("copy", (tensor(shape), tensor(shape, strides)), results=0)
    assert found.lines == pytest.approx(lines, rel=0.05)


def test_conversions_cost_instructions_but_for_those_that_torch_vectorises() -> None:
    same, other = tensor((64, 64)), tensor((64, 64), dtype=FP32)
    assert streamed("copy", (same, other), results=0).steps == 0
    assert streamed("copy", (same, tensor((64, 64), dtype=INT64)), results=0).steps > 0


def test_rows_that_are_picked() -> None:
    """index_select works out three places for each element; a gather of whole rows has a workgroup for each."""
    picked = form_of("aten::index_select", ((1000, 64), (), (10,)), (BF16, "Scalar", INT64))
    assert picked.steps == 10 * 64 * (3 * 25 + 12) and not picked.groups
    rows = form_of(
        "aten::gather", ((32, 64), (), (5000, 64)), (BF16, "Scalar", INT64), ((64, 1), (), (1, 0))
    )  # fmt: skip
    assert rows.groups == 5000
    assert not form_of("aten::gather", ((32, 64), (), (50, 64)), (BF16, "Scalar", INT64)).groups


def test_cat_of_parts_that_lie_anyhow() -> None:
    types = ("TensorList:2", "Scalar")
    plain = form_of("aten::cat", (((4, 8), (4, 8)), ()), types)
    across = form_of("aten::cat", (((4, 8), (4, 8)), ()), types, (((8, 1), (1, 4)), ()))
    assert (plain.access, plain.steps) == ("strided", 0)
    assert across.access == "transposed" and across.steps == 32 * (25 + 12)


def test_a_kernel_that_looks_rows_up_reads_no_more_than_those() -> None:
    """Several generated kernels in one: how many elements they go over is not recorded."""
    dims = ((32,), (200_000, 2880), (32, 2880))
    found = work_of(Signature("triton_poi_fused_0", dims, ("int", BF16, BF16), (), ("", "", "")))
    assert found is not None and found.bytes == 32 * 4 + 2 * 32 * 2880 * 2


@pytest.mark.parametrize(
    ("dims", "strides", "ragged"),
    [
        (((512, 512), (512, 512)), (), False),
        (((512, 513), (513, 512)), (), True),
        (((512, 512), (512, 513)), (), True),
        (((512, 64), (64, 512)), ((64, 1), (1, 64)), False),
        (((512, 64), (64, 512)), ((65, 1), (1, 64)), True),
        (((512, 513), (513, 1)), (), False),
    ],
)
def test_rows_that_begin_anywhere(dims: Any, strides: Any, ragged: bool) -> None:
    found = work_of(Signature("aten::mm", dims, (BF16, BF16), strides))
    assert found is not None and isinstance(found.form, Product) and found.form.ragged is ragged
