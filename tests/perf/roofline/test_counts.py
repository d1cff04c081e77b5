"""FLOPs and bytes against counts made by hand: loops that do the arithmetic and count it, one operation at a time."""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import pytest

from kernel_pytorch.perf.roofline.attention import causal_pairs
from kernel_pytorch.perf.roofline.work import Work, work_of
from kernel_pytorch.perf.trace.recording import Signature

BF16, FP32, INT64 = "c10::BFloat16", "float", "long int"


def work(name: str, dims: Any, types: Any, concrete: Any = (), strides: Any = ()) -> Work:
    found = work_of(Signature(f"aten::{name}", dims, types, strides, concrete))
    assert found is not None
    return found


def test_matmul() -> None:
    m, k, n = 3, 5, 7
    flops = 0
    for _ in product(range(m), range(n), range(k)):
        flops += 2  # a multiplication and an addition
    found = work("mm", ((m, k), (k, n)), (BF16, BF16))
    assert found.flops == flops == 210
    assert found.bytes == 2 * (m * k + k * n + m * n)
    assert (found.arithmetic, found.matrix) == ("bf16", True)


def test_matmul_with_bias_adds_one_per_output_and_reads_the_bias_as_stored() -> None:
    plain = work("mm", ((3, 5), (5, 7)), (BF16, BF16))
    found = work("addmm", ((7,), (3, 5), (5, 7), (), ()), (BF16, BF16, BF16, "Scalar", "Scalar"))
    assert found.flops == plain.flops + 21
    assert found.bytes == plain.bytes + 14


def test_batched_matmul() -> None:
    found = work("bmm", ((4, 3, 5), (4, 5, 7)), (FP32, FP32))
    assert found.flops == 4 * 2 * 3 * 5 * 7
    assert found.bytes == 4 * 4 * (15 + 35 + 21)


def test_an_expanded_operand_is_read_once() -> None:
    found = work("bmm", ((4, 3, 5), (4, 5, 7)), (FP32, FP32), strides=((15, 5, 1), (0, 7, 1)))
    assert found.bytes == 4 * (4 * 15 + 35 + 4 * 21)


def test_linear_and_matmul_agree_with_mm() -> None:
    assert work("linear", ((2, 3, 5), (7, 5)), (BF16, BF16)) == work("mm", ((6, 5), (5, 7)), (BF16, BF16))
    assert work("matmul", ((2, 3, 5), (2, 5, 7)), (BF16, BF16)).flops == 2 * 210


def test_fp8_products_write_two_byte_outputs() -> None:
    fp8 = "c10::Float8_e4m3fnuz"
    found = work("_scaled_mm", ((16, 32), (32, 8), (), ()), (fp8, fp8, FP32, FP32))
    assert (found.flops, found.arithmetic) == (2 * 16 * 32 * 8, "fp8")
    assert found.bytes == 16 * 32 + 32 * 8 + 4 + 4 + 2 * 16 * 8


def counted_convolution(
    n: int, cin: int, cout: int, size: int, kernel: int, stride: int, pad: int, dil: int, groups: int
) -> tuple[int, int]:
    """Multiply-adds with padding taps included, as the usual count has it, and output elements."""
    out = (size + 2 * pad - dil * (kernel - 1) - 1) // stride + 1
    taps = outputs = 0
    for _ in product(range(n), range(cout), range(out), range(out)):
        outputs += 1
        for _ in product(range(cin // groups), range(kernel), range(kernel)):
            taps += 1
    return 2 * taps, outputs


@pytest.mark.parametrize(
    ("cin", "cout", "kernel", "stride", "pad", "dil", "groups"),
    [(4, 6, 3, 1, 1, 1, 1), (4, 6, 3, 2, 0, 1, 2), (4, 4, 3, 1, 2, 2, 4), (3, 8, 1, 1, 0, 1, 1)],
)
def test_convolution(cin: int, cout: int, kernel: int, stride: int, pad: int, dil: int, groups: int) -> None:
    n, size = 2, 8
    flops, outputs = counted_convolution(n, cin, cout, size, kernel, stride, pad, dil, groups)
    dims = ((n, cin, size, size), (cout, cin // groups, kernel, kernel), (cout,))
    pairs = [f"[{value}, {value}]" for value in (stride, pad, dil)]
    tail = ("False", "[0, 0]", str(groups))
    found = work("convolution", (*dims, (), (), (), (), (), ()), (BF16,) * 3 + ("",) * 6, ("", "", "", *pairs, *tail))
    weights = cout * cin // groups * kernel * kernel
    assert found.flops == flops + outputs  # the bias
    assert found.bytes == 2 * (n * cin * size * size + weights + cout + outputs)
    # The vendor libraries' own operators: padding before stride, no bias on cuDNN.
    order = [pairs[1], pairs[0], pairs[2], str(groups)]
    cudnn = work("cudnn_convolution", dims[:2] + ((),) * 4, (BF16, BF16, "", "", "", ""), ("", "", *order))
    assert cudnn.flops == flops
    miopen = work("miopen_convolution", dims + ((),) * 4, (BF16,) * 3 + ("",) * 4, ("", "", "", *order))
    assert miopen == found


def test_transposed_convolution_meets_every_tap_from_every_input() -> None:
    dims = ((2, 4, 5, 5), (4, 3, 3, 3), (), (), (), (), (), (), ())
    concrete = ("", "", "", "[2, 2]", "[1, 1]", "[1, 1]", "True", "[1, 1]", "1")
    found = work("convolution", dims, (FP32, FP32) + ("",) * 7, concrete)
    assert found.flops == 2 * (2 * 4 * 5 * 5) * 3 * 9
    outputs = 2 * 3 * 10 * 10  # (5 - 1) * 2 - 2 + 2 + 1 + 1
    assert found.bytes == 4 * (2 * 4 * 25 + 4 * 3 * 9 + outputs)


def test_convolution_backward_counts_the_gradients_asked_for() -> None:
    dims = ((2, 6, 8, 8), (2, 4, 8, 8), (6, 4, 3, 3))
    forward, outputs = counted_convolution(2, 4, 6, 8, 3, 1, 1, 1, 1)
    base = ("", "", "", "[6]", "[1, 1]", "[1, 1]", "[1, 1]", "False", "[0, 0]", "1")
    types = (FP32,) * 3 + ("",) * 8
    both = work("convolution_backward", (*dims, *[()] * 8), types, (*base, "[True, True, False]"))
    assert both.flops == 2 * forward
    weight_only = work("convolution_backward", (*dims, *[()] * 8), types, (*base, "[False, True, True]"))
    assert weight_only.flops == forward + outputs


def counted_pairs(queries: int, keys: int, bottom_right: bool) -> int:
    shift = keys - queries if bottom_right else 0
    return sum(1 for i in range(queries) for j in range(keys) if j <= i + shift)


@pytest.mark.parametrize("queries", [1, 2, 5, 8])
@pytest.mark.parametrize("keys", [1, 3, 5, 9])
@pytest.mark.parametrize("bottom_right", [False, True])
def test_pairs_under_a_causal_mask(queries: int, keys: int, bottom_right: bool) -> None:
    assert causal_pairs(queries, keys, bottom_right=bottom_right) == counted_pairs(queries, keys, bottom_right)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("kv_heads", [8, 2, 1])
def test_attention(causal: bool, kv_heads: int) -> None:
    b, h, s, t, d, dv = 2, 8, 6, 9, 16, 32
    dims = ((b, h, s, d), (b, kv_heads, t, d), (b, kv_heads, t, dv), (), (), (), (), ())
    found = work(
        "scaled_dot_product_attention", dims, (BF16,) * 3 + ("",) * 5, ("", "", "", "", "0.", str(causal), "", "True")
    )
    flops = 0
    for _ in product(range(b), range(h)):
        for i, j in product(range(s), range(t)):
            if not causal or j <= i:
                flops += 2 * d + 2 * dv  # q.k, and p.v
    assert found.flops == flops
    assert found.bytes == 2 * (b * h * s * d + b * kv_heads * t * (d + dv) + b * h * s * dv)


def test_flash_attention_has_sequence_before_heads_and_saves_the_log_sum() -> None:
    b, s, h, d = 16, 559, 16, 64
    concrete = ("", "", "", "", "", "559", "559", "0.", "True", "False", "0.125")
    found = work("_flash_attention_forward", ((b, s, h, d),) * 3 + ((),) * 8, (BF16,) * 3 + ("",) * 8, concrete)
    assert found.flops == 4 * b * h * (s * (s + 1) // 2) * d
    assert found.bytes == 4 * 2 * b * s * h * d + 4 * b * h * s
    outer = ("", "", "", "0.", "True", "False", "0.125")
    sdpa = work("_scaled_dot_product_flash_attention", ((b, h, s, d),) * 3 + ((),) * 4, (BF16,) * 3 + ("",) * 4, outer)
    assert sdpa == found


def test_attention_backward_does_five_products_instead_of_two() -> None:
    b, h, s, d = 2, 4, 8, 16
    forward = work(
        "_scaled_dot_product_flash_attention", ((b, h, s, d),) * 3 + ((),) * 4, (BF16,) * 3 + ("",) * 4,
        ("", "", "", "0.", "False", "False", ""),
    )  # fmt: skip
    concrete = ("",) * 9 + ("0", "0.", "False")
    backward = work(
        "_scaled_dot_product_flash_attention_backward",
        ((b, h, s, d),) * 5 + ((),) * 7,
        (BF16,) * 5 + ("",) * 7,
        concrete,
    )
    assert backward.flops * 2 == forward.flops * 5


class Counted:
    """A number that counts what is done with it."""

    done = 0

    def __init__(self, value: float) -> None:
        self.value = value

    def _with(self, other: Any, result: float) -> Counted:
        Counted.done += 1
        return Counted(result)

    def __add__(self, other: Any) -> Counted:
        return self._with(other, self.value + _plain(other))

    def __sub__(self, other: Any) -> Counted:
        return self._with(other, self.value - _plain(other))

    def __mul__(self, other: Any) -> Counted:
        return self._with(other, self.value * _plain(other))

    def __truediv__(self, other: Any) -> Counted:
        return self._with(other, self.value / _plain(other))

    def rsqrt(self) -> Counted:
        return self._with(None, 1 / math.sqrt(self.value))

    def exp(self) -> Counted:
        return self._with(None, math.exp(self.value))

    def larger(self, other: Counted) -> Counted:
        return self._with(other, max(self.value, other.value))


def _plain(value: Any) -> float:
    return value.value if isinstance(value, Counted) else float(value)


def total(values: list[Counted]) -> Counted:
    result = values[0]
    for value in values[1:]:
        result = result + value
    return result


def count_layer_norm(rows: int, width: int, weight: bool, bias: bool) -> int:
    Counted.done = 0
    for row in range(rows):
        x = [Counted(row + i * 0.5) for i in range(width)]
        mean = total(x) / width
        apart = [one - mean for one in x]
        variance = total([one * one for one in apart]) / width
        scale = (variance + 1e-5).rsqrt()
        y = [one * scale for one in apart]
        y = [one * 2.0 for one in y] if weight else y
        y = [one + 1.0 for one in y] if bias else y
    return Counted.done


@pytest.mark.parametrize(("weight", "bias"), [(True, True), (True, False), (False, False)])
def test_layer_norm(weight: bool, bias: bool) -> None:
    dims = ((2, 3, 8), (), (8,) if weight else (), (8,) if bias else (), ())
    types = (BF16, "ScalarList", BF16 if weight else "", BF16 if bias else "", "Scalar")
    found = work("native_layer_norm", dims, types, ("", "[8]", "", "", "1e-05"))
    assert found.flops == count_layer_norm(6, 8, weight, bias)
    # input and output, the parameters, and mean and inverse deviation per row in fp32
    assert found.bytes == 2 * 2 * 48 + 2 * 8 * (weight + bias) + 2 * 4 * 6


def test_rms_norm() -> None:
    Counted.done = 0
    for row in range(6):
        x = [Counted(row + i) for i in range(8)]
        scale = (total([one * one for one in x]) / 8 + 1e-5).rsqrt()
        _ = [one * scale * 2.0 for one in x]
    found = work("rms_norm", ((6, 8), (), (8,), ()), (BF16, "ScalarList", BF16, "Scalar"), ("", "[8]", "", "1e-05"))
    assert found.flops == Counted.done
    assert found.bytes == 2 * (48 + 48 + 8)


def test_group_and_batch_norm_are_layer_norms_over_other_rows() -> None:
    dims = ((2, 8, 4, 4), (8,), (8,), (), (), (), (), ())
    found = work("native_group_norm", dims, (FP32,) * 3 + ("",) * 5, ("", "", "", "2", "8", "16", "4", "1e-5"))
    assert found.flops == count_layer_norm(2 * 4, 2 * 16, True, True)
    dims = ((2, 8, 4, 4), (8,), (8,), (8,), (8,), (), (), ())
    training = work("native_batch_norm", dims, (FP32,) * 5 + ("",) * 3, ("",) * 5 + ("True", "0.1", "1e-5"))
    assert training.flops == count_layer_norm(8, 2 * 16, True, True)
    inference = work("native_batch_norm", dims, (FP32,) * 5 + ("",) * 3, ("",) * 5 + ("False", "0.1", "1e-5"))
    assert inference.flops == 4 * 256 + 2 * 8


def test_softmax() -> None:
    Counted.done = 0
    for row in range(6):
        x = [Counted(row + i) for i in range(8)]
        most = x[0]
        for one in x[1:]:
            most = most.larger(one)
        powers = [(one - most).exp() for one in x]
        below = total(powers)
        _ = [one / below for one in powers]
    found = work("_softmax", ((6, 8), (), ()), (FP32, "Scalar", "Scalar"), ("", "-1", "False"))
    assert found.flops == Counted.done
    assert found.bytes == 2 * 4 * 48


@pytest.mark.parametrize(
    ("name", "dims", "types", "concrete", "flops", "moved"),
    [
        ("add", ((4, 8), (8,), ()), (BF16, BF16, "Scalar"), (), 32, 2 * (32 + 8 + 32)),
        ("mul", ((4, 8), (4, 1)), (FP32, FP32), (), 32, 4 * (32 + 4 + 32)),
        ("gelu", ((4, 8), ()), (BF16, ""), (), 32, 2 * 64),
        ("add_", ((4, 8), (), ()), (FP32, "double", "Scalar"), (), 32, 4 * 64),
        ("eq", ((4, 8), ()), (INT64, "Scalar"), (), 32, 8 * 32 + 32),
        ("mean", ((4, 8), (), (), ()), (FP32, "ScalarList", "Scalar", ""), ("", "[-1]", "True", ""), 32, 4 * (32 + 4)),
        ("sum", ((4, 8), ()), (FP32, ""), ("", ""), 32, 4 * 33),
        ("argmax", ((4, 8), (), ()), (FP32, "Scalar", "Scalar"), ("", "1", "False"), 32, 4 * 32 + 8 * 4),
        ("copy_", ((4, 8), (4, 8), ()), (BF16, FP32, "Scalar"), (), 0, 2 * 32 + 4 * 32),
        ("cat", (((4, 8), (4, 8)), ()), ("TensorList:2", "Scalar"), (), 0, 2 * 2 * 64),
        ("embedding", ((100, 16), (3,)), (BF16, INT64), (), 0, 2 * 2 * 48 + 24),
        ("index_select", ((100, 16), (), (3,)), (BF16, "Scalar", INT64), (), 0, 2 * 2 * 48 + 24),
        ("fill_", ((4, 8), ()), (FP32, "Scalar"), (), 0, 128),
    ],
)
def test_the_rest(name: str, dims: Any, types: Any, concrete: Any, flops: int, moved: int) -> None:
    found = work(name, dims, types, concrete)
    assert (found.flops, found.bytes) == (flops, moved)


@pytest.mark.parametrize(
    "signature",
    [
        Signature("mylib::unknown", ((4, 4),), (FP32,)),
        Signature("aten::mm"),
        Signature("aten::mm", ((4, 4), ()), (FP32, "")),
        Signature("aten::convolution", ((1, 2, 4, 4), (2, 2, 3, 3)), (FP32, FP32)),
        Signature("aten::cat", (((4, 8), (4, 8)), ()), ("TensorList", "Scalar")),
        Signature("aten::layer_norm", ((4, 8), ()), ("QInt8", "")),
    ],
)
def test_what_cannot_be_known_is_not_guessed(signature: Signature) -> None:
    assert work_of(signature) is None
