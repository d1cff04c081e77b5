"""mma.sync, ldmatrix, stmatrix and movmatrix on a real NVIDIA GPU, against the model that the translations must match.

`python -m tests.hw.test_mma_nvidia FILE.cu` writes the program; it runs as `program in.bin out.bin`.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.port.mma import matrix_moves, mma_forms
from tests.port.mma.mma_forms import MODES, Form

pytestmark = [pytest.mark.nvidia, pytest.mark.skipif(shutil.which("nvcc") is None, reason="nvcc is not on PATH")]

Array = np.ndarray[Any, Any]
FORMS = mma_forms.forms()
MOVES = matrix_moves.moves()
THREADS = mma_forms.WARPS * mma_forms.LANES

MAIN = r"""
#include <cstdio>
#include <cstdlib>
#include <vector>
typedef void (*Kernel)(const char*, char*, int, int);
static void run(Kernel kernel, const char* name, size_t in_bytes, size_t out_bytes, FILE* input, FILE* output) {
  static const int modes[][2] = {MODES};
  std::vector<char> host(in_bytes), back(out_bytes);
  if (fread(host.data(), 1, in_bytes, input) != in_bytes) { printf("%s: short input\n", name); exit(2); }
  char *in, *out;
  cudaMalloc(&in, in_bytes); cudaMalloc(&out, out_bytes);
  cudaMemcpy(in, host.data(), in_bytes, cudaMemcpyHostToDevice);
  for (auto& mode : modes) {
    cudaMemset(out, 0, out_bytes);
    kernel<<<1, THREADS>>>(in, out, mode[0], mode[1]);
    cudaError_t status = cudaDeviceSynchronize();
    if (status != cudaSuccess) { printf("%s: %s\n", name, cudaGetErrorString(status)); exit(2); }
    cudaMemcpy(back.data(), out, out_bytes, cudaMemcpyDeviceToHost);
    fwrite(back.data(), 1, out_bytes, output);
  }
  cudaFree(in); cudaFree(out);
}
int main(int, char** argv) {
  FILE* input = fopen(argv[1], "rb"); FILE* output = fopen(argv[2], "wb");
CALLS
  fclose(output);
  return 0;
}
"""


@dataclass(frozen=True)
class Launch:
    """One kernel on one set of inputs."""

    kernel: str
    name: str
    data: Array
    out_bytes: int


def launches() -> list[Launch]:
    made = []
    for number, form in enumerate(FORMS):
        for exact in (True, False):
            data = mma_forms.draw(form, number, exact).slots.astype(np.int64)
            made.append(Launch(f"mma{number}", form.name, data, THREADS * form.registers[2] * 8))
    for number, move in enumerate(MOVES):
        made.append(Launch(f"move{number}", move.name, move_data(), move_data().nbytes))
    return made


def move_data() -> Array:
    return np.random.default_rng(0).integers(0, 1 << 32, (2 * matrix_moves.THREADS, 4), dtype=np.uint32)


def program() -> str:
    """The CUDA program: every form in a kernel of its own."""
    kernels = [mma_forms.kernel(form, number) for number, form in enumerate(FORMS)]
    kernels += [matrix_moves.kernel(move, number) for number, move in enumerate(MOVES)]
    calls = "\n".join(
        f'  run((Kernel){one.kernel}, "{one.name}", {one.data.nbytes}, {one.out_bytes}, input, output);'
        for one in launches()
    )
    modes = ", ".join(f"{{{first}, {second}}}" for first, second in MODES)
    main = MAIN.replace("MODES", modes).replace("THREADS", str(THREADS)).replace("CALLS", calls)
    return "\n".join([*kernels, main])


@pytest.fixture(scope="module")
def results() -> dict[str, list[bytes]]:
    """What the GPU left, by instruction: one block of bytes for each set of inputs."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "mma.cu").write_text(program())
        build = ["nvcc", "-std=c++17", "-w", "-arch=native", "-o", str(folder / "mma"), str(folder / "mma.cu")]
        subprocess.run(build, check=True)
        (folder / "in.bin").write_bytes(b"".join(one.data.tobytes() for one in launches()))
        subprocess.run([str(folder / "mma"), str(folder / "in.bin"), str(folder / "out.bin")], check=True)
        data = (folder / "out.bin").read_bytes()
    found: dict[str, list[bytes]] = {}
    at = 0
    for one in launches():
        size = len(MODES) * one.out_bytes
        found.setdefault(one.name, []).append(data[at : at + size])
        at += size
    assert at == len(data)
    return found


def allowed(form: Form) -> float:
    """The error of a tensor core's sum, of the sum of the products' sizes. It adds with fewer bits than f32 has in the
    8-bit formats, and may round to f16 between parts of K."""
    if form.d == "f16":
        return 2.0**-9
    return 2.0**-10 if form.a in ("e4m3", "e5m2") else form.k * 2.0**-21


@pytest.mark.parametrize("number", range(len(FORMS)), ids=lambda number: FORMS[number].name)
def test_product(results: dict[str, list[bytes]], number: int) -> None:
    form = FORMS[number]
    for exact, data in zip((True, False), results[form.name], strict=True):
        slots = np.frombuffer(data, np.int64).reshape(len(MODES), THREADS, -1)
        drawn = mma_forms.draw(form, number, exact)
        got = mma_forms.unpacked(form, slots)
        assert mma_forms.difference(form, drawn, got, 0.0 if exact else allowed(form)) == ""


@pytest.mark.parametrize("number", range(len(MOVES)), ids=lambda number: MOVES[number].name)
def test_move(results: dict[str, list[bytes]], number: int) -> None:
    (data,) = results[MOVES[number].name]
    got = np.frombuffer(data, np.uint32).reshape(len(MODES), -1, 4)
    for mode, one in zip(MODES, got, strict=True):
        assert (one == matrix_moves.expected(MOVES[number], move_data(), mode)).all()


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(program())
