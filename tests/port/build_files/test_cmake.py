"""CMake files: parsing, and a real cmake that configures the same project before and after, with USE_HIP off."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from kernel_pytorch.port.build_files.cmake_text import commands, is_gated, knows_hip
from kernel_pytorch.port.edits import EditSet
from kernel_pytorch.port.rules import all_rules
from kernel_pytorch.port.source import SourceFile

# CUDA only where it is asked for, so that a machine without nvcc configures it.
PROJECT = r"""cmake_minimum_required(VERSION 3.21)
if(WITH_CUDA)
  project(toy LANGUAGES CXX CUDA)
else()
  project(toy LANGUAGES CXX)
endif()
set(CMAKE_CUDA_STANDARD 17)  # for the kernels
add_library(parts STATIC host.cpp)
target_compile_options(parts PRIVATE
  $<$<COMPILE_LANGUAGE:CUDA>:--use_fast_math -lineinfo> $<$<COMPILE_LANGUAGE:CXX>:-Wall>)
if(WITH_CUDA)
  enable_language(CUDA)
  find_package(CUDAToolkit REQUIRED)
  target_sources(parts PRIVATE kernel.cu)
  target_link_libraries(parts PUBLIC CUDA::cudart CUDA::cublas)
  set_target_properties(parts PROPERTIES CUDA_SEPARABLE_COMPILATION ON)
  target_compile_features(parts PUBLIC cuda_std_17)
endif()
add_executable(tool main.cpp)
target_link_libraries(tool PRIVATE parts)
"""


def ported(text: str) -> str:
    """The file with what every CMake rule may apply."""
    src = SourceFile("CMakeLists.txt", text.encode(), "cmake")
    edits = EditSet()
    for loaded in all_rules():
        for finding in loaded.run(src):
            edits.add(finding.edits)
    return edits.apply(src.data).decode()


def test_commands_and_their_places() -> None:
    text = (
        'set(A "x;y" # note )\n  [[raw ) text]] ${B})\nIF(USE_HIP)\nfoo($<1:a b>)\nelse()\nbar((x) y)\nENDIF()\nbaz()'
    )
    found = commands(text)
    assert [command.name for command in found] == ["set", "if", "foo", "else", "bar", "endif", "baz"]
    assert found[0].words() == ("A", "x;y", "raw ) text", "${B}")
    assert found[2].words() == ("$<1:a", "b>")
    assert text[found[4].start : found[4].end] == "bar((x) y)"
    assert [is_gated(command) for command in found] == [False, False, True, True, True, False, False]


@pytest.mark.parametrize("text", ["", "((((", 'a("unclosed', "x(", "]]]=[[", "#[[ never closed", "\x00\xff"])
def test_broken_text_is_read(text: str) -> None:
    assert isinstance(commands(text), tuple)


def test_a_project_with_hip_support_is_left_alone() -> None:
    text = "project(x LANGUAGES CXX)\nif(ROCM)\n  enable_language(HIP)\nelse()\n  enable_language(CUDA)\nendif()\n"
    assert knows_hip(text)
    assert ported(text) == text


def test_removing_the_gates_gives_the_original() -> None:
    after = ported(PROJECT)
    assert after != PROJECT
    kept = iter(after.splitlines())
    # Every original line is still there, in order.
    assert all(any(line == candidate for candidate in kept) for line in PROJECT.splitlines())


def test_a_second_run_changes_nothing() -> None:
    once = ported(PROJECT)
    assert ported(once) == once


@pytest.fixture
def cmake() -> str:
    found = shutil.which("cmake")
    if not found or not shutil.which("make") or not shutil.which("c++"):
        pytest.skip("cmake, make and a C++ compiler are needed")
    return found


def generated(cmake: str, folder: Path, text: str) -> dict[str, str]:
    """The build files cmake writes for a project, by name."""
    build = folder / "build"
    shutil.rmtree(build, ignore_errors=True)
    (folder / "CMakeLists.txt").write_text(text)
    for name in ("host.cpp", "main.cpp"):
        (folder / name).write_text("int main() { return 0; }\n" if name == "main.cpp" else "int host() { return 0; }\n")
    command = [cmake, "-S", str(folder), "-B", str(build), "-G", "Unix Makefiles"]
    subprocess.run(command, check=True, capture_output=True, text=True)
    names = ("build.make", "flags.make", "link.txt", "cmake_clean.cmake", "Makefile")
    return {str(path.relative_to(build)): path.read_text() for path in build.rglob("*") if path.name in names}


def test_with_hip_off_cmake_writes_the_same_build(cmake: str, tmp_path: Path) -> None:
    before = generated(cmake, tmp_path, PROJECT)
    after = generated(cmake, tmp_path, ported(PROJECT))
    assert before and before == after
