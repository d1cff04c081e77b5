"""nvcuda::wmma on a real NVIDIA GPU: the programs of tests/port/wmma as they were written, against the same model.

The port's results are compared with that model too, emulated; so both ends meet here.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.port.wmma import wmma_cases
from tests.port.wmma.wmma_cases import CASES, WARPS, Case

pytestmark = [pytest.mark.nvidia, pytest.mark.skipif(shutil.which("nvcc") is None, reason="nvcc is not on PATH")]

# Reads the operands of each case from one file and writes what its kernels give to another.
MAIN = r"""
#include <cstdio>
#include <cstdlib>
template <typename T> static T *from_file(FILE *file, size_t count) {
  T *host = (T *)malloc(count * sizeof(T)), *device;
  if (fread(host, sizeof(T), count, file) != count) exit(2);
  if (cudaMalloc(&device, count * sizeof(T)) != cudaSuccess) exit(3);
  cudaMemcpy(device, host, count * sizeof(T), cudaMemcpyHostToDevice);
  free(host);
  return device;
}
template <typename T> static T *zeros(size_t count) {
  T *device;
  cudaMalloc(&device, count * sizeof(T));
  cudaMemset(device, 0, count * sizeof(T));
  return device;
}
template <typename T> static void to_file(FILE *file, const T *device, size_t count) {
  T *host = (T *)malloc(count * sizeof(T));
  cudaError_t status = cudaMemcpy(host, device, count * sizeof(T), cudaMemcpyDeviceToHost);
  if (status != cudaSuccess) { printf("%s\n", cudaGetErrorString(status)); exit(4); }
  fwrite(host, sizeof(T), count, file);
  free(host);
}
"""


def program() -> str:
    """All cases in one program: an input file, an output file."""
    kernels = "".join(wmma_cases.kernels(case, "layouts", "branches") for case in CASES)
    calls = []
    for case in CASES:
        m, n, k = case.shape
        stored, result, name = case.stored, case.result, case.name
        calls.append(
            f"  {{ {stored} *a = from_file<{stored}>(in, {WARPS * 2 * m * k});"
            f" {stored} *b = from_file<{stored}>(in, {WARPS * 2 * k * n});\n"
            f"    {result} *c = from_file<{result}>(in, {WARPS * 2 * m * n});"
            f" {result} *d = zeros<{result}>({WARPS * 8 * m * n});\n"
            f"    layouts_{name}<<<1, {32 * WARPS}>>>(a, b, c, d); to_file(out, d, {WARPS * 8 * m * n});\n"
            f"    for (int mode = 0; mode < 4; ++mode) {{ {result} *e = zeros<{result}>({WARPS * m * n});\n"
            f"      branches_{name}<<<1, {32 * WARPS}>>>(a, b, c, e, mode); to_file(out, e, {WARPS * m * n}); }} }}"
        )
    body = "\n".join(calls)
    return (
        wmma_cases.PRELUDE + kernels + MAIN + "int main(int, char **argv) {\n"
        '  FILE *in = fopen(argv[1], "rb"), *out = fopen(argv[2], "wb");\n'
        + body
        + "\n  fclose(out);\n  return 0;\n}\n"
    )


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Any]]:
    folder: Path = tmp_path_factory.mktemp("wmma")
    (folder / "wmma.cu").write_text(program())
    subprocess.run(
        ["nvcc", "-std=c++17", "-O2", "-w", "-arch=native", "-o", str(folder / "wmma"), str(folder / "wmma.cu")],
        check=True,
    )
    with (folder / "in.bin").open("wb") as stream:
        for case in CASES:
            for array in wmma_cases.inputs(case).arrays:
                stream.write(array.tobytes())
    subprocess.run([str(folder / "wmma"), str(folder / "in.bin"), str(folder / "out.bin")], check=True)
    data = (folder / "out.bin").read_bytes()
    found: dict[str, list[Any]] = {}
    for case in CASES:
        m, n, _ = case.shape
        found[case.name] = []
        for count in (WARPS * 8 * m * n, *[WARPS * m * n] * 4):
            size = count * np.dtype(case.numpy_result).itemsize
            found[case.name].append(np.frombuffer(data[:size], case.numpy_result))
            data = data[size:]
    assert not data
    return found


def assert_equal(case: Case, got: Any, wanted: Any) -> None:
    """Exact, but for half results: how often the unit rounds them on the way is its own affair."""
    if case.numpy_result is np.float16:
        spacing = np.spacing(np.maximum(np.abs(wanted), np.float16(1))).astype(np.float32)
        assert np.all(np.abs(got.astype(np.float32) - wanted.astype(np.float32)) <= 2 * spacing)
    else:
        assert np.array_equal(got, wanted)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_original_meets_the_model(outputs: dict[str, list[Any]], case: Case) -> None:
    given = wmma_cases.inputs(case)
    layouts, *branches = outputs[case.name]
    assert_equal(case, layouts, wmma_cases.expected_layouts(case, given))
    for mode, got in enumerate(branches):
        assert_equal(case, got, wmma_cases.expected_branches(case, given, mode, 0))
