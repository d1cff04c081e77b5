"""Sources that CMake compiles in a project whose extensions torch builds: CUDA's headers for HIP, there only."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from importlib import resources
from pathlib import Path

from kernel_pytorch.core.findings import Patch
from kernel_pytorch.port.discover import discover
from kernel_pytorch.port.layouts.cuda_headers import MODULE_OF_HIPIFY
from kernel_pytorch.port.project import PortOptions, choose_layout, port_project
from kernel_pytorch.toolchain.compile import CompileOptions, check_unit
from kernel_pytorch.toolchain.find import find_toolchain
from kernel_pytorch.verify.isolation import compare_file

SETUP = """\
from setuptools import setup
from torch.utils.cpp_extension import BuildExtension, CUDAExtension

setup(ext_modules=[CUDAExtension("p", ["k.cu"])], cmdclass={"build_ext": BuildExtension})
"""
CMAKE = "cmake_minimum_required(VERSION 3.21)\nproject(lib LANGUAGES CXX CUDA)\nadd_library(lib lib.cu)\n"
SOURCE = """\
#include <cuda_runtime.h>

__global__ void k(int* p) { *p = __ldg(p + 1); }

int run(int* p, cudaStream_t stream) {
    k<<<1, 1, 0, stream>>>(p);
    return cudaGetLastError() == cudaSuccess ? 0 : 1;
}
"""


def _project(root: Path, cmake: str = CMAKE) -> Path:
    (root / "python").mkdir(parents=True)
    (root / "lib").mkdir()
    (root / "python/setup.py").write_text(SETUP)
    (root / "python/k.cu").write_text(SOURCE)
    (root / "lib/CMakeLists.txt").write_text(cmake)
    (root / "lib/lib.cu").write_text(SOURCE)
    return root


def _ported(root: Path) -> dict[str, Patch]:
    project = discover(root)
    assert choose_layout(project) == "torch-extension"
    done = port_project(project, PortOptions("torch-extension"), workers=1)
    return {patch.path: patch for patch in done.patches}


def test_the_source_compiles_as_it_is(tmp_path: Path) -> None:
    root = _project(tmp_path)
    patches = _ported(root)
    assert "lib/lib.cu" not in patches
    for path, patch in patches.items():
        verdict = compare_file(path, patch.before or b"", patch.after) if patch.before is not None else None
        assert verdict is None or verdict.is_proven, path
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(patch.after)
    cmake = (root / "lib/CMakeLists.txt").read_text()
    assert 'include_directories(BEFORE "${CMAKE_CURRENT_LIST_DIR}/kpt_cuda_headers")' in cmake
    assert "SHELL:-include kpt_cuda_names.h>" in cmake
    options = CompileOptions(include_dirs=(root / "lib/kpt_cuda_headers",), extra=("-include", "kpt_cuda_names.h"))
    assert check_unit(root / "lib/lib.cu", "gfx942", find_toolchain(), options)
    assert not _ported(root), "a second port changes nothing"


def test_where_cmake_finds_torch_its_hipify_renames_the_sources(tmp_path: Path) -> None:
    root = _project(tmp_path, CMAKE + "find_package(Torch REQUIRED)\n")
    patches = _ported(root)
    assert not [path for path in patches if "kpt_cuda" in path]
    assert b"kpt_hipify_target(${kpt_target})" in patches["lib/CMakeLists.txt"].after
    assert b"hipify_python.hipify(" in patches["lib/kpt_hipify_sources.cmake"].after
    # What hipify leaves alone keeps its name, which says nothing to CMake's HIP language.
    assert b"PROPERTIES LANGUAGE HIP" in patches["lib/kpt_hipify_sources.cmake"].after
    for path, patch in patches.items():
        (root / path).write_bytes(patch.after)
    assert not _ported(root), "a second port changes nothing"


def test_a_second_configuration_builds_the_same_sources(tmp_path: Path) -> None:
    """hipify writes beside the sources, where a glob finds it the next time."""
    (tmp_path / "ops.cpp").write_text("#include <cuda_runtime.h>\ncudaStream_t none();\n")
    (tmp_path / "ops_cuda.cu").write_text(SOURCE)
    module = resources.files("kernel_pytorch.port.tables").joinpath(MODULE_OF_HIPIFY).read_text()
    script = module.partition("[==[\n")[2].partition("]==]")[0]
    built = []
    found = importlib.util.find_spec("torch")
    assert found is not None and found.origin is not None
    for torch in (str(Path(found.origin).parent), ""):  # the torch that CMake found, or the Python's own
        sources = ";".join(sorted(path.name for path in tmp_path.glob("*.c*")))
        record = tmp_path.parent / "record.json"
        command = [sys.executable, "-c", script, str(tmp_path), str(record), "", sources, torch]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        built.append(sorted(Path(one).name for one in done.stdout.split(";")))
    assert built == [["ops_hip.cpp", "ops_hip.hip"]] * 2


def test_a_cmake_project_without_cuda_gets_nothing(tmp_path: Path) -> None:
    assert not [
        path
        for path in _ported(_project(tmp_path, CMAKE.replace(" CUDA", "").replace(".cu", ".cpp")))
        if path.startswith("lib/")
    ]
