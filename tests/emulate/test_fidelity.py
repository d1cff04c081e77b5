"""The line on fidelity: which kinds of instructions were executed, and how near they are to the hardware's."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kernel_pytorch.cli.main import main
from kernel_pytorch.emulate.codegen.fidelity import KINDS, fidelity
from kernel_pytorch.emulate.isa.table import rows

SOURCE = """#include <hip/hip_runtime.h>
#include <cstdio>
__global__ void roots(float *x, int mode) {
  float v = x[threadIdx.x];
  // A uniform branch around a store: nothing of it is executed when it is not taken.
  if (mode == 1) x[threadIdx.x] = __builtin_amdgcn_sqrtf(v);
  if (mode == 2) x[threadIdx.x + 64] = __builtin_amdgcn_sinf(v);
}
int main(int argc, char **argv) {
  float *x;
  if (hipMalloc(&x, 512) != hipSuccess || hipMemset(x, 0, 512) != hipSuccess) return 2;
  roots<<<1, 64>>>(x, argc - 1);
  return hipDeviceSynchronize() != hipSuccess;
}
"""


def test_mnemonics_by_kind() -> None:
    assert {fidelity(name) for name in ("v_rcp_f32", "v_exp_f16", "v_s_sqrt_f32", "v_log_legacy_f32")} == {"rounded"}
    assert {fidelity(name) for name in ("v_rcp_f64", "v_sqrt_f64")} == {"coarse"}
    summed = ("v_mfma_f32_32x32x8_f16", "v_mfma_f64_16x16x4_f64", "v_wmma_f32_16x16x16_bf16", "v_dot2_f32_f16",
              "v_mfma_scale_f32_16x16x128_f8f6f4", "v_swmmac_f32_16x16x32_f16")  # fmt: skip
    assert {fidelity(name) for name in summed} == {"summed"}
    exact = (
        "v_add_f32",
        "v_mfma_i32_32x32x8_i8",
        "v_dot4_i32_i8",
        "v_fma_f64",
        "v_wmma_i32_16x16x16_iu8",
        "v_div_fmas_f32",
    )
    assert {fidelity(name) for name in exact} == {"exact"}


def test_only_what_was_executed_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / "roots.hip"
    source.write_text(SOURCE)
    for words, wanted in (([], {}), (["a"], {"rounded": ["v_sqrt_f32"]}), (["a", "b"], {"rounded": ["v_sin_f32"]})):
        assert main(["emulate", str(source), "--json", "--", *words]) == 0
        (run,) = json.loads(capsys.readouterr().out)["runs"]
        near = run["events"]["fidelity"]
        assert near["inexact"] == wanted and near["stand_in_calls"] == {}
        assert near["instructions"] > 5
    assert main(["emulate", str(source), "--", "a"]) == 0
    err = capsys.readouterr().err
    assert "exact\n  1 correctly rounded here, up to one unit in the last place off on hardware: v_sqrt_f32" in err


def test_every_kind_has_words_and_instructions() -> None:
    kinds = {fidelity(name) for name in rows()}
    assert kinds == {"exact", *KINDS}
