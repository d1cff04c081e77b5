"""Single-source and torch-extension: the original is there, line for line, where the gate is closed."""

from __future__ import annotations

import pytest

from kernel_pytorch.port.cxx.source import cxx_file
from kernel_pytorch.port.hipify.file import HipifyOptions, hipify_file
from kernel_pytorch.port.layouts.gates import GATE
from kernel_pytorch.port.names.compat_header import compat_header
from kernel_pytorch.verify.isolation import Verdict, compare_file

SOURCE = b"""\
#include <cuda_runtime.h>
#define FULL 0xffffffff
#define SHIFT(v) \\
  __shfl_down_sync(FULL, v, 1)
#ifdef __CUDACC__
__device__ int sum(int v) {
  for (int o = 16; o > 0; o >>= 1) v += __shfl_down_sync(0xffffffff, v, o);
  return v;
}
#endif
int main() { return cudaDeviceSynchronize() != cudaSuccess; }
"""


def folded(text: bytes) -> bytes:
    """The gate closed, by a few lines of this test's own."""
    kept: list[bytes] = []
    side, depth = "both", 0
    for line in text.splitlines(keepends=True):
        if side == "both" and line.strip() == GATE:
            side = "rocm"
        elif side == "rocm" and depth == 0 and line.strip() == b"#else":
            side = "cuda"
        elif side == "cuda" and depth == 0 and line.strip() == b"#endif":
            side = "both"
        else:
            if side != "both":
                depth += line.lstrip().startswith(b"#if") - line.lstrip().startswith(b"#endif")
            if side != "rocm":
                kept.append(line)
    return b"".join(kept)


@pytest.mark.parametrize("layout", ["single-source", "torch-extension"])
@pytest.mark.parametrize("newline", [b"\n", b"\r\n"])
def test_the_original_comes_back(layout: str, newline: bytes) -> None:
    data = SOURCE.replace(b"\n", newline)
    after = hipify_file(cxx_file("a.cu", data), None, HipifyOptions(layout=layout)).after
    assert after != data
    assert compare_file("a.cu", data, after).verdict is Verdict.PROVEN


def test_without_conditions_it_comes_back_byte_for_byte() -> None:
    data = b"\n".join(line for line in SOURCE.splitlines() if b"CUDACC" not in line and line != b"#endif") + b"\n"
    after = hipify_file(cxx_file("a.cu", data), None, HipifyOptions(layout="single-source")).after
    assert after != data
    assert folded(after) == data


def test_names_stay_in_single_source_and_the_header_maps_them() -> None:
    result = hipify_file(cxx_file("a.cu", SOURCE), None, HipifyOptions(layout="single-source"))
    assert b"cudaDeviceSynchronize() != cudaSuccess" in result.after
    header = compat_header([result.needs])
    assert "#define cudaDeviceSynchronize hipDeviceSynchronize\n" in header
    assert "#define cudaSuccess hipSuccess\n" in header
    assert "#include <hip/hip_runtime.h>\n" in header
    assert "cudaMalloc" not in header


def test_a_macro_is_gated_as_a_whole() -> None:
    after = hipify_file(cxx_file("a.cu", SOURCE), None, HipifyOptions(layout="torch-extension")).after
    assert b"\\\n#else" not in after
    assert b"\\\n#if" not in after


def test_a_condition_asks_both_questions_in_one_line() -> None:
    after = hipify_file(cxx_file("a.cu", SOURCE), None, HipifyOptions(layout="single-source")).after
    assert b"#if defined(__HIPCC__) || defined(__CUDACC__)\n" in after


def test_torch_renames_cudacc_itself_and_not_nvcc() -> None:
    options = HipifyOptions(layout="torch-extension")
    after = hipify_file(cxx_file("a.cu", SOURCE), None, options).after
    assert b"#ifdef __CUDACC__\n" in after
    data = b"#ifndef __NVCC__\nint host_only();\n#endif\n__device__ int f() { return 1; }\n"
    after = hipify_file(cxx_file("a.cu", data), None, options).after
    assert b"#if !defined(__NVCC__) && !defined(__HIPCC__)\n" in after
    assert compare_file("a.cu", data, after).verdict is Verdict.PROVEN


def test_lines_that_follow_each_other_have_one_gate() -> None:
    data = b"#define BALLOT(m, p) __ballot_sync(m, p)\n#define SHIFT(m, v) __shfl_up_sync(m, v, 1)\nint after;\n"
    after = hipify_file(cxx_file("a.cuh", data), None, HipifyOptions(layout="torch-extension")).after
    assert after.count(GATE) == 1 and after.count(b"#else") == 1
    assert compare_file("a.cuh", data, after).verdict is Verdict.PROVEN


def test_a_last_line_without_newline() -> None:
    data = b"__device__ int f(int v) { return __shfl_down_sync(0xffffffff, v, 1); }"
    after = hipify_file(cxx_file("a.cu", data), None, HipifyOptions(layout="torch-extension")).after
    assert after.endswith(b"#endif\n")
    assert compare_file("a.cu", data, after).verdict is Verdict.PROVEN


def test_neighbouring_lines_stand_behind_one_gate() -> None:
    lines = b"".join(b"__device__ int f%d(int v) { return __shfl_sync(0xffffffff, v, 0); }\n" % n for n in range(3))
    after = hipify_file(cxx_file("a.cuh", lines), None, HipifyOptions(layout="single-source")).after
    assert after.count(GATE) == 1
    assert folded(after) == lines


def test_a_condition_between_neighbours_keeps_its_own_question() -> None:
    data = b"int a(int v) { return __popc(__ballot_sync(~0u, v)); }\n#ifdef __CUDA_ARCH__\nint b;\n#endif\n"
    after = hipify_file(cxx_file("a.cuh", data), None, HipifyOptions(layout="single-source")).after
    assert b"#if defined(__HIP_DEVICE_COMPILE__) || defined(__CUDA_ARCH__)\n" in after
    assert compare_file("a.cuh", data, after).verdict is Verdict.PROVEN


def test_a_negated_question_is_asked_once() -> None:
    data = b"#ifndef __CUDA_ARCH__\n#include <algorithm>\n#endif\n__device__ int f(int v);\n"
    after = hipify_file(cxx_file("a.cuh", data), None, HipifyOptions(layout="single-source")).after
    assert after.startswith(b"#if !defined(__CUDA_ARCH__) && !defined(__HIP_DEVICE_COMPILE__)\n")
    assert compare_file("a.cuh", data, after).verdict is Verdict.PROVEN
