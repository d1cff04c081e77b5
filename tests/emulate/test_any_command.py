"""`kpt emulate -- COMMAND`: programs that were not built here find the runtime, the libraries and ROCm's tools."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from kernel_pytorch.core.errors import UsageError
from kernel_pytorch.core.hardware import gpu_by_alias
from kernel_pytorch.emulate.hipcc import read_words
from kernel_pytorch.emulate.libraries import LIBRARIES, NEEDS, RUNTIME_SONAME, needed_by
from kernel_pytorch.emulate.outside import step_outside, with_rocm
from kernel_pytorch.emulate.run import RunSettings, emulation_environment
from kernel_pytorch.jobs.emulate import emulate_command

KERNEL = """
#include <hip/hip_runtime.h>
extern "C" __global__ void twice(float *x) { x[threadIdx.x] *= 2; }
extern "C" __global__ void thrice(float *x) { x[threadIdx.x] *= 3; }
extern "C" void run(float *x) {
  float *device;
  hipMalloc(&device, 256);
  hipMemcpy(device, x, 256, hipMemcpyHostToDevice);
  twice<<<1, 64>>>(device);
  hipMemcpy(x, device, 256, hipMemcpyDeviceToHost);
  hipFree(device);
}
"""
SCRIPT = """
import ctypes, subprocess
print(subprocess.run(["rocm_agent_enumerator"], capture_output=True, text=True).stdout.split())
print("Wavefront Size:          32(0x20)" in subprocess.run(["rocminfo"], capture_output=True, text=True).stdout)
print("GPU[0]: GFX Version: gfx1100" in subprocess.run(["rocm-smi"], capture_output=True, text=True).stdout)
subprocess.run(["hipcc", "-shared", "-fPIC", "kernel.hip", "-o", "libkernel.so"], check=True)
library = ctypes.CDLL("./libkernel.so")
values = (ctypes.c_float * 64)(*range(64))
library.run(values)
print(values[5], values[63])
print([ctypes.CDLL(name)._name for name in ("librocblas.so.4", "libroctracer64.so.4")])
# The real hipBLAS is linked against the runtime and rocBLAS: programs find their functions through it.
print([getattr(ctypes.CDLL("libhipblas.so.3"), name).__name__ for name in ("hipFree", "rocblas_create_handle")])
"""


def test_a_script_that_builds_and_loads_device_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "kernel.hip").write_text(KERNEL)
    monkeypatch.chdir(tmp_path)
    (outcome,) = emulate_command([sys.executable, "-c", SCRIPT], gpus=["rx7900xtx"]).runs
    assert outcome.exit_code == 0, outcome.stderr
    assert outcome.stdout.splitlines() == [
        "['gfx000', 'gfx1100']",
        "True",
        "True",
        "10.0 126.0",
        "['librocblas.so.4', 'libroctracer64.so.4']",
        "['hipFree', 'rocblas_create_handle']",
    ]
    assert [launch.kernel for launch in outcome.events.launches] == ["twice"]


MAKEFILE = """\
program: kernel.o main.o
\tcc kernel.o main.o -o program -L$(ROCM_PATH)/lib -lamdhip64 -lstdc++
kernel.o: kernel.hip
\thipcc -c kernel.hip -o kernel.o
main.o: main.c
\tcc -D__HIP_PLATFORM_AMD__ -I$(ROCM_PATH)/include -c main.c
"""
IN_C = """\
#include <hip/hip_runtime_api.h>
#include <stdio.h>
void run(float *x);
int main(void) {
    int count = 0;
    float x[64];
    for (int i = 0; i < 64; i++) x[i] = i;
    hipError_t status = hipGetDeviceCount(&count);
    run(x);
    printf("%d %d %g\\n", status == hipSuccess, count, x[63]);
    return 0;
}
"""


def test_a_project_in_c_is_built_by_make_and_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The host's compiler finds HIP's headers, and its linker HIP's libraries, below $ROCM_PATH."""
    for name, text in {"kernel.hip": KERNEL, "main.c": IN_C, "Makefile": MAKEFILE}.items():
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    (outcome,) = emulate_command(["sh", "-c", "make >&2 && ./program"], gpus=["rx7900xtx"]).runs
    assert (outcome.exit_code, outcome.stdout) == (0, "1 1 126\n"), outcome.stderr


def test_a_command_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no-such-program: no such program"):
        emulate_command(["no-such-program"])
    (tmp_path / "script.py").write_text("print(1)\n")
    with pytest.raises(UsageError, match=r"script\.py: not executable; .* python .*script\.py"):
        emulate_command([str(tmp_path / "script.py")])


def test_our_own_children_see_this_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROCM_PATH", "/opt/of-this-machine")
    monkeypatch.delenv("ROCM_HOME", raising=False)
    monkeypatch.setenv("KPT_CACHE_DIR", str(tmp_path))
    before = dict(os.environ)
    inside = with_rocm(before, gpu_by_alias("mi300x"), 2)
    assert inside["ROCM_PATH"] == inside["ROCM_HOME"]
    assert Path(inside["ROCM_HOME"]).is_relative_to(tmp_path)
    # What a program builds names this folder: the next run finds the same one, another GPU another.
    assert with_rocm(before, gpu_by_alias("mi300x"), 2)["ROCM_HOME"] == inside["ROCM_HOME"]
    assert with_rocm(before, gpu_by_alias("rx7900xtx"), 2)["ROCM_HOME"] != inside["ROCM_HOME"]
    for name, value in inside.items():
        monkeypatch.setenv(name, value)
    step_outside()
    assert dict(os.environ) == before


def test_hipccs_words_are_sorted_by_what_they_are_about() -> None:
    found = read_words(
        [
            "-x",
            "hip",
            "-c",
            "--offload-arch=gfx90a",
            "-Iinclude",
            "-D",
            "A=1",
            "-O2",
            "-std=c++20",
            "a.hip",
            "-o",
            "a.o",
        ]
    )
    assert (found.step, found.output, found.sources) == ("-c", Path("a.o"), [Path("a.hip")])
    assert (found.optimization, found.std, found.compile) == ("-O2", "c++20", ["-Iinclude", "-D", "A=1"])
    linked = read_words(["-shared", "a.o", "b.o", "-L", "lib", "-lhipblas", "-o", "c.so"])
    assert (linked.step, linked.objects, linked.link) == ("link", ["a.o", "b.o"], ["-shared", "-Llib", "-lhipblas"])
    with pytest.raises(UsageError, match="-o lacks its value"):
        read_words(["a.hip", "-o"])


def test_real_libraries_come_behind_the_emulated_runtime(tmp_path: Path) -> None:
    real = tmp_path / "lib"
    real.mkdir()
    settings = RunSettings(real_libraries=real)
    environment = emulation_environment(gpu_by_alias("mi300x"), settings, tmp_path, None)
    runtime, second, *_ = environment["LD_LIBRARY_PATH"].split(":")
    assert (Path(runtime) / "libamdhip64.so.7").exists() and second == str(real)


def test_what_a_stand_in_needs_is_there() -> None:
    sonames = {library.soname for library in LIBRARIES}
    for library in LIBRARIES:
        first, *others = needed_by(library) or (RUNTIME_SONAME,)
        assert first == RUNTIME_SONAME and sonames.issuperset(others)
    assert set(NEEDS) <= {library.name for library in LIBRARIES}
