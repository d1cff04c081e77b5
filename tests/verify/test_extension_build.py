"""The build level of a torch extension: renamed as torch does it, built for device and host, on the user's lines."""

from __future__ import annotations

import importlib.util
import shutil
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from kernel_pytorch.core.findings import CheckResult, Status
from kernel_pytorch.port.builds import torch_extension
from kernel_pytorch.port.builds.ported_project import build_ported, try_ported
from kernel_pytorch.port.builds.recorded_unit import RecordedUnit
from kernel_pytorch.port.discover import discover
from kernel_pytorch.port.project import PortOptions, choose_layout, port_project
from kernel_pytorch.toolchain import torch_headers
from kernel_pytorch.toolchain.compile import CompileFailed, CompileOptions
from kernel_pytorch.toolchain.find import ToolchainNotFoundError, find_toolchain
from kernel_pytorch.verify import build_level as level
from kernel_pytorch.verify.build_level import build_level

FILES = {
    "setup.py": "from torch.utils.cpp_extension import CUDAExtension\n",
    "csrc/ext.cpp": '#include "scale.h"\nint main() { torch::Tensor t{nullptr, 0}; scale(t); }\n',
    "csrc/scale.h": "#pragma once\n#include <torch/extension.h>\nvoid scale(torch::Tensor t);\n",
    "csrc/lanes.cuh": "#pragma once\n__device__ inline float both(float x) {\n"
    "  return x + __shfl_xor_sync(0xffffffff, x, 1);\n}\n",
    "csrc/scale_cuda.cu": """#include <cuda.h>
#include <cuda_runtime.h>
#include <ATen/cuda/CUDAContext.h>
#include "scale.h"
#include "lanes.cuh"
__global__ void twice(float *x, int n) {
  if (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n) x[i] = both(x[i]);
}
void scale(torch::Tensor t) {
  cudaStream_t stream = at::cuda::getCurrentCUDAStream();
  twice<<<(t.size + 255) / 256, 256, 0, stream>>>(t.data, t.size);
}
""",
}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        path = tmp_path / "project" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path / "project"


@pytest.fixture
def pip_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KPT_TOOLCHAIN", "zig")
    monkeypatch.setenv("KPT_HEADERS", "triton")
    try:
        find_toolchain()
    except ToolchainNotFoundError as error:
        pytest.skip(str(error))


@pytest.fixture
def with_stand_in(pip_only: None, stand_in_torch: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The stand-in is the torch that is installed; what is made of its headers is kept in a folder of the test."""
    for module in (torch_extension, level):
        monkeypatch.setattr(module, "installed_torch", lambda: torch_headers.torch_at(stand_in_torch))
    monkeypatch.setenv("KPT_CACHE_DIR", str(tmp_path / "cache"))
    return stand_in_torch


def statuses(checks: tuple[CheckResult, ...]) -> dict[str, str]:
    return {check.check: check.status.value for check in checks}


def test_every_source_is_built_for_device_and_host(project: Path, with_stand_in: Path) -> None:
    result, kernels = build_level(project, ["gfx942"])
    assert statuses(result.checks) == {
        "csrc/scale_cuda.cu for gfx942": "pass",
        "csrc/scale_cuda.cu for the host": "pass",
        "csrc/ext.cpp for the host": "pass",
    }, result.checks
    assert [(one.source, one.target, one.resources.symbol) for one in kernels] == [
        ("csrc/scale_cuda.cu", "gfx942", "_Z5twicePfi")
    ]
    assert {path.relative_to(project).as_posix() for path in project.rglob("*") if path.is_file()} == set(FILES)


def test_errors_are_on_the_users_lines(project: Path, with_stand_in: Path) -> None:
    header, cpp = project / "csrc/lanes.cuh", project / "csrc/ext.cpp"
    header.write_text(header.read_text().replace("return x +", "return missing +"))
    cpp.write_text(cpp.read_text().replace("scale(t);", "scale(absent);"))
    said = {check.check: check for check in build_level(project, ["gfx942"])[0].checks}
    assert "csrc/lanes.cuh:3:10: error: use of undeclared identifier 'missing'" in (
        said["csrc/scale_cuda.cu for gfx942"].detail
    )
    assert "csrc/ext.cpp:2:" in said["csrc/ext.cpp for the host"].detail
    assert all(check.status is Status.FAIL for check in said.values())


def test_a_header_that_is_not_here_is_not_a_fault_of_the_port(project: Path, with_stand_in: Path) -> None:
    context = with_stand_in / "include/ATen/cuda/CUDAContext.h"
    context.write_text("#include <hipcub/hipcub.hpp>\n" + context.read_text())
    (project / "csrc/ext.cpp").write_text("#include <pybind11/pybind11.h>\n")
    said = {check.check: check for check in build_level(project, ["gfx942"])[0].checks}
    assert all(check.status is Status.NOT_RUN for check in said.values())
    assert "torch's headers include <hipcub/hipcub.hpp>" in said["csrc/scale_cuda.cu for gfx942"].detail
    assert "csrc/ext.cpp:1 includes pybind11/pybind11.h" in said["csrc/ext.cpp for the host"].detail


@pytest.mark.skipif(shutil.which("g++") is None, reason="asks for g++")
def test_what_gcc_takes_of_the_hosts_sources_is_no_fault(
    project: Path, with_stand_in: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CXX", "g++")
    source, binding = project / "csrc/queue.cpp", project / "csrc/ext.cpp"
    gnu = '#include "scale.h"\nint first(int n) { int seen[n] = {0}; return seen[0]; }\n'
    source.write_text(gnu)
    binding.write_text(f"{gnu}int second() {{ return absent; }}\n")
    said = {check.check: check for check in build_level(project, ["gfx942"])[0].checks}
    taken, refused = said["csrc/queue.cpp for the host"], said["csrc/ext.cpp for the host"]
    assert taken.status is Status.PASS and "(clang refuses it)" in taken.detail
    assert refused.status is Status.FAIL and "absent" in refused.detail


def test_a_folder_that_is_named_is_searched(project: Path, with_stand_in: Path, tmp_path: Path) -> None:
    (project / "csrc/ext.cpp").write_text('#include "scale.h"\n#include <table/map.h>\nint size = table_size;\n')
    (tmp_path / "library/table").mkdir(parents=True)
    (tmp_path / "library/table/map.h").write_text("const int table_size = 3;\n")
    recorded = RecordedUnit("csrc/ext.cpp", project, CompileOptions(extra=("-x", "c++")))
    for units in ((), (recorded,)):  # sources as they are found, and as the project's own build names them
        tried = partial(
            try_ported, discover(project), (), find_toolchain(), "gfx942", layout="torch-extension", every=True,
            recorded=units,
        )  # fmt: skip
        without = {one.path: one.check for one in tried()}["csrc/ext.cpp"]
        found = {one.path: one.check for one in tried(include_dirs=[tmp_path / "library"])}["csrc/ext.cpp"]
        assert without.status is Status.NOT_RUN and "-I DIR" in without.detail
        assert found.status is Status.PASS, found


def test_without_torch_it_says_so_and_the_rest_is_built(
    project: Path, pip_only: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    (project / "csrc/plain.cu").write_text("__global__ void zero(float *x) { *x = 0; }\n")
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "torch" else find(name))
    result, kernels = build_level(project, ["gfx942"])
    assert statuses(result.checks) == {
        "csrc/plain.cu for gfx942": "pass",
        "csrc/scale_cuda.cu for gfx942": "not_run",
        "csrc/scale_cuda.cu for the host": "not_run",
        "csrc/ext.cpp for the host": "not_run",
    }
    assert "torch is not installed: pip install torch" in result.checks[1].detail
    assert result.status is Status.WARN and [one.source for one in kernels] == ["csrc/plain.cu"]


def test_a_port_in_the_torch_extension_layout_is_built(project: Path, with_stand_in: Path) -> None:
    found = discover(project)
    assert choose_layout(found) == "torch-extension"
    patches = port_project(found, PortOptions("torch-extension"), workers=1).patches
    # The .cu itself needs nothing beyond torch's renaming: it is built because a header of it was ported.
    assert [patch.path for patch in patches if patch.path.startswith("csrc")] == ["csrc/lanes.cuh"]
    checks = build_ported(found, patches, find_toolchain(), "gfx942", layout="torch-extension")
    assert statuses(checks) == {"build csrc/scale_cuda.cu for gfx942": "pass"}, checks
    header = next(patch for patch in patches if patch.path == "csrc/lanes.cuh")
    broken = replace(header, after=header.after + b"int x = cudaNothing;\n")
    checks = build_ported(found, [broken], find_toolchain(), "gfx942", layout="torch-extension")
    line = len(header.after.splitlines()) + 1
    assert f"csrc/lanes.cuh:{line}:9: error: use of undeclared identifier" in checks[0].detail


def test_an_include_that_torch_overlooks(project: Path, with_stand_in: Path, tmp_path: Path) -> None:
    """torch's renaming reads `#include <`: another spelling leads to the CUDA header, and KP274 writes it so."""
    source = project / "csrc/scale_cuda.cu"
    source.write_text(source.read_text().replace("#include <ATen", "#    include <ATen"))
    shutil.copytree(project, tmp_path / "as_it_is")
    tree = torch_extension.renamed_extension(tmp_path / "as_it_is", project)
    with pytest.raises(CompileFailed) as caught:
        tree.build_device("csrc/scale_cuda.cu", "gfx942", find_toolchain())
    status, said = tree.outcome("csrc/scale_cuda.cu", caught.value, find_toolchain())
    assert status is Status.FAIL and said.startswith("csrc/scale_cuda.cu:3 leads to <cuda_runtime.h>"), said
    assert {check.status for check in build_level(project, ["gfx942"])[0].checks} == {Status.PASS}


def test_a_header_is_found_where_the_project_keeps_it(project: Path, with_stand_in: Path) -> None:
    """Its build names the folder; nothing else does."""
    (project / "csrc/inner").mkdir()
    (project / "csrc/lanes.cuh").rename(project / "csrc/inner/lanes.cuh")
    (project / "csrc/third_party/vectors/vectors").mkdir(parents=True)
    (project / "csrc/third_party/vectors/vectors/all.hpp").write_text("#pragma once\nstruct vec3 { float x; };\n")
    source = project / "csrc/scale_cuda.cu"
    source.write_text("#include <vectors/all.hpp>\n" + source.read_text())
    assert {check.status for check in build_level(project, ["gfx942"])[0].checks} == {Status.PASS}
    found = discover(project)
    patches = port_project(found, PortOptions("torch-extension"), workers=1).patches
    checks = build_ported(found, patches, find_toolchain(), "gfx942", layout="torch-extension")
    assert statuses(checks) == {"build csrc/scale_cuda.cu for gfx942": "pass"}, checks


@pytest.mark.slow
@pytest.mark.rocm_headers
def test_against_the_real_torch(project: Path) -> None:
    try:
        torch_headers.installed_torch()
        if find_toolchain().headers == "triton":
            pytest.skip("the headers of ROCm's libraries are needed (make rocm-debian)")
    except (torch_headers.TorchHeadersError, ToolchainNotFoundError) as error:
        pytest.skip(str(error))
    kernel, cpp = project / "csrc/scale_cuda.cu", project / "csrc/ext.cpp"
    text = kernel.read_text().replace("t.data,", "t.data_ptr<float>(),").replace("t.size", "int(t.numel())")
    kernel.write_text(text)
    cpp.write_text('#include "scale.h"\nPYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("scale", &scale); }\n')
    cpp.write_text("#define TORCH_EXTENSION_NAME scale_extension\n" + cpp.read_text())
    result, kernels = build_level(project, ["gfx942"])
    assert result.status is Status.PASS, result.checks
    assert len(result.checks) == 3 and [one.resources.symbol for one in kernels] == ["_Z5twicePfi"]
