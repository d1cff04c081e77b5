"""Sources are built with the macros and folders that the project's Makefile, or its CMake, gives them."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from kernel_pytorch.core.project_code import project_code_forbidden
from kernel_pytorch.jobs.port import port
from kernel_pytorch.toolchain.find import ToolchainNotFoundError, find_toolchain
from kernel_pytorch.verify.build_level import build_level
from kernel_pytorch.verify.install.make_run import make_units

pytestmark = pytest.mark.skipif(shutil.which("make") is None, reason="make is needed")

MAKEFILE = """\
GPU=0
NVCC=nvcc
COMMON=-Iheaders
ifeq ($(GPU), 1)
COMMON+= -DGPU -I/usr/local/cuda/include/
OBJ=twice.o
endif
all: $(OBJ)
%.o: %.cu
\t$(NVCC) $(COMMON) --compiler-options "-Wall -DBLOCK=128" -c $< -o $@
"""
# Without the macros nothing of the header is declared.
HEADER = """\
#ifdef GPU
void check(cudaError_t status);
#endif
"""
SOURCE = """\
#include <cuda_runtime.h>
#include "own.h"
__global__ void twice(float *x) { x[threadIdx.x] *= 2; }
void run(float *x) {
    twice<<<1, BLOCK>>>(x);
    check(cudaPeekAtLastError());
}
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    (root / "headers").mkdir(parents=True)
    (root / "Makefile").write_text(MAKEFILE)
    (root / "headers/own.h").write_text(HEADER)
    (root / "twice.cu").write_text(SOURCE)
    return root


def test_the_gpu_is_switched_on_where_the_makefile_leaves_it_off(project: Path, tmp_path: Path) -> None:
    (unit,) = make_units(project, ("Makefile", "headers/own.h", "twice.cu"), tmp_path)
    assert unit.path == "twice.cu"
    assert unit.options.defines == ("GPU", "BLOCK=128")
    # Folders of CUDA's are not the project's.
    assert unit.moved(project, project).include_dirs == (project / "headers",)
    assert not list(project.glob("*.o"))


def test_nothing_is_asked_where_the_projects_code_must_not_run(project: Path, tmp_path: Path) -> None:
    (project / "Makefile").write_text(f"X := $(shell touch {tmp_path}/fired)\n{MAKEFILE}")
    with project_code_forbidden():
        assert make_units(project, ("Makefile", "twice.cu"), tmp_path) == ()
    assert not (tmp_path / "fired").exists()
    assert make_units(project, ("Makefile", "twice.cu"), tmp_path)
    assert (tmp_path / "fired").exists()


def test_a_makefile_that_make_refuses_says_nothing(project: Path, tmp_path: Path) -> None:
    (project / "Makefile").write_text(f"{MAKEFILE}\n$(error run ./configure first)\n")
    assert make_units(project, ("Makefile", "twice.cu"), tmp_path) == ()


def test_port_and_verify_build_with_them(project: Path) -> None:
    try:
        find_toolchain()
    except ToolchainNotFoundError as error:
        pytest.skip(str(error))
    result = port(project)
    assert [check.status.value for check in result.checks] == ["pass"], result.checks
    result.write()
    level, _ = build_level(project, ("gfx942",))
    assert [check.status.value for check in level.checks] == ["pass"], level.checks


CMAKE = """\
cmake_minimum_required(VERSION 3.21)
project(p LANGUAGES CXX CUDA)
add_library(ops STATIC twice.cu)
target_compile_definitions(ops PRIVATE GPU BLOCK=64)
target_include_directories(ops PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/headers)
set_target_properties(ops PROPERTIES CUDA_STANDARD 20)
"""


@pytest.mark.skipif(shutil.which("cmake") is None, reason="needs cmake")
def test_a_cmake_project_is_built_with_what_cmake_gives(project: Path) -> None:
    try:
        find_toolchain()
    except ToolchainNotFoundError as error:
        pytest.skip(str(error))
    (project / "Makefile").unlink()
    (project / "CMakeLists.txt").write_text(CMAKE)
    result = port(project)
    assert [check.status.value for check in result.checks] == ["pass"], result.checks
    assert not result.refused
