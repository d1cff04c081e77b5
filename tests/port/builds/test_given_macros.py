"""A source that lacks a macro of the project's own build was not built."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernel_pytorch.core.findings import CheckResult, Status
from kernel_pytorch.port.builds.given_macros import GivenMacros, unless_a_macro_is_missing

FAILED = "a.cu:3:7: error: use of undeclared identifier '{}'; a.cu:4:7: error: no member named 'x' in 'y'"


def test_macros_are_found_with_their_places(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text('size = 4\nload("a", ["a.cu"], extra_cuda_cflags=[f"-DN={size}", "-D M"])\n')
    (tmp_path / "Makefile").write_text("FLAGS = -DN=1\n")
    (tmp_path / "a.cu").write_text("// -DNOT_A_BUILD_FILE\n")
    macros = GivenMacros(tmp_path, ["train.py", "Makefile", "a.cu", "gone.py"])
    assert macros.places == {"N": "train.py:2", "M": "train.py:2"}


@pytest.mark.parametrize(("name", "status"), [("N", Status.NOT_RUN), ("other", Status.FAIL)])
def test_only_the_lack_of_such_a_macro_excuses_a_failure(tmp_path: Path, name: str, status: Status) -> None:
    (tmp_path / "train.py").write_text('\nflags = ["-DN=4"]\nmore = ["-Dy"]\n')
    failed = CheckResult("build a.cu", Status.FAIL, FAILED.format(name))
    check = unless_a_macro_is_missing(failed, GivenMacros(tmp_path, ["train.py"]))
    assert check.status is status
    assert ("train.py:2" in check.detail) is (status is Status.NOT_RUN)


def test_a_name_that_a_branch_on_such_a_macro_would_define(tmp_path: Path) -> None:
    """`#if N == 2 / using point = float2; / #else / #pragma message(...)`: the first error names what N decides."""
    (tmp_path / "CMakeLists.txt").write_text("target_compile_definitions(a PRIVATE -DN=${size})\n")
    (tmp_path / "a.cu").write_text("#if N == 2\nusing point = float2;\n#endif\npoint p;\n")
    failed = CheckResult("build a.cu", Status.FAIL, "a.cu:4:1: error: unknown type name 'point'")
    check = unless_a_macro_is_missing(failed, GivenMacros(tmp_path, ["CMakeLists.txt", "a.cu"]))
    assert check.status is Status.NOT_RUN and "needs the macro N, which CMakeLists.txt:1 gives" in check.detail


def test_a_member_of_a_namespace_can_be_such_a_macro(tmp_path: Path) -> None:
    (tmp_path / "CMakeLists.txt").write_text("add_definitions(-DBUILDER=fast)\n")
    failed = CheckResult("build a.cu", Status.FAIL, "a.cu:3:7: error: no member named 'BUILDER' in namespace 'trees'")
    macros = GivenMacros(tmp_path, ["CMakeLists.txt"])
    assert unless_a_macro_is_missing(failed, macros).status is Status.NOT_RUN


def test_the_switches_of_the_projects_own_amd_build(tmp_path: Path) -> None:
    """What `port` takes for true in conditions is what its builds define."""
    text = "add_definitions(-DLIB_USE_HIP -DN=4)\nadd_compile_definitions(-DUSE_ROCM -DWITH_CUDA)\n"
    (tmp_path / "CMakeLists.txt").write_text(text)
    assert GivenMacros(tmp_path, ["CMakeLists.txt"]).switches == ("LIB_USE_HIP",)


def test_the_definitions_of_cmake_that_have_no_minus_d(tmp_path: Path) -> None:
    text = "target_compile_definitions(lib\n  PRIVATE TARGET_ARCH=90 FAST\n  PUBLIC $<$<CONFIG:Debug>:CHECKED>)\n"
    (tmp_path / "CMakeLists.txt").write_text(text + "add_compile_definitions(ROWS=4)\n")
    macros = GivenMacros(tmp_path, ["CMakeLists.txt"])
    assert macros.places == {
        "TARGET_ARCH": "CMakeLists.txt:2",
        "FAST": "CMakeLists.txt:2",
        "ROWS": "CMakeLists.txt:4",
    }
    detail = "a.cu:9:9: error: use of undeclared identifier 'sm_TARGET_ARCH'"  # sm_##TARGET_ARCH
    check = unless_a_macro_is_missing(CheckResult("build a.cu", Status.FAIL, detail), macros)
    assert check.status is Status.NOT_RUN and "TARGET_ARCH, which CMakeLists.txt:2 gives" in check.detail
