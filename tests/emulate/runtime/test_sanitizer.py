"""A host program built with the address sanitizer: it runs, its own faults are found, and the runtime adds none."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from kernel_pytorch.core.hardware import gpu_by_alias
from kernel_pytorch.emulate.run import Outcome, run_program
from kernel_pytorch.emulate.runtime_build import runtime_directory
from kernel_pytorch.toolchain.compile import CompileOptions, compile_device_text
from kernel_pytorch.toolchain.find import ToolchainNotFoundError, find_toolchain

KERNEL = r"""
#include <hip/hip_runtime.h>
extern "C" __global__ void add(float *x) { x[threadIdx.x] += 1; }
"""
PROGRAM = r"""
#include <cstddef>
#include <cstdio>
#include <vector>
extern "C" int hipMalloc(void **, size_t), hipFree(void *), hipMemcpy(void *, const void *, size_t, int);
extern "C" int hipModuleLoad(void **, const char *);
int main(int count, char **words) {
  void *module, *device;
  if (hipModuleLoad(&module, words[1])) return 1;
  std::vector<float> values(100, 1.0f);
  if (hipMalloc(&device, 800) || hipMemcpy(device, values.data(), 400 + 4 * (count > 2), 1)) return 2;
  if (hipFree(device)) return 3;
  puts("done");
}
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    compiler = shutil.which("g++")
    if compiler is None:
        pytest.skip("g++ is not installed")
    try:
        toolchain = find_toolchain(prefer="zig", headers="triton")
    except ToolchainNotFoundError as error:
        pytest.skip(str(error))
    folder = tmp_path_factory.mktemp("sanitizer")
    (folder / "host.cpp").write_text(PROGRAM)
    (folder / "kernels.hsaco").write_bytes(compile_device_text(KERNEL, "gfx942", toolchain, CompileOptions("-O1")))
    words = [compiler, "-g", "-fsanitize=address", "host.cpp", f"-L{runtime_directory()}", "-lamdhip64", "-o", "host"]
    built = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)
    if "libasan" in built.stderr:
        pytest.skip("g++ has no address sanitizer here")
    assert built.returncode == 0, built.stderr
    return folder / "host"


def run(program: Path, *words: str) -> Outcome:
    return run_program(program, [str(program.parent / "kernels.hsaco"), *words], gpu_by_alias("mi300x"))


def test_a_module_that_is_never_unloaded_is_no_leak(program: Path) -> None:
    ran = run(program)
    assert ran.exit_code == 0, ran.stderr
    assert "done" in ran.stdout and "leak" not in ran.stderr.lower()


def test_a_copy_beyond_a_host_buffer_is_found_with_its_line(program: Path) -> None:
    ran = run(program, "too much")
    line = next(n for n, text in enumerate(PROGRAM.splitlines(), 1) if "count > 2" in text)
    assert ran.exit_code != 0
    assert "heap-buffer-overflow" in ran.stderr and f"host.cpp:{line}" in ran.stderr
