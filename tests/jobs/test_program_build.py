"""Programs of several files for emulated GPUs: C++ files that call CUDA are translated too."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernel_pytorch.cli.main import main
from kernel_pytorch.jobs.program_build import _build_problem, calls_cuda, is_plain
from kernel_pytorch.toolchain.compile import CompileFailed

KERNEL = """\
__global__ void fill(int *p) { p[threadIdx.x] = threadIdx.x; }
void run(int *p) { fill<<<1, 64>>>(p); }
"""
MAIN = """\
#include <cstdio>
#include "device.h"
void run(int *p);
int main() {
  int *d, h[64];
  if (cudaMalloc((void **)&d, sizeof h) != cudaSuccess) return 1;
  run(d);
  cudaMemcpy(h, d, sizeof h, cudaMemcpyDeviceToHost);
  printf("last %d\\n", h[63]);
  return h[63] != 63;
}
"""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("#include <cuda_runtime.h>\nint main() { return cudaDeviceSynchronize(); }\n", True),
        ('#include "device.h"\nint main() { return 0; }\n', True),
        ("#include <hip/hip_runtime.h>\nint main() { return hipDeviceSynchronize(); }\n", False),
        ("int main() { return 0; } // cudaFree\n", False),
    ],
    ids=["call", "header", "hip", "comment"],
)
def test_which_files_call_cuda(text: str, expected: bool, tmp_path: Path) -> None:
    (tmp_path / "device.h").write_text(
        "#pragma once\n#include <cuda_runtime.h>\ninline void f(void *p) { cudaFree(p); }\n"
    )
    (tmp_path / "a.cpp").write_text(text)
    assert calls_cuda(tmp_path / "a.cpp", ()) is expected
    below = tmp_path / "src" / "a.cpp"
    below.parent.mkdir()
    below.write_text(text.replace('"device.h"', '"../device.h"'))
    (tmp_path / ".git").mkdir()
    assert calls_cuda(below, ()) is expected


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("a.c", "#include <hip/hip_runtime.h>\n", True),
        ("a.cpp", '#include "type.h"\nfloat first(pair p) { return p.x; }\n', True),
        ("a.cpp", "#include <hip/hip_runtime.h>\n", False),
        ("a.cpp", '#include "uses.h"\n', False),
        ("a.hip", "int one;\n", False),
    ],
    ids=["C", "no GPU", "HIP", "HIP in a header", "a .hip file"],
)
def test_which_files_are_compiled_without_hip(name: str, text: str, expected: bool, tmp_path: Path) -> None:
    (tmp_path / "type.h").write_text(
        "#if defined(__HIPCC__)\ntypedef float2 pair;\n#else\nstruct pair { float x, y; };\n#endif\n"
    )
    (tmp_path / "uses.h").write_text("inline void stop(void *p) { (void)hipFree(p); }\n")
    (tmp_path / name).write_text(text)
    assert is_plain(tmp_path / name, ()) is expected


@pytest.mark.slow
def test_a_host_file_beside_kernels(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "device.h").write_text("#pragma once\n#include <cuda_runtime.h>\n")
    (tmp_path / "kernel.cu").write_text(KERNEL)
    (tmp_path / "main.cpp").write_text(MAIN)
    assert main(["emulate", str(tmp_path / "kernel.cu"), str(tmp_path / "main.cpp"), "--gpu", "mi300x"]) == 0
    assert "last 63" in capfd.readouterr().out


# `new` is a plain name in C, and malloc's result needs no cast.
IN_C = """\
#include <stdlib.h>
#include <cuda_runtime.h>
int devices(void) {
  int *new = malloc(sizeof *new);
  cudaGetDeviceCount(new);
  int count = *new;
  free(new);
  return count;
}
"""


@pytest.mark.slow
def test_a_c_file_beside_kernels_is_compiled_as_c(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "kernel.cu").write_text(
        '#include <cstdio>\nextern "C" int devices(void);\n'
        + KERNEL
        + 'int main() { printf("%d device\\n", devices()); }\n'
    )
    (tmp_path / "devices.c").write_text(IN_C)
    assert main(["emulate", str(tmp_path / "kernel.cu"), str(tmp_path / "devices.c"), "--gpu", "mi300x"]) == 0
    assert "1 device" in capfd.readouterr().out


@pytest.mark.parametrize(
    ("stderr", "hint"),
    [
        ("rand.cu:(.text+0x19): undefined reference to `hiprandCreateGenerator'", "add: -l hiprand"),
        (
            "ld.lld: error: undefined symbol: hipblasCreate\nld.lld: error: undefined symbol: hipfftPlan1d",
            "add: -l hipblas -l hipfft",
        ),
        ("ld.lld: error: undefined symbol: own_function", ""),
    ],
)
def test_a_library_that_the_linker_misses_is_named(stderr: str, hint: str) -> None:
    said = _build_problem([Path("rand.cu")], "gfx942", CompileFailed((), stderr, ("ld",)))
    assert said.startswith("rand.cu does not build for gfx942:\n")
    assert said.endswith(hint) if hint else "-l " not in said
