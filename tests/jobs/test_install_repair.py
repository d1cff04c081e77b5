"""The install of a port is tried, and what stops it gets a gate: small projects that do what real ones do."""

from __future__ import annotations

import shutil
import textwrap
from dataclasses import dataclass
from pathlib import Path

import pytest

from kernel_pytorch.core.findings import Patch, Status
from kernel_pytorch.core.project_code import project_code_forbidden
from kernel_pytorch.jobs.install_repair import PortInstall, install_port
from kernel_pytorch.jobs.port import port
from kernel_pytorch.verify.isolation import compare_file

pytest.importorskip("torch")

KERNEL = "#include <cuda_runtime.h>\n__global__ void k(float *x) { x[threadIdx.x] *= 2.0f; }\n"
HEAD = """\
import os, subprocess, sys
import torch
from setuptools import setup
from torch.utils.cpp_extension import BuildExtension, CUDA_HOME, CppExtension, CUDAExtension
"""
END = """\
setup(name="p", ext_modules=[kind("p._C", sources)], cmdclass={"build_ext": BuildExtension})
"""

# Each stops or loses its kernels on ROCm, in words that no rule looks for.
SETUPS = {
    "a function that looks for nvcc": """\
        def toolkit():
            try:
                subprocess.call(["nvcc"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                return True
            except FileNotFoundError:
                return False

        kind, sources = CppExtension, ["csrc/bind.cpp"]
        if toolkit():
            kind, sources = CUDAExtension, [*sources, "csrc/k.cu"]
        """,
    "a flag made of the version": """\
        WITH_GPU = torch.version.cuda not in (None, "")
        kind = CUDAExtension if WITH_GPU else CppExtension
        sources = ["csrc/bind.cpp"] + (["csrc/k.cu"] if WITH_GPU else [])
        """,
    "an early exit": """\
        if "CUDA_HOME" not in os.environ:
            sys.exit("set CUDA_HOME")
        kind, sources = CUDAExtension, ["csrc/k.cu"]
        """,
    "an assertion": """\
        assert os.path.isdir(os.environ.get("CUDA_HOME", "")), "no toolkit"
        kind, sources = CUDAExtension, ["csrc/k.cu"]
        """,
    "a name that a query binds": """\
        def version_of(folder):
            said = subprocess.check_output([folder + "/bin/nvcc", "-V"], text=True)
            return said.split("release ")[1]

        version = version_of(os.environ.get("CUDA_HOME"))
        kind, sources = CUDAExtension, ["csrc/k.cu"]
        if version.startswith("9."):
            sources.append("csrc/old.cu")
        """,
    # The first gate moves all that is below it: the second condition is looked for in the text with the first gate.
    "two conditions, one after the other": """\
        from functools import partial
        WITH_GPU = torch.version.hip is None
        kind, sources = CppExtension, ["csrc/bind.cpp"]
        if WITH_GPU:
            kind = partial(CUDAExtension, define_macros=[("WITH_GPU", None)])
        if WITH_GPU:
            sources.append("csrc/k.cu")
        """,
    "CppExtension with a kernel": """\
        kind, sources = CppExtension, ["csrc/bind.cpp"]
        other = CppExtension("p._K", ["csrc/k.cu"])
        setup(name="q", ext_modules=[other], cmdclass={"build_ext": BuildExtension})
        sys.exit(0)
        """,
}
VENDOR = """\
kind, sources = CUDAExtension, ["csrc/bind.cpp"]
if torch.version.cuda is not None:  # inline PTX, not for ROCm
    sources.append("csrc/k.cu")
"""


@dataclass(frozen=True)
class Tried:
    before: bytes
    done: PortInstall

    @property
    def after(self) -> bytes:
        return next((one.after for one in self.done.patches if one.path == "setup.py"), self.before)


def _project(root: Path, text: str) -> Path:
    (root / "csrc").mkdir(parents=True)
    (root / "setup.py").write_text(HEAD + textwrap.dedent(text) + END)
    (root / "csrc/k.cu").write_text(KERNEL)
    (root / "csrc/bind.cpp").write_text("int bound;\n")
    return root


FILES = ("setup.py", "csrc/k.cu", "csrc/bind.cpp")


@pytest.fixture(scope="module")
def tried(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Tried]:
    """All in one project, a folder each: torch is imported once a round for all of them."""
    found = {}
    for name, text in (*SETUPS.items(), ("vendor", VENDOR)):
        root = _project(tmp_path_factory.mktemp("repair") / "p", text)
        found[name] = Tried((root / "setup.py").read_bytes(), install_port(root, FILES, (), "mi300x"))
    return found


@pytest.mark.slow
@pytest.mark.parametrize("name", SETUPS)
def test_the_install_is_repaired_by_what_the_run_shows(tried: dict[str, Tried], name: str) -> None:
    seen = tried[name]
    assert seen.done.level.status is Status.PASS, seen.done.level.checks
    assert b"IS_ROCM" in seen.after
    assert all(finding.edits for finding in seen.done.findings) and seen.done.findings
    assert compare_file("setup.py", seen.before, seen.after).is_proven


@pytest.mark.slow
def test_a_choice_of_vendor_by_the_author_stays(tried: dict[str, Tried]) -> None:
    seen = tried["vendor"]
    assert seen.after == seen.before
    assert [(one.code, one.line) for one in seen.done.findings] == [("KP812", 6)]
    assert seen.done.level.status is Status.NOT_RUN  # the author decided, not the port


@pytest.mark.slow
def test_port_tries_the_install_and_repairs_it_once(tmp_path: Path) -> None:
    """From the whole verb: a gate that only the run shows, and a second port that has nothing left to do."""
    root = _project(tmp_path / "p", SETUPS["an assertion"])
    result = port(root, build=True)
    assert result.install.status is Status.PASS
    patch = next(one for one in result.patches if one.path == "setup.py")
    assert b"assert IS_ROCM or os.path.isdir(" in patch.after and "KP810" in patch.codes
    ported = tmp_path / "ported"
    result.write_copy(ported)
    with project_code_forbidden():
        again = port(ported, build=True)
    assert again.patches == () and "--no-run" in again.install.needs


@pytest.mark.slow
def test_a_header_that_hipify_does_not_find_is_included_by_its_path(tmp_path: Path) -> None:
    flags = '{"nvcc": ["-I" + os.path.join(os.path.dirname(os.path.abspath(__file__)), "csrc/include")]}'
    (tmp_path / "csrc").mkdir()
    (tmp_path / "csrc/include").mkdir()
    (tmp_path / "setup.py").write_text(
        f'{HEAD}setup(name="p", ext_modules=[CUDAExtension("p._C", ["csrc/k.cu"], extra_compile_args={flags})],\n'
        '      cmdclass={"build_ext": BuildExtension})\n'
    )
    (tmp_path / "csrc/k.cu").write_text('#include "far.h"\n' + KERNEL)
    (tmp_path / "csrc/include/far.h").write_text(
        "#include <cuda_runtime.h>\ninline cudaStream_t none() { return 0; }\n"
    )
    done = install_port(tmp_path, ("setup.py", "csrc/k.cu", "csrc/include/far.h"), (), "mi300x")
    (patch,) = done.patches
    assert (patch.path, patch.codes) == ("csrc/k.cu", ("KP821",))
    assert b'"include/far.h"' in patch.after and compare_file(patch.path, patch.before or b"", patch.after).is_proven
    assert [check.status for check in done.level.checks] == [Status.PASS]


@pytest.mark.slow
def test_hipify_is_told_to_read_headers_with_other_names(tmp_path: Path) -> None:
    """One with CUDA's names, and one without that the moved source leaves behind."""
    (tmp_path / "csrc/cuda").mkdir(parents=True)
    (tmp_path / "setup.py").write_text(
        f'{HEAD}setup(name="p", ext_modules=[CUDAExtension("p._C", ["csrc/cuda/k.cu"])],\n'
        '      cmdclass={"build_ext": BuildExtension})\n'
    )
    (tmp_path / "csrc/cuda/k.cu").write_text('#include "named.inl"\n#include "plain.inc"\n' + KERNEL)
    (tmp_path / "csrc/cuda/named.inl").write_text("#include <cuda_runtime.h>\ninline cudaStream_t none();\n")
    (tmp_path / "csrc/cuda/plain.inc").write_text("inline int one() { return 1; }\n")
    files = ("setup.py", *(f"csrc/cuda/{name}" for name in ("k.cu", "named.inl", "plain.inc")))
    done = install_port(tmp_path, files, (), "mi300x")
    (patch,) = done.patches
    assert (patch.path, patch.codes) == ("setup.py", ("KP821",))
    assert b'".inc"' in patch.after and b'".inl"' in patch.after
    assert compare_file(patch.path, patch.before or b"", patch.after).is_proven
    assert {(one.path, one.line, bool(one.edits)) for one in done.findings} == {
        ("csrc/cuda/k.cu", 1, True),
        ("csrc/cuda/k.cu", 2, True),
    }
    assert [check.status for check in done.level.checks] == [Status.PASS]


@pytest.mark.slow
def test_a_header_outside_the_folder_of_setup_py_gets_hips_names(tmp_path: Path) -> None:
    (tmp_path / "ops").mkdir()
    (tmp_path / "ops/setup.py").write_text(
        f'{HEAD}setup(name="p", py_modules=[], ext_modules=[CUDAExtension("p._C", ["k.cu"])],\n'
        '      cmdclass={"build_ext": BuildExtension})\n'
    )
    (tmp_path / "ops/k.cu").write_text('#include "../common.cuh"\n' + KERNEL)
    (tmp_path / "common.cuh").write_text("#include <cuda_runtime.h>\ninline cudaStream_t none();\n")
    done = install_port(tmp_path, ("ops/setup.py", "ops/k.cu", "common.cuh"), (), "mi300x")
    (patch,) = done.patches
    assert (patch.path, patch.codes) == ("common.cuh", ("KP821",))
    assert b"inline hipStream_t none();" in patch.after
    assert compare_file(patch.path, patch.before or b"", patch.after).is_proven
    assert [check.status for check in done.level.checks] == [Status.PASS]


@pytest.mark.slow
def test_two_sources_with_one_object_file_are_parted(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "setup.py").write_text(
        f'{HEAD}from glob import glob\nsetup(name="p", py_modules=[], ext_modules=[\n'
        '    CUDAExtension("p._C", sorted(glob("src/*.c*"))),\n], cmdclass={"build_ext": BuildExtension})\n'
    )
    (tmp_path / "src/ops_cuda.cu").write_text(KERNEL)
    (tmp_path / "src/ops.cpp").write_text("#include <cuda_runtime.h>\ncudaStream_t none();\n")
    done = install_port(tmp_path, ("setup.py", "src/ops_cuda.cu", "src/ops.cpp"), (), "mi300x")
    patches = {patch.path: patch for patch in done.patches}
    assert sorted(patches) == ["kpt_hip_sources/ops_gpu.cu", "setup.py"]
    assert b'#include "../src/ops_cuda.cu"' in patches["kpt_hip_sources/ops_gpu.cu"].after
    assert compare_file("setup.py", patches["setup.py"].before or b"", patches["setup.py"].after).is_proven
    assert [check.status for check in done.level.checks] == [Status.PASS]
    assert {unit.path for unit in done.units} == {"kpt_hip_sources/ops_gpu.cu", "src/ops.cpp"}


@pytest.mark.slow
def test_the_folder_of_a_header_is_named_to_a_build_at_run_time(tmp_path: Path) -> None:
    """hipify reads headers below extra_include_paths alone; one with torch's own CUDA names must be read by it."""
    (tmp_path / "ops/src").mkdir(parents=True)
    text = "import os\n\nfrom torch.utils.cpp_extension import load\n\n"
    text += "here = os.path.dirname(os.path.abspath(__file__))\n"
    text += '_C = load(\n    name="_C",\n    sources=[os.path.join(here, "src", one) for one in ("k.cu",)],\n)\n'
    (tmp_path / "ops/backend.py").write_text(text)
    (tmp_path / "ops/src/k.cu").write_text('#include "first.h"\n' + KERNEL)
    (tmp_path / "ops/src/first.h").write_text('#include <ATen/cuda/CUDAContext.h>\n#include "../second.h"\n')
    (tmp_path / "ops/second.h").write_text("#include <c10/cuda/CUDAStream.h>\n")
    files = ("ops/backend.py", "ops/src/k.cu", "ops/src/first.h", "ops/second.h")
    done = install_port(tmp_path, files, (), "mi300x")
    patches = {patch.path: patch for patch in done.patches}
    assert sorted(patches) == ["ops/backend.py", "ops/src/first.h"]
    assert b'#include "second.h"' in patches["ops/src/first.h"].after
    patch = patches["ops/backend.py"]
    assert b'os.path.join(os.path.dirname(os.path.abspath(__file__)), "src")' in patch.after
    assert compare_file(patch.path, patch.before or b"", patch.after).is_proven
    found = {(one.code, one.path, bool(one.edits)) for one in done.findings}
    assert found == {("KP821", "ops/src/k.cu", True), ("KP821", "ops/src/first.h", True)}
    assert [check.status for check in done.level.checks] == [Status.PASS]


def test_nothing_runs_where_project_code_is_forbidden(tmp_path: Path) -> None:
    root = _project(tmp_path / "p", "open('RAN', 'w')\nkind, sources = CUDAExtension, ['csrc/k.cu']\n")
    with project_code_forbidden():
        done = install_port(root, FILES, (), "mi300x")
    assert (done.level.status, done.patches, done.findings) == (Status.NOT_RUN, (), ())
    assert not list(tmp_path.rglob("RAN"))


CMAKE = """\
cmake_minimum_required(VERSION 3.21)
project(p CXX)
option(USE_HIP "Build for AMD GPUs with HIP" OFF)
if(USE_HIP)
  enable_language(HIP)
else()
  enable_language(CUDA)
endif()
add_library(ops bind.cpp)
file(GLOB kernels *.cu)
if(CMAKE_CUDA_COMPILER)
  target_sources(ops PRIVATE ${kernels})
endif()
"""


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("cmake") is None, reason="needs cmake")
def test_cmake_is_repaired_by_what_the_configuration_shows(tmp_path: Path) -> None:
    (tmp_path / "CMakeLists.txt").write_text(CMAKE)
    (tmp_path / "k.cu").write_text(KERNEL)
    (tmp_path / "bind.cpp").write_text("int bound;\n")
    done = install_port(tmp_path, ("CMakeLists.txt", "k.cu", "bind.cpp"), (), "mi300x")
    assert done.level.status is Status.PASS, done.level.checks
    (patch,) = done.patches
    assert isinstance(patch, Patch) and b"if(USE_HIP OR (CMAKE_CUDA_COMPILER))" in patch.after
    assert b"PROPERTIES LANGUAGE HIP" in patch.after, "the glob's .cu files are HIP sources"
    assert compare_file("CMakeLists.txt", CMAKE.encode(), patch.after).is_proven
    assert {one.code for one in done.findings} == {"KP812"}


CMAKE_FROM_SETUP = """\
import subprocess, sys
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

class CMakeBuild(build_ext):
    def build_extension(self, ext):
        options = [f"-DPYTHON_EXECUTABLE={sys.executable}"]
        subprocess.check_call(["cmake", "-S", ".", "-B", "out"] + options)
        subprocess.check_call(["cmake", "--build", "out"])

setup(name="p", ext_modules=[Extension("p", [])], cmdclass={"build_ext": CMakeBuild})
"""


@pytest.mark.skipif(shutil.which("cmake") is None, reason="needs cmake")
@pytest.mark.slow
def test_a_setup_py_that_starts_cmake_passes_the_option(tmp_path: Path) -> None:
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.21)\nproject(p LANGUAGES CXX CUDA)\nadd_library(p SHARED k.cu)\n"
    )
    (tmp_path / "k.cu").write_text(KERNEL)
    (tmp_path / "setup.py").write_text(CMAKE_FROM_SETUP)
    result = port(tmp_path, workers=1)
    (setup,) = (one for one in result.patches if one.path == "setup.py")
    assert b'["cmake", "-S", ".", "-B", "out", "-DUSE_HIP=ON"] if IS_ROCM else ["cmake", "-S", ".", "-B", "out"]' in (
        setup.after
    )
    assert b'check_call(["cmake", "--build", "out"])' in setup.after
    assert result.install.status is Status.PASS, result.install.checks


@pytest.mark.slow
def test_a_header_behind_a_link_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "ops").mkdir()
    (tmp_path / "ops/setup.py").write_text(
        f'{HEAD}setup(name="p", py_modules=[], ext_modules=[CUDAExtension("p._C", ["k.cu"])],\n'
        '      cmdclass={"build_ext": BuildExtension})\n'
    )
    (tmp_path / "ops/k.cu").write_text('#include "../linked.cuh"\n' + KERNEL)
    (tmp_path / "real.cuh").write_text("#include <cuda_runtime.h>\ninline cudaStream_t none();\n")
    (tmp_path / "linked.cuh").symlink_to("real.cuh")
    listed = ("ops/setup.py", "ops/k.cu", "real.cuh", "linked.cuh")
    assert install_port(tmp_path, listed, (), "mi300x").patches == ()
