"""The file that stands for CMake's old FindCUDA module: where it lies, and what a real cmake makes of its flags."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from kernel_pytorch.core.findings import Patch
from kernel_pytorch.port.build_files.findcuda import INCLUDE, MODULE, findcuda_module, findcuda_patches
from kernel_pytorch.port.discover import discover
from kernel_pytorch.port.project import PortOptions, port_project

TOP = "cmake_minimum_required(VERSION 3.12)\nproject(toy CXX)\ninclude(parts/gpu.cmake)\nadd_subdirectory(lib)\n"
GPU = "find_package(CUDA 9.0 REQUIRED)\nfunction(again)\n  find_package(CUDA REQUIRED)\nendfunction()\n"
LIB = "cuda_add_library(lib a.cu)\ntarget_link_libraries(lib ${CUDA_CUBLAS_LIBRARIES})\n"


def written(root: Path, layout: str = "single-source") -> dict[str, str]:
    for name, text in {"CMakeLists.txt": TOP, "parts/gpu.cmake": GPU, "lib/CMakeLists.txt": LIB}.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    (root / "lib/a.cu").write_text("__global__ void k() {}\n")
    result = port_project(discover(root), PortOptions(layout), 1)
    return {patch.path: patch.after.decode() for patch in result.patches}


def test_one_gate_and_one_file(tmp_path: Path) -> None:
    done = written(tmp_path)
    assert "lib/CMakeLists.txt" not in done and "CMakeLists.txt" not in done
    include = f'include("${{CMAKE_CURRENT_LIST_DIR}}/../{MODULE}")'
    assert f"if(USE_HIP)\n  {include}\nelse()\nfind_package(CUDA 9.0" in done["parts/gpu.cmake"]
    # A language cannot be enabled inside a function: there the search is only left out.
    assert "  if(NOT USE_HIP)\n  find_package(CUDA REQUIRED)\n  endif()\n" in done["parts/gpu.cmake"]
    assert done["parts/gpu.cmake"].count("option(USE_HIP") == 1
    assert "roc::hipblas" in done[MODULE]
    assert "hipfft QUIET" not in done[MODULE]


def test_a_second_run_changes_nothing(tmp_path: Path) -> None:
    for path, text in written(tmp_path).items():
        (tmp_path / path).write_text(text)
    again = port_project(discover(tmp_path), PortOptions(), 1)
    assert [patch.path for patch in again.patches] == []


def test_it_lies_in_the_folder_named_cmake(tmp_path: Path) -> None:
    (tmp_path / "cmake").mkdir()
    patches = [Patch("cmake/gpu.cmake", b"", INCLUDE.encode()), Patch("src/CMakeLists.txt", b"", INCLUDE.encode())]
    done = {patch.path: patch.after.decode() for patch in findcuda_patches(tmp_path, patches, True, ())}
    assert done["cmake/gpu.cmake"] == INCLUDE
    assert done["src/CMakeLists.txt"] == f'include("${{CMAKE_CURRENT_LIST_DIR}}/../cmake/{MODULE}")'
    assert f"cmake/{MODULE}" in done


def test_the_copy_layout_builds_the_twins() -> None:
    assert '".hip")' in findcuda_module(True, "")
    assert "LANGUAGE HIP" in findcuda_module(False, "")


def test_targets_of_the_cuda_language_build_the_twins_too(tmp_path: Path) -> None:
    (tmp_path / "CMakeLists.txt").write_text("project(toy LANGUAGES CXX CUDA)\nadd_library(lib a.cu)\n")
    (tmp_path / "a.cu").write_text("__global__ void k() {}\n")
    done = {
        layout: next(
            patch.after.decode()
            for patch in port_project(discover(tmp_path), PortOptions(layout), 1).patches
            if patch.path == "CMakeLists.txt"
        )
        for layout in ("copy", "single-source")
    }
    assert 'list(TRANSFORM kpt_sources REPLACE "\\\\.cu$" ".hip")' in done["copy"]
    assert "PROPERTIES LANGUAGE HIP" in done["single-source"]


def test_warnings_as_errors_leave_out_what_cuda_does_not_warn_of() -> None:
    assert "-Wno-error=unused-result" in findcuda_module(False, 'set(CMAKE_CXX_FLAGS "-Werror")')
    assert "-Wno-error" not in findcuda_module(False, "")


@pytest.mark.parametrize(
    ("nvcc", "hip"),
    [
        ("-gencode;arch=compute_70,code=sm_70;-O3", "-O3"),
        ("-arch=sm_80 -lineinfo -std=c++14", "-gline-tables-only -std=c++17"),
        ("-Xcompiler;-fPIC,-Wall;-Xptxas;-v", "-fPIC -Wall"),
        ("--use_fast_math --expt-extended-lambda", "-ffp-contract=fast -fno-math-errno"),
        ("--default-stream;legacy;-rdc=true;-rdc=false", "-fgpu-default-stream=legacy -fgpu-rdc"),
        ("-Werror all-warnings -std=c++20 -DN=4 --keep", "-Werror -std=c++20 -DN=4 --save-temps"),
        ("--dryrun -fmad=false -Xlinker -z", "-### -ffp-contract=off -Xlinker -z"),
    ],
)
def test_flags(nvcc: str, hip: str, tmp_path: Path) -> None:
    cmake = shutil.which("cmake")
    if cmake is None:
        pytest.skip("no cmake on this machine")
    text = findcuda_module(False, "")
    part = text[text.index("# nvcc's words") : text.index("# A target whose")]
    script = tmp_path / "flags.cmake"
    show = f'_kpt_hip_flags(found {nvcc})\nstring(JOIN " " line ${{found}})\nmessage("${{line}}")\n'
    script.write_text(f"cmake_policy(VERSION 3.12)\n{part}{show}")
    run = subprocess.run([cmake, "-P", str(script)], capture_output=True, text=True, check=True)
    assert run.stderr.strip() == hip
