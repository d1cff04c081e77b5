"""The install level, on small projects that do what real setup.py files do, right and wrong."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from pathlib import Path

import pytest

from kernel_pytorch.core.findings import Finding, Status
from kernel_pytorch.core.hardware import gpu_by_alias
from kernel_pytorch.verify.install.judge import not_judged
from kernel_pytorch.verify.install.parting import partings
from kernel_pytorch.verify.install.record import Failure, InstallRecord, InstallTrial
from kernel_pytorch.verify.install.run import InstallRequest, InstallWorker, prepare, try_installs
from kernel_pytorch.verify.install_level import install_level, judged_trial, requests_of

pytest.importorskip("torch")

KERNEL = "#include <cuda_runtime.h>\n__global__ void k(float *x) { x[threadIdx.x] *= 2.0f; }\n"
PLAIN = """\
from setuptools import setup
from torch.utils.cpp_extension import BuildExtension, CUDAExtension
setup(name="p", ext_modules=[CUDAExtension("p._C", ["csrc/bind.cpp", "csrc/k.cu"]{more})],
      cmdclass={{"build_ext": BuildExtension}})
"""
FLAGS = ', libraries=["cublas"], extra_compile_args={"cxx": ["-O2"], "nvcc": ["-O3", "--ptxas-options=-v"]}'

SETUPS = {
    "ordinary": PLAIN.format(more=""),
    "flags": PLAIN.format(more=FLAGS),
    "missing source": """\
        import torch
        from setuptools import Extension, setup
        sources = ["csrc/gone.cpp" if torch.version.hip else "csrc/bind.cpp", "csrc/made_later.c"]
        setup(name="p", ext_modules=[Extension("p._C", sources)])
        """,
    "behind CUDA_HOME": """\
        from setuptools import setup
        from torch.utils.cpp_extension import BuildExtension, CUDA_HOME, CUDAExtension
        found = []
        if CUDA_HOME is not None:
            found.append(CUDAExtension("p._C", ["csrc/bind.cpp", "csrc/k.cu"]))
        setup(name="p", ext_modules=found, cmdclass={"build_ext": BuildExtension})
        """,
    "without kernels": """\
        from setuptools import setup
        from torch.utils.cpp_extension import BuildExtension, CUDA_HOME, CUDAExtension, CppExtension
        kind, sources = CppExtension, ["csrc/bind.cpp"]
        if CUDA_HOME:
            kind, sources = CUDAExtension, [*sources, "csrc/k.cu"]
        setup(name="p", ext_modules=[kind("p._C", sources)], cmdclass={"build_ext": BuildExtension})
        """,
    "crash": """\
        import os
        from setuptools import setup
        from torch.utils.cpp_extension import CUDA_HOME
        nvcc = os.path.join(CUDA_HOME, "bin", "nvcc")
        setup(name="p")
        """,
    "exit": """\
        import sys
        import torch
        if torch.version.cuda is None:
            sys.exit("CUDA is required")
        """,
    "asks nvcc": """\
        import subprocess
        from setuptools import setup
        subprocess.check_output(["nvcc", "--version"])
        setup(name="p")
        """,
    "asks hipcc": """\
        import subprocess, torch
        from setuptools import setup
        if torch.version.hip:
            assert "HIP version" in subprocess.check_output(["hipcc", "--version"], text=True)
            assert "gfx942" in subprocess.check_output(["rocminfo"], text=True)
            assert torch.cuda.is_available() and "MI300X" in torch.cuda.get_device_name()
        setup(name="p")
        """,
    "in expressions": """\
        import torch
        from setuptools import setup
        from torch.utils.cpp_extension import BuildExtension, CUDAExtension
        with_gpu = torch.version.cuda is not None
        sources = ["csrc/k.cu"] if with_gpu else ["csrc/bind.cpp"]
        if torch.version.cuda and len(sources):
            sources.append("csrc/bind.cpp")
        setup(name="p", ext_modules=[CUDAExtension("p._C", sources)], cmdclass={"build_ext": BuildExtension})
        """,
    "loses a macro": """\
        from setuptools import setup
        from torch.utils.cpp_extension import BuildExtension, CUDA_HOME, CUDAExtension
        macros = []
        if CUDA_HOME:
            macros.append(("WITH_CUDA", None))
        setup(name="p", ext_modules=[CUDAExtension("p._C", ["csrc/k.cu"], define_macros=macros)],
              cmdclass={"build_ext": BuildExtension})
        """,
    "one object file": PLAIN.format(more="").replace("csrc/bind.cpp", "csrc/ops.cpp").replace("k.cu", "ops_cuda.cu"),
    "not hipified": PLAIN.format(more="").replace("CUDAExtension", "CppExtension"),
    "second install": """\
        import glob
        from setuptools import setup
        from torch.utils.cpp_extension import BuildExtension, CppExtension, CUDAExtension
        plain = sorted(glob.glob("csrc/*.cpp"))
        with_kernels = CUDAExtension("p._C", ["csrc/ops.cpp", "csrc/k.cu"])
        other = CppExtension("p._D", plain)
        setup(name="p", ext_modules=[with_kernels, other], cmdclass={"build_ext": BuildExtension})
        """,
    "asks pkg_resources": "from pkg_resources import packaging, get_distribution, parse_version\n"
    "assert parse_version('2') > packaging.version.parse('1') and get_distribution('torch').version\n"
    + PLAIN.format(more=""),
    "needs a package": "import a_package_nobody_has\n",
    "network": "import socket\nsocket.create_connection(('127.0.0.1', 9), timeout=1)\n",
    "fetches a library": """\
        import urllib.request
        from setuptools import setup
        from torch.utils.cpp_extension import BuildExtension, CUDAExtension
        def library():
            try:
                return urllib.request.urlopen("http://library.invalid/library.tar")
            except OSError:
                return None
        setup(name="p", ext_modules=[CUDAExtension("p._C", ["csrc/k.cu"], include_dirs=[library()])],
              cmdclass={"build_ext": BuildExtension})
        """,
    "ends Python": "import os\nos._exit(3)\n",
    "imports its own module": "import beside\nfrom setuptools import setup\nsetup(name='p', version=beside.VERSION)\n",
}


SETUPS["chosen by the author"] = """\
    import torch
    from setuptools import setup
    from torch.utils.cpp_extension import BuildExtension, CUDAExtension
    found = [CUDAExtension("p._C", ["csrc/bind.cpp", "csrc/k.cu"])]
    tag = "cuda" if torch.version.cuda else ""
    if torch.version.hip is None:
        found.append(CUDAExtension("p.tensor_cores", ["csrc/ops_cuda.cu"]))
    setup(name="p", ext_modules=found, cmdclass={"build_ext": BuildExtension})
    """
SETUPS["header by a flag"] = """\
    import os
    from setuptools import setup
    from torch.utils.cpp_extension import BuildExtension, CUDAExtension
    here = os.path.dirname(os.path.abspath(__file__))
    flags = {"nvcc": ["-I" + os.path.join(here, "csrc/include")], "cxx": ["-I" + os.path.join(here, "csrc/include")]}
    setup(name="p", ext_modules=[CUDAExtension("p._C", ["csrc/far.cu"], extra_compile_args=flags)],
          cmdclass={"build_ext": BuildExtension})
    """


@dataclass(frozen=True)
class Outcome:
    trial: InstallTrial
    status: Status
    findings: tuple[Finding, ...]
    detail: str


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Outcome]:
    """Every project once: torch is imported by one process for all of them."""
    folder = tmp_path_factory.mktemp("install")
    roots = []
    for number, setup in enumerate(SETUPS.values()):
        root = folder / f"project{number}"
        (root / "csrc").mkdir(parents=True)
        (root / "setup.py").write_text(textwrap.dedent(setup))
        (root / "csrc/k.cu").write_text(KERNEL)
        (root / "csrc/bind.cpp").write_text("int bound;\n")
        (root / "beside.py").write_text("VERSION = '1.0'\n")
        (root / "csrc/ops.cpp").write_text("#include <cuda_runtime.h>\nint bound(cudaStream_t);\n")
        (root / "csrc/ops_cuda.cu").write_text(KERNEL)
        (root / "csrc/far.cu").write_text('// k\n#include "near.h"\n#include "far.h"\n')
        (root / "csrc/near.h").write_text(KERNEL)
        (root / "csrc/include").mkdir()
        (root / "csrc/include/far.h").write_text("#include <cuda_runtime.h>\n")
        roots.append(root)
    headers = ("csrc/far.cu", "csrc/near.h", "csrc/include/far.h")
    files = (*headers, "setup.py", "csrc/k.cu", "csrc/bind.cpp", "csrc/ops.cpp", "csrc/ops_cuda.cu", "beside.py")
    scratch = folder / "scratch"
    scratch.mkdir()
    with InstallWorker(scratch) as worker:
        trials = try_installs([InstallRequest(root, files) for root in roots], "mi300x", worker)
    for root in roots:
        there = sorted(path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file())
        assert there == sorted(files), "the project itself was changed"
    found = {}
    for name, trial in zip(SETUPS, trials, strict=True):
        checks, findings = judged_trial(trial, scratch)
        found[name] = Outcome(trial, checks[0].status, findings, "; ".join(check.detail for check in checks))
    return found


RUN_TIME = {
    "load": """\
        import os
        from torch.utils.cpp_extension import load
        here = os.path.dirname(__file__)
        ops = load("ops", [os.path.join(here, "k.cu")], extra_cuda_cflags=["-DMINE"])
        assert ops.anything(1)
        """,
    "load_inline": """\
        from torch.utils import cpp_extension
        cuda = "__global__ void k(float *x) { x[0] = 1; }"
        ops = cpp_extension.load_inline("ops", cpp_sources="", cuda_sources=cuda, extra_cuda_cflags=["-DMINE"])
        """,
    "load in a function": """\
        from pathlib import Path
        import torch.utils.cpp_extension as building
        def ops(verbose=False):
            source = Path(__file__).parent / "k.cu"
            return building.load(name="ops", sources=[str(source)], extra_cuda_cflags=["-DMINE"], verbose=verbose)
        """,
    "load in a function that the module calls": """\
        import os
        from torch.utils.cpp_extension import load
        def built(name):
            source = os.path.join(os.path.dirname(__file__), name + ".cu")
            return load(name="ops", sources=[source], extra_cuda_cflags=["-DMINE"])
        ops = built("k")
        """,
    "load, and then a use of what is not built": """\
        import torch
        from torch.utils.cpp_extension import load
        load("ops", [__file__.replace("ops.py", "k.cu")], extra_cuda_cflags=["-DMINE"], is_python_module=False)
        first = torch.ops.ops.first
        """,
    "load with a name of its caller": """\
        from torch.utils.cpp_extension import load
        def ops(source):
            return load("ops", [source])
        """,
}


@pytest.fixture(scope="module")
def run_time(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Outcome]:
    folder = tmp_path_factory.mktemp("run_time")
    requests = []
    for number, text in enumerate(RUN_TIME.values()):
        root = folder / f"project{number}"
        (root / "pack").mkdir(parents=True)
        (root / "pack/__init__.py").write_text("")
        (root / "pack/ops.py").write_text(textwrap.dedent(text))
        (root / "pack/k.cu").write_text(KERNEL)
        requests.append(requests_of(root, ("pack/__init__.py", "pack/ops.py", "pack/k.cu"))[0])
    scratch = folder / "scratch"
    scratch.mkdir()
    with InstallWorker(scratch) as worker:
        trials = try_installs(requests, "mi300x", worker)
    found = {}
    for name, trial in zip(RUN_TIME, trials, strict=True):
        checks, findings = judged_trial(trial, scratch)
        found[name] = Outcome(trial, checks[0].status, findings, "; ".join(check.detail for check in checks))
    return found


@pytest.mark.parametrize("name", ["ordinary", "asks pkg_resources"])
def test_an_ordinary_extension_installs(outcomes: dict[str, Outcome], name: str) -> None:
    seen = outcomes[name]
    assert (seen.status, seen.findings) == (Status.PASS, ())
    assert seen.detail == "1 extension, 2 sources, 1 for the GPU, as on CUDA"


def test_the_commands_are_those_of_torchs_own_build(outcomes: dict[str, Outcome]) -> None:
    trial = outcomes["ordinary"].trial
    (gpu,) = [command for command in trial.rocm.compiles if command.is_gpu]
    assert gpu.source == "csrc/k.hip" and trial.rocm.as_written(gpu.source) == "csrc/k.cu"
    assert {"-DUSE_ROCM=1", "-D__HIP_PLATFORM_AMD__=1", "--offload-arch=gfx942"} <= set(gpu.words)
    assert "hip/hip_runtime.h" in (trial.tree / gpu.source).read_text()
    (other,) = [command for command in trial.cuda.compiles if command.is_gpu]
    assert other.compiler == "nvcc" and "-gencode=arch=compute_90,code=sm_90" in other.words


@pytest.mark.parametrize(
    ("name", "code", "line", "says"),
    [
        ("behind CUDA_HOME", "KP811", 4, "p._C with its 1 GPU source is built on CUDA and left out on ROCm"),
        ("without kernels", "KP812", 4, "p._C has 1 GPU source on CUDA and 0 on ROCm"),
        ("missing source", "KP813", 1, "csrc/gone.cpp, which is not there"),
        ("crash", "KP810", 4, "TypeError"),
        ("exit", "KP810", 4, "CUDA is required"),
        ("asks nvcc", "KP810", 3, "nvcc"),
        ("loses a macro", "KP817", 4, "p._C is compiled with WITH_CUDA on CUDA and without on ROCm"),
        ("one object file", "KP818", 3, "csrc/ops.cpp and csrc/ops_cuda.cu one object file, ops_hip.o"),
        ("not hipified", "KP819", 3, "p._C hands csrc/k.cu to hipcc as it is"),
        ("second install", "KP816", 6, "a second install in the same folder also compiles what hipify wrote"),
    ],
)
def test_a_fault_is_a_finding_at_its_line(
    outcomes: dict[str, Outcome], name: str, code: str, line: int, says: str
) -> None:
    seen = outcomes[name]
    assert seen.status is Status.FAIL
    assert [(one.code, one.path, one.line) for one in seen.findings] == [(code, "setup.py", line)]
    assert says in seen.findings[0].message


def test_what_the_author_leaves_out_by_vendor_is_not_run_and_still_a_finding(outcomes: dict[str, Outcome]) -> None:
    seen = outcomes["chosen by the author"]
    assert seen.status is Status.NOT_RUN
    assert [(one.code, one.line) for one in seen.findings] == [("KP811", 6)]
    assert "the author's own condition" in seen.detail


def test_a_header_that_hipify_does_not_find_is_a_finding_at_its_include(outcomes: dict[str, Outcome]) -> None:
    seen = outcomes["header by a flag"]
    assert seen.status is Status.FAIL
    assert [(one.code, one.path, one.line) for one in seen.findings] == [("KP821", "csrc/far.cu", 3)]
    assert "csrc/include/far.h" in seen.findings[0].message


def test_a_flag_and_a_library_that_rocm_does_not_have(outcomes: dict[str, Outcome]) -> None:
    messages = {one.code: one.message for one in outcomes["flags"].findings}
    assert messages["KP815"] == "p._C links cublas, which ROCm does not have: ROCm's is hipblas"
    assert messages["KP814"] == "p._C passes --ptxas-options=-v, which hipcc refuses"


@pytest.mark.parametrize("name", ["asks hipcc", "imports its own module"])
def test_what_works_and_leaves_the_kernels_beside_it_out_is_not_a_pass(outcomes: dict[str, Outcome], name: str) -> None:
    assert (outcomes[name].status, outcomes[name].findings) == (Status.NOT_RUN, ())
    assert outcomes[name].detail.startswith("nothing for GPUs is built, on CUDA neither, and 3 .cu files lie beside it")


def test_conditions_note_their_answers_on_both_platforms(outcomes: dict[str, Outcome]) -> None:
    """Also in expressions, flags and functions, where no line tells which way they went."""
    trial = outcomes["in expressions"].trial
    parted = {(one.condition.kind, one.condition.line): one.on_cuda for one in partings(trial.cuda, trial.rocm)}
    assert parted == {("flag", 4): True, ("test", 5): True, ("operand", 6): True, ("test", 6): True}


@pytest.mark.parametrize("name", RUN_TIME)
def test_extensions_that_are_built_at_run_time(run_time: dict[str, Outcome], name: str) -> None:
    seen = run_time[name]
    if name == "load with a name of its caller":
        assert seen.status is Status.NOT_RUN and "name 'source' is not defined" in seen.detail
        return
    assert (seen.status, seen.findings) == (Status.PASS, ())
    (gpu,) = [command for command in seen.trial.rocm.compiles if command.is_gpu]
    assert gpu.source.endswith(".hip") and "-DUSE_ROCM=1" in gpu.words and "-DMINE" in gpu.words
    assert (seen.trial.tree / gpu.source).is_file()


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("needs a package", "pip install a_package_nobody_has"),
        ("network", "the network is off"),
        ("ends Python", "ended Python"),
        ("fetches a library", "setup.py:6 asks for the network, which is off here"),
    ],
)
def test_what_fails_on_cuda_too_is_not_run(outcomes: dict[str, Outcome], name: str, says: str) -> None:
    assert (outcomes[name].status, outcomes[name].findings) == (Status.NOT_RUN, ())
    assert says in outcomes[name].detail


def test_a_project_without_setup_py(tmp_path: Path) -> None:
    level, findings, trials = install_level(tmp_path, "mi300x", tmp_path)
    assert (level.status, findings, trials) == (Status.PASS, (), ())


def test_a_setup_script_of_another_name_is_tried_and_its_template_is_not(tmp_path: Path) -> None:
    (tmp_path / "csrc").mkdir()
    (tmp_path / "csrc/bind.cpp").write_text("int one() { return 1; }\n")
    (tmp_path / "csrc/k.cu").write_text(KERNEL)
    (tmp_path / "setup_cuda.py").write_text(textwrap.dedent(SETUPS["behind CUDA_HOME"]))
    (tmp_path / "template.py").write_text(f"SETUP = {SETUPS['ordinary']!r}\nclass CppExtension: ...\n")
    (tmp_path / "make.py").write_text(
        "from setuptools import Extension, setup\ndef make():\n    setup(name='p', ext_modules=[Extension('p', [])])\n"
    )
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    _, findings, trials = install_level(tmp_path, "mi300x", scratch)
    assert [trial.setup for trial in trials] == ["setup_cuda.py"]
    assert [(one.code, one.path, one.line) for one in findings] == [("KP811", "setup_cuda.py", 4)]


def test_a_submodule_that_is_checked_out_is_there_and_stays_as_it_is(tmp_path: Path) -> None:
    root, scratch = tmp_path / "p", tmp_path / "scratch"
    (root / "third/folder").mkdir(parents=True)
    scratch.mkdir()
    (root / "third/.git").write_text("gitdir: ../.git/modules/third\n")
    (root / "third/folder/version.txt").write_text("1")
    (root / "setup.py").write_text("")
    # git names a submodule as one entry.
    runs = [
        prepare(scratch, InstallRequest(root, ("setup.py", "third")), "cuda", gpu_by_alias("h200")) for _ in range(2)
    ]
    for place, _ in runs:
        assert (place / "tree/third/folder/version.txt").read_text() == "1"
        assert not (place / "tree/third/.git").exists()
    (runs[0][0] / "tree/third/folder/version.txt").write_text("2")
    assert (root / "third/folder/version.txt").read_text() == "1"


def test_submodules_that_are_not_checked_out_are_named(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "there/a.txt").write_text("")
    (tmp_path / "absent").mkdir()
    (tmp_path / ".gitmodules").write_text(
        '[submodule "a"]\n\tpath = there\n[submodule "b"]\n\tpath = absent\n[submodule "c"]\n\tpath = lib/c\n'
    )
    failed = InstallRecord("cuda", failure=Failure("FileNotFoundError: absent/a.txt"))
    reason = not_judged(InstallTrial("setup.py", failed, failed, tmp_path))
    assert "2 submodules (absent, lib/c); git submodule update --init" in reason
    (tmp_path / ".gitmodules").unlink()
    assert "submodule" not in not_judged(InstallTrial("setup.py", failed, failed, tmp_path))


def test_a_setup_py_in_a_folder_reaches_the_rest_of_the_project(tmp_path: Path) -> None:
    root = tmp_path / "project"
    (root / "python").mkdir(parents=True)
    (root / "k.cu").write_text(KERNEL)
    (root / "python/setup.py").write_text(PLAIN.format(more="").replace('"csrc/bind.cpp", "csrc/k.cu"', '"../k.cu"'))
    (root / "third_party/other").mkdir(parents=True)
    (root / "third_party/other/setup.py").write_text("raise SystemExit('an Extension of somebody else')\n")
    (tmp_path / "scratch").mkdir()
    level, findings, trials = install_level(root, "mi300x", tmp_path / "scratch")
    assert (level.status, findings, len(trials)) == (Status.PASS, (), 1)
    assert trials[0].setup == "python/setup.py"
    assert [command.source for command in trials[0].rocm.compiles] == ["k.hip"]
