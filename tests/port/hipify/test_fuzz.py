"""Input that is no program: truncated, binary, one endless line, deep nesting. No crash, no hang, stable results."""

from __future__ import annotations

import itertools
import random
import subprocess
import sys
from pathlib import Path

import pytest

from kernel_pytorch.port.cxx import source
from kernel_pytorch.port.cxx.lexer import tokenize
from kernel_pytorch.port.cxx.source import MAX_PARSED_BYTES, cxx_file
from kernel_pytorch.port.hipify import large
from kernel_pytorch.port.hipify.file import HipifyOptions, hipify_file

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


def stable(data: bytes, options: HipifyOptions | None = None) -> bytes:
    """Translates, and again: the second time must change nothing."""
    once = hipify_file(cxx_file("f.hip", data), None, options).after
    assert hipify_file(cxx_file("f.hip", once), None, options).after == once
    return once


@pytest.mark.parametrize("length", range(0, len(SEED), 37))
def test_truncated(length: int) -> None:
    hipify_file(cxx_file("f.cu", SEED[:length]))


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
    stable(bytes(data), HipifyOptions(rules=()))
    hipify_file(cxx_file("f.cu", bytes(data)))


@pytest.mark.parametrize("seed", range(10))
def test_random_bytes(seed: int) -> None:
    data = random.Random(seed).randbytes(20_000)
    tokens = tokenize(data)
    assert all(first.end <= second.start for first, second in itertools.pairwise(tokens))
    assert hipify_file(cxx_file("f.cu", data)).after == data
    stable(data.replace(b"\0", b" "), HipifyOptions(rules=()))


@pytest.mark.parametrize(
    "piece",
    [
        b"(", b"{", b"[", b"<", b"if(1)", b"f(", b"#if 1\n", b"a?", b"-", b"/*", b'"', b'R"(',
        b"x>::a<", b"k<<<1,", b"min(a,", b"template<", b"#if CUDA_VERSION\n", b"__shfl_xor_sync(~0,",
        b"#if __CUDA_ARCH__ >= 800\n",
    ],
)  # fmt: skip
def test_deep_nesting(piece: bytes) -> None:
    data = b"#include <cuda.h>\n__global__ void k() { cudaFree(p);" + piece * 20_000
    assert b"cudaFree" not in hipify_file(cxx_file("f.cu", data)).after.split(piece)[0].split(b"{")[-1]


@pytest.mark.parametrize("size", [1, 7, 64, 1000])
def test_a_large_file_in_pieces_is_renamed_as_a_whole(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = hipify_file(cxx_file("f.h", SEED), None, HipifyOptions(rules=())).after
    monkeypatch.setattr(source, "MAX_PARSED_BYTES", 100)
    monkeypatch.setattr(source, "PIECE_BYTES", size)
    assert b"".join(piece.data for piece in source.pieces(cxx_file("f.h", SEED))) == SEED
    result = hipify_file(cxx_file("f.h", SEED))
    assert result.after == expected
    assert [found.code for found in result.findings] == ["KP002"]


def test_findings_of_a_large_file_have_their_place(monkeypatch: pytest.MonkeyPatch) -> None:
    data = b"// one\nint a, b,\nc; cuTensorMapEncodeTiled(); cuTensorMapEncodeTiled();\ncuTensorMapEncodeTiled();\n"
    plain = hipify_file(cxx_file("f.cuh", data), None, HipifyOptions(rules=())).findings
    monkeypatch.setattr(source, "MAX_PARSED_BYTES", 10)
    monkeypatch.setattr(source, "PIECE_BYTES", 8)
    found = hipify_file(cxx_file("f.cuh", data)).findings
    assert [(one.code, one.line, one.col) for one in found[1:]] == [(one.code, one.line, one.col) for one in plain]
    assert len(plain) == 3
    monkeypatch.setattr(large, "MOST_FINDINGS", 2)
    assert hipify_file(cxx_file("f.cuh", data)).findings[-1].message.startswith("1 more names")


@pytest.mark.slow
def test_one_long_line() -> None:
    data = b"int cudaFree_table[] = {" + b"cudaFree(1)," * 800_000 + b"};"
    assert len(data) > MAX_PARSED_BYTES
    result = hipify_file(cxx_file("f.cuh", data))
    assert result.after == data.replace(b"cudaFree(", b"hipFree(")
    assert [found.code for found in result.findings] == ["KP002"]


@pytest.mark.slow
@pytest.mark.parametrize("filler", [b"1234567,", b"cudaFreeHostage ", b"((((((((", b'"cudaFree" '])
def test_almost_fifty_megabytes_of_one_line(filler: bytes, tmp_path: Path) -> None:
    """Through the command, with a gigabyte of memory and no more; the result appears whole."""
    line = filler * (1_000_000 // len(filler)) + b" cudaFree(0); "
    path = tmp_path / "table.cuh"
    path.write_bytes(line * 49)  # a file of more than 50 MB is not read
    script = (
        "import resource, sys; resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30));"
        "from kernel_pytorch.cli.main import main; sys.exit(main(sys.argv[1:]))"
    )
    out = tmp_path / "table.hip.cuh"
    command = [sys.executable, "-c", script, "hipify", str(path), "-o", str(out)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=3600)
    assert done.returncode == 1, done.stderr[-2000:]
    assert "KP002" in done.stderr
    assert out.read_bytes() == path.read_bytes().replace(b" cudaFree(0)", b" hipFree(0)")
    assert sorted(one.name for one in tmp_path.iterdir()) == ["table.cuh", "table.hip.cuh"]
