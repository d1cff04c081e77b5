"""nvcuda::wmma in a port: every shape, type and layout, with both warps of a 64-lane wave or one of them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import numpy as np
import pytest

from kernel_pytorch.emulate.device import EmulatedDevice
from kernel_pytorch.emulate.launch import launch_on
from kernel_pytorch.port.cxx.source import cxx_file
from kernel_pytorch.port.hipify.file import HipifyOptions, hipify_file
from tests.port.wmma import wmma_cases
from tests.port.wmma.wmma_cases import CASES, WARPS, Case

GPUS = ("mi250x", "mi300x", "mi350x", "rx7900xtx", "rx9070xt", "rx6900xt")
FIRST = CASES[0]
UNTOUCHED = 77


@cache
def ported(program: str) -> str:
    """A CUDA program as `kpt hipify` writes it."""
    result = hipify_file(cxx_file("wmma.cu", program.encode()), None, HipifyOptions())
    assert [finding.code for finding in result.findings if not finding.edits] == []
    return result.after.decode()


@pytest.fixture(scope="module", params=GPUS)
def device(request: pytest.FixtureRequest) -> Iterator[EmulatedDevice]:
    with EmulatedDevice(request.param) as opened:
        yield opened


def check_branches(device: EmulatedDevice, case: Case, mode: int, threads: int) -> None:
    given = wmma_cases.inputs(case)
    m, n, _ = case.shape
    out = np.full(WARPS * m * n, UNTOUCHED, case.numpy_result)
    text = ported(wmma_cases.program("branches", *CASES))
    launch_on(device, text, 1, threads, *given.arrays, out, mode, name=f"branches_{case.name}")
    wanted = wmma_cases.expected_branches(case, given, mode, UNTOUCHED)
    wanted[threads // 32 * m * n :] = UNTOUCHED
    assert np.array_equal(out, wanted)


def test_the_classes_are_written_out_and_nothing_is_left_for_a_person() -> None:
    text = ported(wmma_cases.program("plain", *CASES))
    assert "#ifndef KPT_SHIM_NVCUDA_WMMA\n" in text
    assert "mma.h>" not in text


@pytest.mark.slow
def test_warps_of_one_wave_may_part() -> None:
    with EmulatedDevice("mi300x") as device:
        for mode in range(4):
            check_branches(device, FIRST, mode, 96)


@pytest.mark.slow
def test_every_shape_and_type(device: EmulatedDevice) -> None:
    text = ported(wmma_cases.program("plain", *CASES))
    for case in CASES:
        given = wmma_cases.inputs(case)
        wanted = wmma_cases.expected_branches(case, given, wmma_cases.TOGETHER, UNTOUCHED)
        out = np.zeros_like(wanted)
        launch_on(device, text, 1, 32 * WARPS, *given.arrays, out, name=f"plain_{case.name}")
        assert np.array_equal(out, wanted), case.name


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_every_layout(device: EmulatedDevice, case: Case) -> None:
    given = wmma_cases.inputs(case)
    wanted = wmma_cases.expected_layouts(case, given)
    out = np.zeros_like(wanted)
    text = ported(wmma_cases.program("layouts", *CASES))
    launch_on(device, text, 1, 32 * WARPS, *given.arrays, out, name=f"layouts_{case.name}")
    assert np.array_equal(out, wanted)


@pytest.mark.slow
@pytest.mark.parametrize("mode", range(4), ids=["together", "lower", "upper", "different-calls"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_branches(device: EmulatedDevice, case: Case, mode: int) -> None:
    for threads in (32, 64, 96):
        check_branches(device, case, mode, threads)


@pytest.mark.slow
def test_satf_keeps_integers_in_range(device: EmulatedDevice) -> None:
    source = np.random.default_rng(3)
    a, b = (source.integers(-128, 128, (16, 16)).astype(np.int8) for _ in range(2))
    c = np.where(source.integers(0, 2, (16, 16)), 2**31 - 100, -(2**31) + 100).astype(np.int32)
    out = np.zeros_like(c)
    launch_on(device, ported(wmma_cases.PRELUDE + wmma_cases.SINGLE), 1, 32, a, b, c, out, name="saturated")
    exact = a.astype(np.int64) @ b.astype(np.int64) + c
    assert np.array_equal(out, np.clip(exact, -(2**31), 2**31 - 1))


@pytest.mark.slow
def test_float_to_tf32_rounds_to_nearest_and_ties_away_from_zero(device: EmulatedDevice) -> None:
    given = np.random.default_rng(4).standard_normal(60).astype(np.float32)
    given = np.append(given, np.array([1 + 2**-11, -1 - 2**-11, np.inf, 0], np.float32))
    out = np.zeros_like(given)
    launch_on(device, ported(wmma_cases.PRELUDE + wmma_cases.SINGLE), 1, 64, given, out, name="as_tf32")
    spacing = np.where(np.isfinite(given), 2.0 ** (np.frexp(given)[1] - 11), 1)
    with np.errstate(invalid="ignore"):
        wanted = np.copysign(np.floor(np.abs(given) / spacing + 0.5) * spacing, given)
    assert np.array_equal(out, wanted)
