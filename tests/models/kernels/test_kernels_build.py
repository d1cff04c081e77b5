"""The kernels compile for AMD targets with the launches they get there: no spills, LDS within limits."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("triton")

from kernel_pytorch.core.hardware import target
from kernel_pytorch.toolchain.code_object import read_code_object
from kernel_pytorch.toolchain.triton_build import TritonRequest, build_triton

TARGETS = ("gfx942", "gfx1100")  # a target of each wave size
OTHERS = ("gfx90a", "gfx950", "gfx1201")
KERNELS = {
    "norm_forward",
    "norm_forward_long",
    "norm_backward",
    "norm_backward_long",
    "weight_gradient_long",
    "sum_parts",
    "gated_forward",
    "gated_backward",
    "rope",
}
ROOT = Path(__file__).parents[3]


def build(place: Path, *targets: str) -> Path:
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join((str(ROOT / "src"), str(ROOT))),
        "TRITON_CACHE_DIR": str(place / "cache"),
    }
    environment.pop("TRITON_INTERPRET", None)
    command = [sys.executable, "-m", "tests.models.kernels.built_kernels", str(place), *targets]
    done = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    return place


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("built"), *TARGETS)


@pytest.mark.parametrize("name", TARGETS)
def test_no_spills_and_lds_within_limits(built: Path, name: str) -> None:
    look_at(built, name)


@pytest.mark.slow
@pytest.mark.parametrize("name", OTHERS)
def test_no_spills_on_other_targets(tmp_path: Path, name: str) -> None:
    look_at(build(tmp_path, name), name)


def look_at(folder: Path, name: str) -> None:
    facts = target(name)
    answer: dict[str, dict[str, Any]] = json.loads((folder / "answer.json").read_text(encoding="utf-8"))
    mine = {label.removeprefix(f"{name}-"): built for label, built in answer.items() if label.startswith(f"{name}-")}
    assert {label.partition("-")[0] for label in mine} == KERNELS
    for label, built in mine.items():
        found = read_code_object((folder / f"{name}-{label}.hsaco").read_bytes())
        kernel = found.kernels[0]
        assert found.target == name, label
        assert (kernel.vgpr_spills, kernel.sgpr_spills, kernel.scratch_bytes) == (0, 0, 0), label
        assert max(kernel.lds_bytes, built["shared"]) <= facts.max_lds_bytes_per_workgroup, label
        assert kernel.wave_size == facts.wave_size, label
        assert built["waves"] * facts.wave_size <= facts.max_threads_per_workgroup, label
        assert kernel.vgprs <= facts.max_vgprs_per_wave, label


def test_they_build_by_the_toolchain_as_users_do() -> None:
    request = TritonRequest(
        Path(__file__).with_name("exported_kernels.py"),
        "gated_forward",
        ("*bf16:16", "*bf16:16", "*bf16:16", "i32:16", "i32", "i32:16", "i32:16"),
        {"KIND": "gelu_tanh", "BLOCK": 1024},
        num_warps=2,
    )
    (build,) = build_triton(request, ["gfx942"])
    assert build.error is None
    kernel = read_code_object(build.code_object).kernels[0]
    assert (kernel.vgpr_spills, kernel.scratch_bytes) == (0, 0)
    assert "global_load_dwordx4" in build.assembly or "buffer_load_dwordx4" in build.assembly
