"""Weights in 8 and 4 bits: the formats, and the Triton kernels in the interpreter, as machine code of emulated GPUs,
and built for all targets. On a GPU: tests/hw/test_decode_kernels.py."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import pytest
import torch

from kernel_pytorch.perf.narrow import launch
from kernel_pytorch.perf.narrow.formats import GROUP, furthest, narrowed, why_not, widened
from kernel_pytorch.toolchain.code_object import read_code_object

KINDS = ("int8", "int4", "fp8")


def weight_of(rows: int, columns: int, dtype: torch.dtype = torch.bfloat16) -> torch.Tensor:
    """Rows and groups of different sizes, so that a scale of another one shows."""
    torch.manual_seed(rows + columns)
    sizes = torch.rand(rows, 1) * 2 + torch.rand(1, columns // 8).repeat_interleave(8, 1)
    return (torch.randn(rows, columns) * sizes).to(dtype)


# -- formats


@pytest.mark.parametrize(("kind", "most"), [("int8", 0.012), ("int4", 0.12), ("fp8", 0.04)])
def test_narrow_weights_are_near(kind: str, most: float) -> None:
    weight = weight_of(48, 3 * GROUP)
    narrow = narrowed(weight, kind, torch.float8_e4m3fn)
    off = (widened(narrow) - weight.float()).pow(2).mean().sqrt() / weight.float().pow(2).mean().sqrt()
    assert 1e-4 < float(off) < most
    assert furthest(weight, narrow) <= 1.01
    assert narrow.bits.nbytes == weight.nbytes // (4 if kind == "int4" else 2)


@pytest.mark.parametrize("kind", KINDS)
def test_zeros_and_numbers_that_fit_exactly(kind: str) -> None:
    weight = torch.zeros(4, GROUP, dtype=torch.float16)
    weight[1] = torch.arange(GROUP) % 8 - 4.0
    weight[1, 5] = 7 if kind != "fp8" else 4
    narrow = narrowed(weight, kind, torch.float8_e4m3fn)
    assert torch.equal(widened(narrow)[0], weight[0].float())
    assert furthest(weight, narrow) <= 1.01
    if kind == "int4":
        assert torch.equal(widened(narrow), weight.float())


def test_what_is_not_taken() -> None:
    assert "float32" in str(why_not(torch.zeros(2, 128), "int8"))
    assert "160 columns" in str(why_not(torch.zeros(2, 160).half(), "int4"))
    assert why_not(torch.zeros(2, 160).half(), "int8") is None


# -- the kernels

BEGIN = """
import torch
from kernel_pytorch.perf.narrow import launch
from kernel_pytorch.perf.narrow.formats import narrowed

torch.manual_seed(0)
for rows, columns in ((37, 256), (5, 1408), (16, 128)):
    weight = (torch.randn(rows, columns) * (torch.rand(rows, 1) + torch.rand(1, columns))).half()
    bias = torch.randn(rows).half()
    for kind in ("plain", "int8", "int4", "fp8"):
        narrow = None if kind == "plain" else narrowed(weight, kind, torch.float8_e4m3fn)
        for count in (1, 2, 16):
            x = torch.randn(count, columns).half()
            for its in (None, bias):
                bits = (weight, None) if narrow is None else (narrow.bits, narrow.scales)
                found = launch.product(x, *bits, its, kind).float()
                expected = launch.plainly(x, *bits, its, kind).float()
                assert (found - expected).abs().max() <= 2e-3 * expected.abs().max(), (rows, columns, kind, count)
print("all close")
"""


def test_the_interpreter_gives_what_torch_gives() -> None:
    pytest.importorskip("triton")
    done = subprocess.run(
        [sys.executable, "-c", BEGIN],
        env={**os.environ, "TRITON_INTERPRET": "1"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.stdout.strip() == "all close", done.stderr[-2000:]


def on_emulated(gpu: str, kinds: tuple[str, ...], fp8: torch.dtype | None = None) -> None:
    from kernel_pytorch.emulate.triton_session import emulated_triton

    weight, bias = weight_of(21, 2 * GROUP), torch.randn(21).bfloat16()
    for kind in kinds:
        narrow = None if kind == "plain" else narrowed(weight, kind, fp8)
        given: tuple[Any, ...] = (weight, None) if narrow is None else (narrow.bits, narrow.scales)
        for count in (1, 5):
            x = torch.randn(count, weight.shape[1]).bfloat16()
            with emulated_triton(gpu) as session:
                found = launch.product(x, *given, bias, kind)
            assert len(session.launches) == 1
            expected = launch.plainly(x, *given, bias, kind).float()
            assert (found.float() - expected).abs().max() <= 1e-2 * expected.abs().max(), (kind, count)


@pytest.mark.slow
@pytest.mark.parametrize("gpu", ["mi300x", "mi355x", "rx7900xtx"])
def test_machine_code_gives_what_torch_gives(gpu: str) -> None:
    pytest.importorskip("triton")
    fp8 = {"mi300x": torch.float8_e4m3fnuz, "mi355x": torch.float8_e4m3fn}.get(gpu)
    on_emulated(gpu, ("plain", "int8", "int4", *(("fp8",) if fp8 else ())), fp8)


def kernels(fp8: str) -> list[tuple[Any, dict[str, str], dict[str, Any]]]:
    """Both kernels for each kind of weight, with the element type of fp8 as Triton names it."""
    from kernel_pytorch.perf.narrow.kernels import few_rows_times_narrow, one_row_times_narrow

    half = "*bf16"
    found = []
    for kind, bits in (("plain", half), ("int8", "*i8"), ("int4", "*u8"), ("fp8", fp8)):
        scale = half if kind in ("plain", "int4") else "*fp32"
        types = {"x_ptr": half, "weight_ptr": bits, "scale_ptr": scale, "bias_ptr": half, "out_ptr": half}
        types |= dict.fromkeys(("rows", "columns"), "i32")
        constants = {"HAS_BIAS": True, "KIND": kind}
        if kind != "plain" and bits:
            row = {"BLOCK_ROWS": launch.ONE_ROW, "BLOCK": launch.ONE_ROW_BYTES}
            found.append((one_row_times_narrow, types, {**constants, **row}))
        if bits:
            few = {"BLOCK_ROWS": launch.FEW_ROWS, "BLOCK": launch.FEW_COLUMNS}
            found.append((few_rows_times_narrow, {**types, "count": "i32"}, {**constants, **few}))
    return found


TARGETS = {
    "gfx942": ("hip", "gfx942", 64, "*fp8e4b8"),
    "gfx950": ("hip", "gfx950", 64, "*fp8e4nv"),
    "gfx1100": ("hip", "gfx1100", 32, ""),
    "sm_90": ("cuda", 90, 32, "*fp8e4nv"),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", TARGETS)
def test_kernels_are_built_without_spills(name: str) -> None:
    pytest.importorskip("triton")
    from tests.perf.decode.test_decode_kernels import _compiled

    backend, arch, wave, fp8 = TARGETS[name]
    for kernel, types, constants in kernels(fp8):
        if constants["KIND"] == "fp8" and not fp8:
            continue
        made = _compiled(kernel, types, constants, (backend, arch, wave))
        if backend == "cuda":
            assert made.asm["ptx"]
            continue
        (resources,) = read_code_object(made.asm["hsaco"]).kernels
        assert not resources.vgpr_spills and not resources.scratch_bytes, constants
