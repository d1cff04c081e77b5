"""Errors below the rounding of a 16-bit type: found where they go one way, and only there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from kernel_pytorch.models.check.systematic import systematic  # noqa: E402
from kernel_pytorch.verify.golden.unlike_in_precision import unlike_in_precision  # noqa: E402

TYPES = {"bfloat16": torch.bfloat16, "float16": torch.float16}


def rounded(values: Any, dtype: str) -> Any:
    return values.to(TYPES[dtype]).double()


def activations(seed: int = 0, rows: int = 192, width: int = 256) -> Any:
    return torch.randn(rows, width, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def found(truth: Any, change: Callable[[Any], Any], dtype: str) -> str | None:
    """The kind of difference between a result and the same with a change, each rounded."""
    diagnosis = systematic(rounded(change(truth), dtype), rounded(truth, dtype), dtype)
    return None if diagnosis is None else diagnosis.kind


@pytest.mark.parametrize("dtype", TYPES)
def test_a_factor_and_a_constant_below_the_rounding_are_found(dtype: str) -> None:
    epsilon = {"bfloat16": 2.0**-7, "float16": 2.0**-10}[dtype]
    x = activations()
    assert found(x, lambda v: v * (1 + epsilon / 8), dtype) == "scale"
    assert found(x, lambda v: v + epsilon / 8, dtype) == "bias"


def test_an_unbiased_variance_and_another_epsilon_are_factors() -> None:
    x = activations(1)
    centred = x - x.mean(-1, keepdim=True)
    normal = centred / (x.var(-1, unbiased=False, keepdim=True) + 1e-5).sqrt()
    for variance, epsilon in ((x.var(-1, unbiased=True, keepdim=True), 1e-5), (x.var(-1, False, keepdim=True), 1e-3)):
        assert found(normal, lambda _, v=variance, e=epsilon: centred / (v + e).sqrt(), "bfloat16") == "scale"


def test_tanh_gelu_in_place_of_erf_is_found() -> None:
    x = activations(2, rows=384, width=512).bfloat16().double()
    exact, other = torch.nn.functional.gelu(x), torch.nn.functional.gelu(x, approximate="tanh")
    assert found(exact, lambda _: other, "bfloat16") in ("curve", "bias")


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("noise", [0.0, 1e-6, 1e-4, 3e-3])
def test_honest_noise_of_two_machines_is_not_called_anything(dtype: str, noise: float) -> None:
    for seed in range(8):
        x = activations(seed)
        chance = torch.Generator().manual_seed(100 + seed)
        # A row's own error (a norm's factor that was rounded), and one for each element.
        row = 1 + noise * torch.randn(x.shape[0], 1, generator=chance, dtype=torch.float64)
        each = noise * x.abs() * torch.randn(x.shape, generator=chance, dtype=torch.float64)
        assert found(x, lambda v, row=row, each=each: v * row + each, dtype) is None


def test_small_tensors_and_wide_types_are_left_to_the_limit() -> None:
    x = activations(rows=8, width=16)
    assert systematic(x * 1.001, x, "bfloat16") is None
    assert systematic(activations() * 1.001, activations(), "float32") is None
    assert systematic(activations(), activations(), "bfloat16") is None


def test_one_side_less_precise_than_the_other() -> None:
    assert unlike_in_precision(0.0017, 0.0016, "bfloat16") is None
    here, there = unlike_in_precision(0.0055, 0.0017, "bfloat16"), unlike_in_precision(0.0016, 0.0099, "bfloat16")
    assert here is not None and here.text.startswith("less precise")
    assert there is not None and "other code was recorded" in there.text
    assert unlike_in_precision(1e-6, 1e-5, "bfloat16") is None  # far below one rounding
    assert unlike_in_precision(0.1, 0.001, "float32") is None
