"""Input that is no program: truncated, binary, one endless line, deep nesting. No crash, no hang, stable results."""

from __future__ import annotations

import itertools
import random

import pytest

from kernel_pytorch.port.cuda.lexer import tokenize
from kernel_pytorch.port.cuda.translate import TranslateOptions, translate
from kernel_pytorch.port.source import MAX_PARSED_BYTES, source_file

SEED = b"""\
#include <cuda_runtime.h>
#define CHECK(x) do { if ((x) != cudaSuccess) exit(1); } while (0)
template <typename T> __global__ void sum(const T *a, T *out, unsigned n) {
  extern __shared__ T s[];
  unsigned lane = threadIdx.x & 31;
  T v = a[blockIdx.x * blockDim.x + threadIdx.x];
  for (int o = 16; o > 0; o >>= 1) v += __shfl_down_sync(0xffffffffu, v, o);
  if (lane == 0) atomicAdd(out, v); /* leader */
  asm volatile("mov.u32 %0, %%laneid;" : "=r"(lane));
}
int main() {
  float *p; CHECK(cudaMalloc(&p, 1 << 20)); sum<float><<<1, 32, 0>>>(p, p, 32); const char *s = R"x(cudaFree)x";
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 700
  return 0;
#endif
}
"""


def stable(data: bytes, options: TranslateOptions | None = None) -> bytes:
    """Translates, and again: the second time must change nothing."""
    once = translate(source_file("f.hip", data), None, options).after
    assert translate(source_file("f.hip", once), None, options).after == once
    return once


@pytest.mark.parametrize("length", range(0, len(SEED), 37))
def test_truncated(length: int) -> None:
    translate(source_file("f.cu", SEED[:length]))


@pytest.mark.parametrize("seed", range(40))
def test_mutated(seed: int) -> None:
    rng = random.Random(seed)
    data = bytearray(SEED)
    for _ in range(rng.randrange(1, 12)):
        at = rng.randrange(len(data))
        kind = rng.randrange(4)
        if kind == 0:
            data[at] = rng.randrange(1, 256)
        elif kind == 1:
            del data[at : at + rng.randrange(1, 30)]
        elif kind == 2:
            data[at:at] = rng.choice(
                [b'"', b"'", b"/*", b"*/", b"//", b"{", b"}", b"(", b")", b"\\\n", b"#if\n", b'R"(', b"##", b"<<<"]
            )
        else:
            data[at:at] = data[at : at + rng.randrange(1, 60)]
    stable(bytes(data), TranslateOptions(rules=()))
    translate(source_file("f.cu", bytes(data)))


@pytest.mark.parametrize("seed", range(10))
def test_random_bytes(seed: int) -> None:
    data = random.Random(seed).randbytes(20_000)
    tokens = tokenize(data)
    assert all(first.end <= second.start for first, second in itertools.pairwise(tokens))
    assert translate(source_file("f.cu", data)).after == data
    stable(data.replace(b"\0", b" "), TranslateOptions(rules=()))


@pytest.mark.parametrize(
    "piece", [b"(", b"{", b"[", b"<", b"if(1)", b"f(", b"#if 1\n", b"a?", b"-", b"/*", b'"', b'R"(']
)
def test_deep_nesting(piece: bytes) -> None:
    data = b"#include <cuda.h>\n__global__ void k() { cudaFree(p);" + piece * 20_000
    assert b"cudaFree" not in translate(source_file("f.cu", data)).after.split(piece)[0].split(b"{")[-1]


def test_one_long_line() -> None:
    data = b"int cudaFree_table[] = {" + b"cudaFree(1)," * 800_000 + b"};"
    assert len(data) > MAX_PARSED_BYTES
    result = translate(source_file("f.cuh", data))
    assert result.after == data.replace(b"cudaFree(", b"hipFree(")
    assert [found.code for found in result.findings] == ["KP002"]
