"""`kpt emulate -- COMMAND`: programs that were not built here find the runtime, the libraries and ROCm's tools."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from kernel_pytorch.core.errors import UsageError
from kernel_pytorch.core.hardware import gpu_by_alias
from kernel_pytorch.emulate.hipcc import read_words
from kernel_pytorch.emulate.outside import step_outside, with_rocm
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
subprocess.run(["hipcc", "-shared", "-fPIC", "kernel.hip", "-o", "libkernel.so"], check=True)
library = ctypes.CDLL("./libkernel.so")
values = (ctypes.c_float * 64)(*range(64))
library.run(values)
print(values[5], values[63])
print([ctypes.CDLL(name)._name for name in ("librocblas.so.4", "libroctracer64.so.4")])
"""


def test_a_script_that_builds_and_loads_device_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "kernel.hip").write_text(KERNEL)
    monkeypatch.chdir(tmp_path)
    (outcome,) = emulate_command([sys.executable, "-c", SCRIPT], gpus=["rx7900xtx"]).runs
    assert outcome.exit_code == 0, outcome.stderr
    assert outcome.stdout.splitlines() == [
        "['gfx000', 'gfx1100']",
        "True",
        "10.0 126.0",
        "['librocblas.so.4', 'libroctracer64.so.4']",
    ]
    assert [launch.kernel for launch in outcome.events.launches] == ["twice"]


def test_a_command_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no-such-program: no such program"):
        emulate_command(["no-such-program"])
    (tmp_path / "script.py").write_text("print(1)\n")
    with pytest.raises(UsageError, match=r"script\.py: not executable; .* python .*script\.py"):
        emulate_command([str(tmp_path / "script.py")])


def test_our_own_children_see_this_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROCM_PATH", "/opt/of-this-machine")
    monkeypatch.delenv("ROCM_HOME", raising=False)
    before = dict(os.environ)
    inside = with_rocm(before, tmp_path / "rocm", gpu_by_alias("mi300x"), 2)
    assert inside["ROCM_PATH"] == inside["ROCM_HOME"] == str(tmp_path / "rocm")
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
