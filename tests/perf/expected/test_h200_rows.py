"""The H200's measured rows: what the table must say of them, and the figures of docs/inspect.md."""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).resolve().parents[3] / "benchmarks"
sys.path.insert(0, str(BENCHMARKS))

from amd_times import Pair, pairs  # noqa: E402
from fit_times import is_for_fit, table_kind  # noqa: E402
from h200_cases import FIT, TEST, cases  # noqa: E402
from h200_rows import GPU, h200_rows, kept, provenance  # noqa: E402

from kernel_pytorch.core.hardware import gpu_by_alias  # noqa: E402
from kernel_pytorch.perf.expected.expected import expected_time  # noqa: E402
from kernel_pytorch.perf.expected.formulas import Launched, kind_of  # noqa: E402
from kernel_pytorch.perf.expected.table import fitted, rates_of  # noqa: E402
from kernel_pytorch.perf.roofline.forms import Convolved, HostCopy, Product, Rows, Streamed  # noqa: E402
from kernel_pytorch.perf.roofline.loops import streamed  # noqa: E402
from kernel_pytorch.perf.roofline.shapes import Tensor  # noqa: E402
from kernel_pytorch.perf.roofline.work import Work, work_of  # noqa: E402
from kernel_pytorch.perf.trace.recording import Signature  # noqa: E402

H200, H100, B200, MI300X = (gpu_by_alias(alias) for alias in ("h200", "h100", "b200", "mi300x"))


@pytest.fixture(scope="module")
def found() -> list[Pair]:
    return pairs(h200_rows(TEST))


def test_every_measured_row_is_of_a_case_and_on_its_side() -> None:
    measured = kept()
    assert (measured["gpu"], len(measured["rows"])) == ("NVIDIA H200", 1954)
    chosen = {(case.category, case.call, case.model, case.side) for case in cases()}
    assert chosen >= {(row["category"], row["call"], row["model"], row["side"]) for row in measured["rows"]}


def test_the_work_of_every_row_is_known() -> None:
    assert len(list(h200_rows())) == len(kept()["rows"])
    assert {is_for_fit(row) for row in h200_rows(FIT)} == {True}
    assert {is_for_fit(row) for row in h200_rows(TEST)} == {False}


def test_the_table_counts_the_fit_side_alone() -> None:
    counts = Counter(table_kind(row) for row in h200_rows(FIT))
    fits = [row for row in fitted().values() if row.gpu == GPU]
    assert {row.source for row in fits} == {provenance()}
    assert {kind: sum(row.rows for row in fits if row.kind == kind) for kind in counts} == counts


@pytest.mark.parametrize(
    ("category", "share"),
    [
        ("GEMM", 0.9), ("GEMM fp8", 0.95), ("attention", 0.8), ("decode attention", 0.8), ("convolution", 0.7),
        ("elementwise", 0.95), ("copies", 0.9), ("norms", 0.9), ("reductions", 0.8),
    ],
)  # fmt: skip
def test_times_nobody_fitted_to_come_out(found: list[Pair], category: str, share: float) -> None:
    those = [one for one in found if one.row.category == category]
    near = sum(1 / 1.5 <= one.ratio <= 1.5 for one in those)
    assert near >= share * len(those)


def test_the_h200_is_fitted_and_the_h100_takes_from_it_what_it_lacks() -> None:
    product = Work(1 << 40, 1 << 30, "fp8", True, Product(1, 8192, 8192, 8192))
    one = expected_time(H200, product)
    assert one is not None and one.basis.startswith("fitted to 40 measurements on H200")
    pinned = Work(0, 1 << 24, "fp32", form=HostCopy(pinned=True))
    for gpu in (H100, B200):
        other = expected_time(gpu, pinned)
        assert other is not None and other.basis == f"derived from {H200.name}"
    plain = expected_time(H100, Work(0, 1 << 24, "bf16", form=Streamed("elementwise", "same")))
    assert plain is not None and plain.basis.startswith("fitted to 37 measurements on H100")
    derived = expected_time(B200, Work(0, 1 << 24, "bf16", form=Streamed("elementwise", "same")))
    assert derived is not None and derived.basis == f"derived from {H100.name}"


def _convolution(strides: tuple[int, ...], dtype: str = "c10::Half", name: str = "aten::cudnn_convolution") -> Work:
    dims = ((8, 64, 56, 56), (64, 64, 3, 3), (), (), (), (), (), (), ())
    types = (dtype, dtype, *["ScalarList"] * 3, *["Scalar"] * 4)
    concrete = ("", "", "[1, 1]", "[1, 1]", "[1, 1]", "1", "False", "False", "True")
    work = work_of(Signature(name, dims, types, (strides, (576, 9, 3, 1), *[()] * 7), concrete))
    assert work is not None
    return work


def test_channels_that_lie_last_need_no_change_of_layout() -> None:
    first, last = _convolution((200704, 3136, 56, 1)), _convolution((200704, 1, 3584, 64))
    assert (kind_of(first), kind_of(last)) == ("convolution", "channels-last convolution")
    slow, fast = expected_time(H200, first), expected_time(H200, last)
    assert slow is not None and fast is not None and fast.us < 0.7 * slow.us


def test_cudnn_rounds_to_tf32_and_miopen_does_not() -> None:
    work = _convolution((200704, 3136, 56, 1), "float")
    assert rates_of(H200, work).flops == pytest.approx(494.7e6)
    assert rates_of(MI300X, work).flops == pytest.approx(163.4e6)
    product = replace(work, form=Product(1, 512, 512, 512))  # torch's products in fp32 are in fp32 on both
    assert rates_of(H200, product).flops == pytest.approx(66.9e6)


def test_a_depthwise_convolution_is_no_product() -> None:
    dims = ((32, 384, 14, 14), (384, 1, 3, 3), (), (), (), (), ())
    types = ("c10::Half", "c10::Half", "ScalarList", "", "ScalarList", "ScalarList", "ScalarList")
    concrete = ("", "", "[3, 3]", "", "[1, 1]", "[1, 1]", "[1, 1]")
    work = work_of(Signature("aten::_conv_depthwise2d", dims, types, concrete=concrete))
    assert work is not None and kind_of(work) == "depthwise convolution"
    assert work.flops == 2 * 32 * 384 * 14 * 14 * 9
    one = expected_time(H200, work)
    assert one is not None and one.us < 20  # as a product of 384 groups, 300
    more_taps = expected_time(H200, replace(work, flops=100 * work.flops))
    assert more_taps is not None and more_taps.us > 10 * one.us


def test_a_copy_to_another_type_is_no_plain_copy() -> None:
    def copy(source: str) -> Work:
        found = work_of(
            Signature("aten::copy_", ((8, 512), (8, 512), ()), ("float", source, "Scalar"), ((512, 1), (512, 1), ()))
        )
        assert found is not None
        return found

    assert [kind_of(copy(source)) for source in ("float", "c10::BFloat16")] == ["copy", "cast"]
    plain, cast = (expected_time(H200, copy(source)) for source in ("float", "c10::BFloat16"))
    assert plain is not None and cast is not None and cast.us > 1.5 * plain.us


def test_a_sum_gives_few_rows_more_waves_than_many() -> None:
    def times(rows: int, length: int) -> float:
        one = expected_time(H200, Work(9, 1, "bf16", form=Rows("reduction", rows, length, shared=True)))
        assert one is not None
        return one.us

    assert times(32, 4096) > 2 * times(1, 4096)  # measured: 5.4 and 2.0 us
    # A thread with 256 elements shares its row with other workgroups; one with fewer does not.
    assert times(1, 512 * 255) > 3 * times(1, 512 * 256)
    # As many rows as there are places for leave nothing to share.
    assert times(4096, 1 << 18) < 10 * times(512, 1 << 18)


def test_a_filter_of_one_tap_with_few_kernels_changes_no_layout_on_the_way_back() -> None:
    work = Work(1 << 30, 1 << 24, "fp16", True, Convolved(Product(1, 25088, 64, 64), 1, backward=2))
    few, many = (expected_time(H200, work, launched=Launched(kernels=count)) for count in (3.0, 8.0))
    assert few is not None and many is not None and few.us < 0.5 * many.us


def test_truth_values_that_choose_are_not_converted() -> None:
    x, mask = Tensor((1 << 24,), "c10::Half", (1,)), Tensor((1 << 24,), "bool", (1,))
    assert streamed("elementwise", (x, mask), masked=True).steps == 0
    assert streamed("elementwise", (x, mask)).steps > 0  # a product with a mask converts it
