"""8-bit floats: the type by architecture, a checkpoint's bytes, and the product that falls back."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch")

from kernel_pytorch.port.templates import rocm_fp8  # noqa: E402


@pytest.mark.parametrize(
    ("arch", "dtype"),
    [
        ("gfx942:sramecc+:xnack-", torch.float8_e4m3fnuz),
        ("gfx950", torch.float8_e4m3fn),
        ("gfx1201", torch.float8_e4m3fn),
    ],
)
def test_dtype_by_architecture(arch: str, dtype: Any) -> None:
    assert rocm_fp8.fp8_dtype(arch=arch) is dtype


def test_no_eight_bit_floats_on_mi200() -> None:
    with pytest.raises(RuntimeError, match="gfx90a has no 8-bit floats"):
        rocm_fp8.fp8_dtype(arch="gfx90a")


def test_every_byte_keeps_its_product() -> None:
    every = torch.arange(256, dtype=torch.uint8)
    finite = every[(every & 0x7F) != 0x7F]
    weight = finite.view(torch.float8_e4m3fn)
    scale = torch.tensor(0.75)
    converted, doubled = rocm_fp8.e4m3fn_to_fnuz(weight, scale)
    assert converted.dtype is torch.float8_e4m3fnuz
    assert torch.equal(weight.float() * scale, converted.float() * doubled)


def test_what_is_not_e4m3fn_is_refused() -> None:
    with pytest.raises(TypeError, match="float16"):
        rocm_fp8.e4m3fn_to_fnuz(torch.zeros(2, dtype=torch.float16))
    with pytest.raises(ValueError, match="NaN"):
        rocm_fp8.e4m3fn_to_fnuz(torch.tensor([0x7F], dtype=torch.uint8).view(torch.float8_e4m3fn))


def test_a_refused_product_is_dequantised_and_asked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def refuse(*_: Any, **__: Any) -> Any:
        asked.append(1)
        raise RuntimeError("HIPBLAS_STATUS_NOT_SUPPORTED")

    monkeypatch.setattr(torch, "_scaled_mm", refuse)
    monkeypatch.setattr(rocm_fp8, "_refused", set())
    a = torch.randn(16, 32).to(torch.float8_e4m3fn)
    b = torch.randn(32, 8).to(torch.float8_e5m2)
    rows, columns = torch.rand(16, 1) + 0.5, torch.rand(1, 8) + 0.5
    bias = torch.randn(8)
    expected = (a.double() * rows.double()) @ (b.double() * columns.double()) + bias.double()
    for _ in range(2):
        got = rocm_fp8.scaled_mm(a, b, rows, columns, bias, out_dtype=torch.float32)
        torch.testing.assert_close(got.double(), expected, rtol=1e-5, atol=1e-4)
    assert len(asked) == 1
