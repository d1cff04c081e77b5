"""Every shape, type and layout of nvcuda::wmma: a CUDA program, its inputs, and what NumPy says they come to.

Operands are small integers, so that sums are exact in any order; only half results are rounded, once. The program runs
emulated after a port, and as it is on an NVIDIA GPU (tests/hw/test_wmma_nvidia.py).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

WARPS = 3
# How the warps of a block enter a product (`mode` of the kernel).
TOGETHER, LOWER_ONLY, UPPER_ONLY, IN_DIFFERENT_CALLS = range(4)


@dataclass(frozen=True)
class Case:
    """One shape with its types, in CUDA's words and in NumPy's."""

    name: str
    shape: tuple[int, int, int]
    operand: str
    stored: str
    result: str
    numpy: Any
    numpy_result: Any
    low: int
    high: int


_SHAPES = ((16, 16, 16), (32, 8, 16), (8, 32, 16))
_TYPES = (
    ("half_float", "half", "half", "float", np.float16, np.float32, -40, 41),
    ("half_half", "half", "half", "half", np.float16, np.float16, -40, 41),
    ("bfloat16", "__nv_bfloat16", "__nv_bfloat16", "float", np.uint16, np.float32, -40, 41),
    ("signed_char", "signed char", "signed char", "int", np.int8, np.int32, -128, 128),
    ("unsigned_char", "unsigned char", "unsigned char", "int", np.uint8, np.int32, 0, 256),
)
CASES = (
    *(Case(f"{name}_{m}x{n}x{k}", (m, n, k), *rest) for name, *rest in _TYPES for m, n, k in _SHAPES),
    Case("tf32_16x16x8", (16, 16, 8), "wmma::precision::tf32", "float", "float", np.float32, np.float32, -40, 41),
    Case("double_8x8x4", (8, 8, 4), "double", "double", "double", np.float64, np.float64, -40, 41),
)

PRELUDE = """\
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <mma.h>

using namespace nvcuda;

template <typename Layout> struct is_rows { static const bool value = false; };
template <> struct is_rows<wmma::row_major> { static const bool value = true; };

// One product, or two, from operands that are stored by rows and behind that by columns.
template <int M, int N, int K, typename T, typename Stored, typename Result, typename LayoutA, typename LayoutB>
__device__ void multiply(const Stored *a, const Stored *b, const Result *c, Result *d, bool by_rows, bool twice) {
  wmma::fragment<wmma::matrix_a, M, N, K, T, LayoutA> left;
  wmma::fragment<wmma::matrix_b, M, N, K, T, LayoutB> right;
  wmma::fragment<wmma::accumulator, M, N, K, Result> sum, start;
  static_assert(32 * wmma::fragment<wmma::accumulator, M, N, K, Result>::num_elements == M * N, "each element once");
  const wmma::layout_t layout = by_rows ? wmma::mem_row_major : wmma::mem_col_major;
  wmma::load_matrix_sync(left, is_rows<LayoutA>::value ? a : a + M * K, is_rows<LayoutA>::value ? K : M);
  wmma::load_matrix_sync(right, is_rows<LayoutB>::value ? b : b + K * N, is_rows<LayoutB>::value ? N : K);
  wmma::load_matrix_sync(start, by_rows ? c : c + M * N, by_rows ? N : M, layout);
  wmma::fill_fragment(sum, Result(0));
  wmma::mma_sync(sum, left, right, sum);
  if (twice) wmma::mma_sync(sum, left, right, sum);
  for (int i = 0; i < sum.num_elements; ++i) sum.x[i] = sum.x[i] + start.x[i];
  wmma::store_matrix_sync(d, sum, by_rows ? N : M, layout);
}
template <int M, int N, int K, typename T, typename Stored, typename Result>
__device__ void layouts(const Stored *a, const Stored *b, const Result *c, Result *d) {
  const int warp = threadIdx.x / 32;
  a += 2 * M * K * warp, b += 2 * K * N * warp, c += 2 * M * N * warp, d += 8 * M * N * warp;
#pragma unroll 1
  for (int by_rows = 0; by_rows < 2; ++by_rows, d += 4 * M * N) {
    multiply<M, N, K, T, Stored, Result, wmma::row_major, wmma::row_major>(a, b, c, d, by_rows, false);
    multiply<M, N, K, T, Stored, Result, wmma::row_major, wmma::col_major>(a, b, c, d + M * N, by_rows, false);
    multiply<M, N, K, T, Stored, Result, wmma::col_major, wmma::row_major>(a, b, c, d + 2 * M * N, by_rows, false);
    multiply<M, N, K, T, Stored, Result, wmma::col_major, wmma::col_major>(a, b, c, d + 3 * M * N, by_rows, false);
  }
}
template <int M, int N, int K, typename T, typename Stored, typename Result>
__device__ void plain(const Stored *a, const Stored *b, const Result *c, Result *d) {
  const int warp = threadIdx.x / 32;
  a += 2 * M * K * warp, b += 2 * K * N * warp, c += 2 * M * N * warp, d += M * N * warp;
  multiply<M, N, K, T, Stored, Result, wmma::row_major, wmma::col_major>(a, b, c, d, true, false);
}
template <int M, int N, int K, typename T, typename Stored, typename Result>
__device__ void branches(const Stored *a, const Stored *b, const Result *c, Result *d, int mode) {
  const int warp = threadIdx.x / 32;
  a += 2 * M * K * warp, b += 2 * K * N * warp, c += 2 * M * N * warp, d += M * N * warp;
  if (mode == 3 && warp % 2 == 1)
    multiply<M, N, K, T, Stored, Result, wmma::row_major, wmma::col_major>(a, b, c, d, true, true);
  else if (mode == 3 || mode == 0 || warp % 2 == mode - 1)
    multiply<M, N, K, T, Stored, Result, wmma::row_major, wmma::col_major>(a, b, c, d, true, false);
}
"""
SINGLE = """\
extern "C" __global__ void saturated(const signed char *a, const signed char *b, const int *c, int *d) {
  wmma::fragment<wmma::matrix_a, 16, 16, 16, signed char, wmma::row_major> left;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, signed char, wmma::row_major> right;
  wmma::fragment<wmma::accumulator, 16, 16, 16, int> sum;
  wmma::load_matrix_sync(left, a, 16);
  wmma::load_matrix_sync(right, b, 16);
  wmma::load_matrix_sync(sum, c, 16, wmma::mem_row_major);
  wmma::mma_sync(sum, left, right, sum, true);
  wmma::store_matrix_sync(d, sum, 16, wmma::mem_row_major);
}
extern "C" __global__ void as_tf32(const float *in, float *out) {
  out[threadIdx.x] = wmma::__float_to_tf32(in[threadIdx.x]);
}
"""


def kernels(case: Case, *forms: str) -> str:
    """The kernels of a case: one product, one for each layout, and warps in branches."""
    types = f"{', '.join(map(str, case.shape))}, {case.operand}, {case.stored}, {case.result}"
    arguments = f"const {case.stored} *a, const {case.stored} *b, const {case.result} *c, {case.result} *d"
    made = {
        "plain": f"void plain_{case.name}({arguments}) {{ plain<{types}>(a, b, c, d); }}",
        "layouts": f"void layouts_{case.name}({arguments}) {{ layouts<{types}>(a, b, c, d); }}",
        "branches": f"void branches_{case.name}({arguments}, int mode) {{ branches<{types}>(a, b, c, d, mode); }}",
    }
    return "".join(f'extern "C" __global__ {made[form]}\n' for form in forms)


def program(form: str, *cases: Case) -> str:
    """CUDA source with one kernel for each case."""
    return PRELUDE + "".join(kernels(case, form) for case in cases)


@dataclass(frozen=True)
class Inputs:
    """The matrices of each warp, and the arrays that the kernels take."""

    a: Any
    b: Any
    c: Any
    arrays: tuple[Any, Any, Any]


def inputs(case: Case, seed: int = 7) -> Inputs:
    """Operands of every warp: integers that are exact in the operands' type."""
    m, n, k = case.shape
    source = np.random.default_rng(seed)
    a = source.integers(case.low, case.high, (WARPS, m, k))
    b = source.integers(case.low, case.high, (WARPS, k, n))
    c = source.integers(-1000, 1000, (WARPS, m, n))
    stored = [_both_orders(one, case.numpy) for one in (a, b)]
    return Inputs(a, b, c, (stored[0], stored[1], _both_orders(c, case.numpy_result)))


def _both_orders(matrices: Any, kind: Any) -> Any:
    flat = [np.concatenate([one.reshape(-1), one.T.reshape(-1)]) for one in matrices]
    values = np.concatenate(flat)
    if kind is np.uint16:  # bfloat16 is the upper half of a float
        return (values.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
    return values.astype(kind)


def expected(case: Case, given: Inputs, warp: int, twice: bool = False) -> Any:
    """The result of one warp: the product rounded to the result's type, added to c in that type."""
    kind = case.numpy_result
    product = given.a[warp] @ given.b[warp]
    total = product.astype(kind)
    if twice:
        total = (total.astype(np.float64) + product).astype(kind)
    return (total.astype(np.float64) + given.c[warp]).astype(kind)


def expected_layouts(case: Case, given: Inputs) -> Any:
    """What `layouts_...` writes: four products stored by columns, then four stored by rows, for each warp."""
    found = []
    for warp in range(WARPS):
        one = expected(case, given, warp)
        found += [one.T.reshape(-1)] * 4 + [one.reshape(-1)] * 4
    return np.concatenate(found)


def expected_branches(case: Case, given: Inputs, mode: int, untouched: float) -> Any:
    """What `branches_...` writes; warps that take no part leave `untouched`."""
    found = []
    for warp in range(WARPS):
        takes_part = mode in (TOGETHER, IN_DIFFERENT_CALLS) or warp % 2 == mode - 1
        one = expected(case, given, warp, twice=mode == IN_DIFFERENT_CALLS and warp % 2 == 1)
        found.append(one.reshape(-1) if takes_part else np.full(one.size, untouched, case.numpy_result))
    return np.concatenate(found)
