"""`from kernel_pytorch import port`: the calls, their results, and that importing stays cheap in any order."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import kernel_pytorch
from kernel_pytorch import emulate, port, scan, verify
from kernel_pytorch.core.errors import UsageError
from kernel_pytorch.core.findings import Status, from_json, to_json
from kernel_pytorch.core.unified_diff import unified_diff
from kernel_pytorch.jobs.emulate import EmulationResult
from kernel_pytorch.jobs.port import PortResult, plan_port
from kernel_pytorch.jobs.scan import ScanResult
from kernel_pytorch.toolchain.find import ToolchainNotFoundError, find_toolchain

MODEL = """\
import torch


def build(model):
    return torch.compile(model, mode="reduce-overhead")
"""
KERNEL = """\
#include <cuda_runtime.h>
__global__ void first(int *x) { x[threadIdx.x] = __shfl_sync(0xffffffff, x[threadIdx.x], 0); }
int main() {
  int x[64], *there;
  for (int i = 0; i < 64; i++) x[i] = i;
  cudaMalloc(&there, sizeof x);
  cudaMemcpy(there, x, sizeof x, cudaMemcpyHostToDevice);
  first<<<1, 64>>>(there);
  cudaMemcpy(x, there, sizeof x, cudaMemcpyDeviceToHost);
  return x[32];
}
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    (root / "app").mkdir(parents=True)
    (root / "app/__init__.py").write_text("")
    (root / "app/model.py").write_text(MODEL)
    (root / "app/kernel.cu").write_text(KERNEL)
    return root


@pytest.mark.parametrize(
    "lines",
    [
        ("from kernel_pytorch import port",),
        ("import kernel_pytorch.port.discover", "from kernel_pytorch import port"),
        ("from kernel_pytorch import port", "import kernel_pytorch.port.discover"),
        ("import kernel_pytorch.jobs.port", "port = kernel_pytorch.port"),
        ("import kernel_pytorch.port as port",),
    ],
)
def test_every_import_order_gives_the_same_callable(lines: tuple[str, ...], tmp_path: Path) -> None:
    code = [
        *lines,
        "import sys",
        "assert port is sys.modules['kernel_pytorch.port']",
        f"result = port({str(tmp_path)!r}, build=False)",
        "assert result.ok and not result.patches",
        "from kernel_pytorch.port.discover import discover",
        "import kernel_pytorch",
        "assert kernel_pytorch.port is port and kernel_pytorch.port.discover.discover is discover",
        "assert 'torch' not in sys.modules",
    ]
    subprocess.run([sys.executable, "-c", "\n".join(code)], check=True)


def test_importing_the_package_imports_no_job() -> None:
    code = "import sys, kernel_pytorch; print([m for m in sys.modules if m.startswith('kernel_pytorch.')])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    names = ("emulate", "port", "verify", "version")
    assert sorted(ast.literal_eval(done.stdout)) == [f"kernel_pytorch.{name}" for name in names]


def test_every_public_name_is_there() -> None:
    assert all(callable(getattr(kernel_pytorch, name)) for name in kernel_pytorch.__all__ if name != "__version__")
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        kernel_pytorch.nothing  # noqa: B018


def test_a_port_is_shown_proven_and_written(project: Path) -> None:
    result = port(str(project), build=False)
    assert isinstance(result, PortResult)
    assert {patch.path for patch in result.patches} == {"app/model.py", "app/kernel.cu", "app/kpt_hip_compat.h"}
    assert result.layout == "single-source" and result.targets == ("gfx942",)
    assert result.refused == () and result.ok
    assert result.diff() == "".join(unified_diff(patch) for patch in result.patches)
    assert (project / "app/model.py").read_text() == MODEL
    result.write()
    assert "IS_ROCM" in (project / "app/model.py").read_text()
    assert not port(project, build=False).patches
    with pytest.raises(UsageError, match="not the file that was scanned"):
        result.write()


def test_a_ported_copy(project: Path, tmp_path: Path) -> None:
    result = port(project, build=False, layout="copy")
    with pytest.raises(UsageError, match=r"use write_copy\(\)"):
        result.write()
    result.write_copy(tmp_path / "copy")
    assert "hipMalloc" in (tmp_path / "copy/app/kernel.hip").read_text()
    assert (project / "app/kernel.cu").read_text() == KERNEL
    with pytest.raises(UsageError, match="already exists"):
        result.write_copy(tmp_path / "copy")


def test_results_survive_json(project: Path) -> None:
    (project / "app/model.py").write_text(MODEL.replace('"reduce-overhead"', "model.mode"))
    ported = port(project, build=False, add=("fp8",))
    assert ported.held and ported.verdicts and ported.patches
    assert from_json(PortResult, to_json(ported)) == ported
    scanned = scan(project)
    assert from_json(ScanResult, to_json(scanned)) == scanned


def test_what_the_caller_says_wins_over_the_table(project: Path) -> None:
    (project / "pyproject.toml").write_text('[tool.kernel_pytorch]\nselect = ["KP3"]\ntargets = ["gfx1100"]\n')
    assert {finding.code[:3] for finding in scan(project).findings} == {"KP3"}
    assert {finding.code[:3] for finding in scan(project, select=["KP6"]).findings} == {"KP6"}
    plan = plan_port(project)
    assert plan.targets == ("gfx1100",) and plan.options.select == ("KP3",)
    assert plan_port(project, targets=["gfx90a"]).targets == ("gfx90a",)
    assert scan(project, exclude=["app"], select=["KP"]).findings == ()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"layout": "other"}, "layout 'other' is not known"),
        ({"add": ["other"]}, "add 'other' is not known"),
        ({"targets": ["gfx1"]}, "gfx1"),
        ({"select": ["X1"]}, "'X1' is not a code"),
    ],
)
def test_what_makes_no_sense_is_refused(project: Path, options: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        port(project, **options)  # type: ignore[arg-type]


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    for job in (port, scan, verify):
        with pytest.raises(UsageError, match="nowhere: no such"):
            job(tmp_path / "nowhere")
    with pytest.raises(UsageError, match=r"nowhere\.cu: no such file"):
        emulate(tmp_path / "nowhere.cu")


def test_verify_runs_the_levels_asked_for(project: Path, tmp_path: Path) -> None:
    port(project, build=False).write_copy(tmp_path / "ported")
    seen: list[str] = []
    done = verify(tmp_path / "ported", old=project, levels=["static", "isolation"], progress=seen.append)
    assert seen == ["isolation", "static"]
    assert [level.status for level in done.pyramid.levels] == [Status.PASS, Status.PASS]
    with pytest.raises(UsageError, match="'other' is not a level"):
        verify(project, levels=["other"])


def test_emulate_compares_wave_widths(project: Path) -> None:
    try:
        find_toolchain()
    except ToolchainNotFoundError as error:
        pytest.skip(str(error))
    said: list[str] = []
    result = emulate(project / "app/kernel.cu", gpus=["rx7900xtx", "mi300x"], progress=said.append)
    assert isinstance(result, EmulationResult)
    # Lane 32 reads lane 32, the first of its own 32 lanes, at both widths: the port kept CUDA's meaning.
    assert [run.exit_code for run in result.runs] == [32, 32]
    assert list(result.differences.values()) == [()]
    assert not result.ok
    assert [line.split()[0] for line in said] == ["building", "running", "running"]
    assert said[0].startswith("building for gfx1100 and gfx942")
    with pytest.raises(UsageError, match="not an AMD GPU"):
        emulate(project / "app/kernel.cu", gpus=["h100"])
