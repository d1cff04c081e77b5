"""The macro by which sources choose their own AMD branch is defined in the build for AMD that a port writes."""

from __future__ import annotations

from pathlib import Path

from kernel_pytorch.core.findings import Patch
from kernel_pytorch.port.build_files.cmake import PLATFORM
from kernel_pytorch.port.build_files.own_switches import is_build_for_amd, switch_macros, with_switches
from kernel_pytorch.port.discover import discover
from kernel_pytorch.port.project import PortOptions, port_project

SOURCE = (
    "#ifdef USE_HIP\n#include <hip/hip_runtime.h>\n#else\n#include <cuda_runtime.h>\n#endif\n__global__ void k() {}\n"
)
CMAKE = "cmake_minimum_required(VERSION 3.21)\nproject(p LANGUAGES CXX CUDA)\nadd_executable(p main.cu)\n"


def test_the_switch_is_defined_for_amd_alone(tmp_path: Path) -> None:
    (tmp_path / "main.cu").write_text(SOURCE)
    (tmp_path / "CMakeLists.txt").write_text(CMAKE)
    (patch,) = (one for one in port_project(discover(tmp_path), PortOptions(), 1).patches if "CMake" in one.path)
    text = patch.after.decode()
    assert "add_compile_definitions(__HIP_PLATFORM_AMD__=1 USE_HIP=1)" in text
    assert text.index("if(USE_HIP)") < text.index("USE_HIP=1")
    (tmp_path / "CMakeLists.txt").write_text(text)
    assert not [one for one in port_project(discover(tmp_path), PortOptions(), 1).patches if "CMake" in one.path]


def test_a_switch_that_cmake_defines_and_gates_of_ours_ask_for_nothing(tmp_path: Path) -> None:
    gate = "#if defined(USE_ROCM) || defined(__HIP_PLATFORM_AMD__)\n#endif\n"
    (tmp_path / "a.cu").write_text(f"{gate}#if defined(FOO_WITH_HIP)\n#endif\n")
    (tmp_path / "CMakeLists.txt").write_text("add_definitions(-DFOO_WITH_HIP)\n")
    assert switch_macros(tmp_path, ["a.cu"], ["CMakeLists.txt"]) == ()
    assert switch_macros(tmp_path, ["a.cu"], []) == ("FOO_WITH_HIP",)
    (tmp_path / "config.h").write_text("#if HIP_VERSION > 0\n#define FOO_WITH_HIP\n#endif\n")
    assert switch_macros(tmp_path, ["a.cu", "config.h"], []) == ()


def test_a_makefiles_twin_gets_the_flag() -> None:
    twin = Patch("src/Makefile.hip", None, b"\t$(HIPCC) --offload-arch=$(HIP_ARCH) -c a.cu\n")
    cmake = Patch("CMakeLists.txt", b"", PLATFORM.encode())
    other = Patch("a.cu", b"", PLATFORM.encode())
    assert [is_build_for_amd(one) for one in (twin, cmake, other)] == [True, True, False]
    made, defined, left = with_switches([twin, cmake, other], ["USE_HIP"])
    assert b"--offload-arch=$(HIP_ARCH) -DUSE_HIP=1 -c" in made.after
    assert defined.after == b"add_compile_definitions(__HIP_PLATFORM_AMD__=1 USE_HIP=1)" and left == other
    assert with_switches([twin], []) == [twin]
