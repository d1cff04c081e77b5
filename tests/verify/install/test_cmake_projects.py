"""CMake projects configured with a stood-in CUDA and ROCm: what is built, what is lost, what stops."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from kernel_pytorch.core.findings import Status
from kernel_pytorch.verify.install.cmake_record import configure_failure
from kernel_pytorch.verify.install.cmake_run import configure_on_both
from kernel_pytorch.verify.install.record import InstallTrial, SourceLine
from kernel_pytorch.verify.install.run import InstallRequest
from kernel_pytorch.verify.install_level import cmake_files, judged_trial, other_backends

needs_cmake = pytest.mark.skipif(shutil.which("cmake") is None, reason="needs cmake")
HEAD = "cmake_minimum_required(VERSION 3.21)\nproject(p LANGUAGES CXX {language})\n"
PORTED = """\
cmake_minimum_required(VERSION 3.21)
option(USE_HIP "Build for AMD GPUs with HIP" OFF)
if(USE_HIP)
  project(p LANGUAGES CXX HIP)
else()
  project(p LANGUAGES CXX CUDA)
endif()
find_package(Nothing REQUIRED)
add_library(ops STATIC bind.cpp k.cu)
target_link_libraries(ops Nothing::core)
target_compile_definitions(ops PRIVATE MINE=1)
target_include_directories(ops PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/inc)
if(USE_HIP)
  find_package(hip REQUIRED)
  target_link_libraries(ops hip::host)
  set_source_files_properties(k.cu PROPERTIES LANGUAGE HIP)
endif()
"""
NOT_PORTED = HEAD.format(language="CUDA") + "add_library(ops STATIC bind.cpp k.cu)\n"
DROPPED = """\
cmake_minimum_required(VERSION 3.21)
project(p LANGUAGES CXX)
find_package(CUDAToolkit)
add_library(ops STATIC bind.cpp)
if(CUDAToolkit_FOUND)
  enable_language(CUDA)
  target_sources(ops PRIVATE k.cu)
endif()
"""


def _trial(root: Path, text: str, scratch: Path) -> InstallTrial:
    root.mkdir()
    (root / "CMakeLists.txt").write_text(text)
    (root / "k.cu").write_text("__global__ void k() {}\n")
    (root / "bind.cpp").write_text("int bound;\n")
    scratch.mkdir()
    request = InstallRequest(root, ("CMakeLists.txt", "k.cu", "bind.cpp"), ".", {}, "CMakeLists.txt")
    return configure_on_both(request, "mi300x", scratch)


@needs_cmake
def test_a_ported_project_configures_with_the_hip_language(tmp_path: Path) -> None:
    trial = _trial(tmp_path / "p", PORTED, tmp_path / "scratch")
    checks, findings = judged_trial(trial, tmp_path)
    assert (checks[0].status, findings) == (Status.PASS, ()), checks
    assert checks[0].detail == "1 target, 2 sources, 1 for the GPU, as on CUDA"
    (gpu,) = [command for command in trial.rocm.compiles if command.is_gpu]
    assert (gpu.compiler, gpu.source) == ("hipcc", "k.cu")
    assert "-DMINE=1" in gpu.words and "--offload-arch=gfx942" in gpu.words
    assert f"-I{trial.tree}/inc" in gpu.words
    (other,) = [command for command in trial.cuda.compiles if command.is_gpu]
    assert other.compiler == "nvcc"


@needs_cmake
@pytest.mark.parametrize(
    ("text", "code", "line", "says"),
    [
        (NOT_PORTED, "KP810", 2, "the install stops on ROCm: "),
        (DROPPED, "KP812", 5, "ops has 1 GPU source on CUDA and 0 on ROCm: this condition holds on one of them only"),
    ],
    ids=["stops", "drops"],
)
def test_a_fault_is_a_finding_at_its_line(tmp_path: Path, text: str, code: str, line: int, says: str) -> None:
    trial = _trial(tmp_path / "p", text, tmp_path / "scratch")
    _, findings = judged_trial(trial, tmp_path)
    assert [(one.code, one.path, one.line) for one in findings] == [(code, "CMakeLists.txt", line)]
    assert says in findings[0].message


def test_cmakes_words_and_the_projects_lines(tmp_path: Path) -> None:
    stderr = (
        "CMake Error at /usr/share/cmake/Modules/FindPackageHandleStandardArgs.cmake:230 (message):\n"
        "  Could NOT find CUDA (missing: CUDA_NVCC_EXECUTABLE)\n"
        "Call Stack (most recent call first):\n"
        "  /usr/share/cmake/Modules/FindCUDA.cmake:1266 (find_package_handle_standard_args)\n"
        "  cmake/gpu.cmake:3 (find_package)\n"
        "  CMakeLists.txt:7 (include)\n\n\n"
        "-- Configuring incomplete, errors occurred!\n"
    )
    failure = configure_failure(stderr, tmp_path, tmp_path)
    assert failure.error == "message: Could NOT find CUDA (missing: CUDA_NVCC_EXECUTABLE)"
    assert failure.stack == (SourceLine("CMakeLists.txt", 7), SourceLine("cmake/gpu.cmake", 3))


def test_an_error_without_a_place_is_said_and_no_warning_before_it(tmp_path: Path) -> None:
    stderr = (
        "CMake Warning at /usr/share/Torch/TorchConfig.cmake:22 (message):\n  library kineto not found.\n\n\n"
        'CMake Error: Cannot determine link language for target "t".\n'
        "CMake Generate step failed.  Build files cannot be regenerated correctly.\n"
    )
    assert configure_failure(stderr, tmp_path, tmp_path).error.startswith("CMake Error: Cannot determine link language")


def test_which_files_begin_a_project_with_gpu_code(tmp_path: Path) -> None:
    texts = {
        "CMakeLists.txt": "project(top LANGUAGES CXX)\nadd_subdirectory(gpu)\n",
        "gpu/CMakeLists.txt": "project(gpu LANGUAGES CUDA)\n",
        "plain/other.cmake": "set(X 1)\n",
        "third_party/a/CMakeLists.txt": "project(a LANGUAGES CUDA)\n",
    }
    for path, text in texts.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    assert cmake_files(tmp_path, tuple(texts)) == ("CMakeLists.txt",)
    (tmp_path / "CMakeLists.txt").write_text("message(nothing)\n")
    assert cmake_files(tmp_path, tuple(texts)) == ("gpu/CMakeLists.txt",)
    # CMake makes up the project where no file has one.
    (tmp_path / "gpu/CMakeLists.txt").write_text("cuda_add_library(k k.cu)\n")
    assert cmake_files(tmp_path, tuple(texts)) == ("CMakeLists.txt",)


def test_another_build_backend_is_not_run(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[build-system]\nrequires = []\nbuild-backend = "mesonpy"\n')
    assert other_backends(tmp_path, ("pyproject.toml",)) == ()
    (check,) = other_backends(tmp_path, ("pyproject.toml", "k.cu"))
    assert check.status is Status.NOT_RUN and "mesonpy" in check.detail


CHOICE = """\
cmake_minimum_required(VERSION 3.21)
project(p LANGUAGES CXX)
set(BACKEND "cuda" CACHE STRING "The GPU's vendor")
set_property(CACHE BACKEND PROPERTY STRINGS "cuda;hip")
add_library(ops STATIC bind.cpp k.cu)
if(BACKEND STREQUAL "cuda")
  enable_language(CUDA)
else()
  enable_language(HIP)
  set_source_files_properties(k.cu PROPERTIES LANGUAGE HIP)
endif()
"""


@needs_cmake
def test_a_choice_of_vendors_is_made(tmp_path: Path) -> None:
    """A project may have one variable with a vendor's name in place of a switch for each."""
    trial = _trial(tmp_path / "p", CHOICE, tmp_path / "s")
    assert [record.failure for record in (trial.cuda, trial.rocm)] == [None, None]
    assert [len(record.compiles) for record in (trial.cuda, trial.rocm)] == [2, 2]
