"""Public tensor-core kernels: where they come from, the inputs of a small run, and the result by NumPy.

A case has a driver in tensor_core_kernels/ that includes the kernel's file. `files` are copied beside the driver from a
checkout of the repository. `sizes` replaces the value of a #define of theirs: NVIDIA's samples have no other way to
choose a size. `cut` takes out instantiations of templates that the run does not use.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Case:
    """One kernel. `tolerance` is the largest difference, as a part of the largest expected value."""

    name: str
    repository: str
    uses: str
    driver: str
    files: tuple[str, ...]
    kernel: str
    draw: Callable[[np.random.Generator], list[Array]]
    expected: Callable[..., Array]
    result: str
    tolerance: float
    defines: tuple[str, ...] = ()
    sizes: tuple[tuple[str, int], ...] = ()
    cut: tuple[str, ...] = ()  # instantiations that the run does not use, as regular expressions
    capability: str = "90"  # of the original's build


def to_bf16(values: Array) -> Array:
    """The nearest bfloat16, as 16-bit words."""
    words = values.astype(np.float32).view(np.uint32)
    return ((words + 0x7FFF + (words >> 16 & 1)) >> 16).astype(np.uint16)


def from_bf16(words: Array) -> Array:
    """The values of bfloat16 words."""
    return (words.astype(np.uint32) << 16).view(np.float32).astype(np.float64)


def read_result(data: bytes, kind: str) -> Array:
    """What a driver wrote."""
    if kind == "bf16":
        return from_bf16(np.frombuffer(data, np.uint16))
    return np.frombuffer(data, kind).astype(np.float64)


def halves(source: np.random.Generator, *shape: int) -> Array:
    return source.normal(size=shape).astype(np.float16)


def bfloats(source: np.random.Generator, *shape: int) -> Array:
    return to_bf16(source.normal(size=shape))


def times_transposed(a: Array, b: Array) -> Array:
    return a.astype(np.float64) @ b.astype(np.float64).T


def draw_attention(source: np.random.Generator) -> list[Array]:
    return [bfloats(source, rows, 128) for rows in (64, 128, 128)]


def attention(q: Array, k: Array, v: Array) -> Array:
    scores = from_bf16(q) @ from_bf16(k).T / np.sqrt(128)
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    return weights / weights.sum(axis=1, keepdims=True) @ from_bf16(v)


def softmax(scores: Array) -> Array:
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True)


def causal_attention(q: Array, k: Array, v: Array) -> Array:
    """With what the original computes: its ldmatrix.trans turns each 8x8 block of K."""
    q, k, v = (one.astype(np.float64) for one in (q, k, v))
    k = k.reshape(-1, 16, 8, 8, 8).transpose(0, 1, 4, 3, 2).reshape(k.shape)
    scores = np.where(np.tri(q.shape[1], dtype=bool), q @ k.transpose(0, 2, 1) / 8, -np.inf)
    return softmax(scores) @ v


def draw_int8_attention(source: np.random.Generator) -> list[Array]:
    factors = [source.integers(-127, 128, (128, 64)).astype(np.int8) for _ in range(2)]
    return [*factors, halves(source, 128, 64), *((source.random(n) / 64).astype(np.float32) for n in (4, 2))]


def int8_attention(q: Array, k: Array, v: Array, scale_q: Array, scale_k: Array) -> Array:
    """Each 32 queries and each 64 keys have a scale."""
    scales = np.repeat(scale_q, 32)[:, None].astype(np.float64) * np.repeat(scale_k, 64)[None, :]
    return softmax(times_transposed(q, k) * scales / 8) @ v.astype(np.float64)


def draw_row_scaled(source: np.random.Generator) -> list[Array]:
    factors = [source.integers(-128, 128, (128, 256)).astype(np.int8) for _ in range(2)]
    return [*factors, *(source.random(128).astype(np.float32) for _ in range(2))]


def row_scaled(a: Array, b: Array, scale_a: Array, scale_b: Array) -> Array:
    return times_transposed(a, b) * scale_a[:, None] * scale_b[None, :]


def draw_row_scaled_fp8(source: np.random.Generator) -> list[Array]:
    codes = [source.integers(0, 0x78, (128, 256)) | source.integers(0, 2, (128, 256)) << 7 for _ in range(2)]
    return [*(code.astype(np.uint8) for code in codes), *(source.random(128).astype(np.float32) for _ in range(2))]


def from_e4m3(codes: Array) -> Array:
    exponent, fraction = codes.astype(np.int64) >> 3 & 15, codes.astype(np.int64) & 7
    size = np.where(exponent == 0, fraction * 2.0**-9, (8 + fraction) * 2.0 ** (exponent - 10))
    return np.where(codes & 128, -size, size)


def row_scaled_fp8(a: Array, b: Array, scale_a: Array, scale_b: Array) -> Array:
    return row_scaled(from_e4m3(a), from_e4m3(b), scale_a, scale_b)


# Marlin: 4-bit weights (k, n) in the order in which a lane of mma.m16n8k16 reads them, scales for groups of 128.
def draw_marlin(source: np.random.Generator) -> list[Array]:
    m, n, k, group = 16, 256, 256, 128
    codes = source.integers(0, 16, (k, n))
    scales = (source.random((k // group, n)) * 0.1).astype(np.float16)
    order = []
    for lane in range(32):
        rows = [2 * (lane % 4) + row for row in (0, 1, 8, 9)]
        one = [16 * row + lane // 4 + 8 * block for block in (0, 1) for row in rows]
        order += [place + 256 * tile for tile in range(4) for place in one]
    places = np.array(order).reshape(-1, 8)[:, [0, 2, 4, 6, 1, 3, 5, 7]].ravel()
    tiles = codes.reshape(k // 16, 16, n // 16, 16).transpose(0, 2, 1, 3).reshape(k // 16, n * 16)
    tiles = tiles.reshape(-1, len(places))[:, places].reshape(tiles.shape).astype(np.uint32)
    packed = np.zeros((k // 16, n * 2), np.uint32)
    for index in range(8):
        packed |= tiles[:, index::8] << np.uint32(4 * index)
    columns = [i + 8 * j for i in range(8) for j in range(8)]
    shuffled = scales.reshape(-1, 64)[:, columns].reshape(scales.shape)
    return [halves(source, m, k), packed, shuffled, codes.astype(np.uint8), scales]


def marlin(a: Array, _packed: Array, _shuffled: Array, codes: Array, scales: Array) -> Array:
    weights = (codes.astype(np.float64) - 8) * np.repeat(scales.astype(np.float64), 128, axis=0)
    return a.astype(np.float64) @ weights


NF4 = np.array([
    -1.0, -0.6961928009986877, -0.5250730514526367, -0.39491748809814453, -0.28444138169288635, -0.18477343022823334,
    -0.09105003625154495, 0.0, 0.07958029955625534, 0.16093020141124725, 0.24611230194568634, 0.33791524171829224,
    0.44070982933044434, 0.5626170039176941, 0.7229568362236023, 1.0,
])  # fmt: skip


def draw_nf4(source: np.random.Generator) -> list[Array]:
    m, n, k, block = 32, 64, 128, 64
    codes = source.integers(0, 256, (n, k // 2)).astype(np.uint8)
    return [halves(source, m, k), codes, source.random((n, k // block)).astype(np.float32), halves(source, n)]


def nf4(a: Array, codes: Array, absmax: Array, bias: Array) -> Array:
    levels = np.stack([codes >> 4, codes & 15], axis=-1).reshape(len(codes), -1)
    return times_transposed(a, NF4[levels] * np.repeat(absmax, 64, axis=1)) + bias.astype(np.float64)


def draw_fft(source: np.random.Generator) -> list[Array]:
    return [halves(source, 4096) for _ in range(2)]


def fft(re: Array, im: Array) -> Array:
    full = np.fft.fft(re.astype(np.float64) + 1j * im.astype(np.float64)) / 4096
    return np.concatenate([full.real, full.imag])


def draw_fp6(source: np.random.Generator) -> list[Array]:
    m, n, k = 256, 16, 128
    codes = source.integers(0, 64, (m, k)).astype(np.uint8)
    bits = np.unpackbits(codes[..., None], axis=-1)[..., 2:]
    packed = np.packbits(bits.reshape(m, -1), axis=1).view(np.uint32)
    return [packed, source.random(m).astype(np.float16), halves(source, n, k), codes]


def fp6(_packed: Array, scales: Array, b: Array, codes: Array) -> Array:
    exponent, fraction = codes.astype(np.int64) >> 2 & 7, codes.astype(np.int64) & 3
    size = np.where(exponent == 0, fraction * 2.0**-4, (4 + fraction) * 2.0 ** (exponent - 5))
    weights = np.where(codes & 32, -size, size) * scales.astype(np.float64)[:, None]
    return times_transposed(b, weights)


def draw_playground(source: np.random.Generator) -> list[Array]:
    return [halves(source, 256, 64), halves(source, 64, 256), halves(source, 256, 256)]


def playground(a: Array, b: Array, c: Array) -> Array:
    return 0.5 * (a.astype(np.float64) @ b.astype(np.float64)) + 2.0 * c.astype(np.float64)


# AccSpMM: windows of 8 rows. A block of a window has 8 of its columns, a bit for each value, and the values.
def draw_sparse(source: np.random.Generator) -> list[Array]:
    windows, nodes, features, each = 4, 32, 128, 20
    dense = np.zeros((windows * 8, nodes), np.float32)
    bits, columns, values = [], [], []
    for window in range(windows):
        chosen = [*source.permutation(nodes)[:14], nodes + 1, nodes + 1]  # the last two are no columns
        for block in (0, 1):
            places = np.sort(source.permutation([p for p in range(64) if chosen[block * 8 + p % 8] < nodes])[:each])
            drawn = source.normal(size=each).astype(np.float32)
            for place, value in zip(places, drawn, strict=True):
                dense[window * 8 + place // 8, chosen[block * 8 + place % 8]] = value
            bits.append(sum(1 << int(place) for place in places))
            columns += chosen[block * 8 : block * 8 + 8]
            values.append(drawn)
    return [
        np.array(bits, np.uint64), np.array(columns, np.uint32), np.concatenate(values),
        np.arange(windows + 1, dtype=np.uint32) * 2, np.arange(windows * 2, dtype=np.uint32) * each,
        source.normal(size=(nodes, features)).astype(np.float32), dense,
    ]  # fmt: skip


def sparse(_bits: Array, _columns: Array, _values: Array, _blocks: Array, _firsts: Array, b: Array, a: Array) -> Array:
    return a.astype(np.float64) @ b.astype(np.float64)


def draw_stencil(source: np.random.Generator) -> list[Array]:
    return [source.normal(size=(38, 72)), source.normal(size=(7, 7))]


def stencil(grid: Array, weights: Array) -> Array:
    """Every point of the inside from the 7x7 points around it; the edge stays zero."""
    result = np.zeros_like(grid)
    for row in range(7):
        for column in range(7):
            result[3:35, 4:68] += weights[row, column] * grid[row : row + 32, 1 + column : 65 + column]
    return result


def plain_attention(q: Array, k: Array, v: Array) -> Array:
    return softmax(times_transposed(q, k) / 8) @ v.astype(np.float64)


def sample_sum(a: Array, b: Array, c: Array) -> Array:
    return 2 * times_transposed(a, b) + 6 * c.astype(np.float64)


_COMMON = tuple(
    f"Common/{name}.h"
    for name in ("helper_cuda", "helper_functions", "helper_string", "helper_timer", "helper_image", "exception")
)


def sample(kind: str, kernel: str, types: tuple[str, str], skew: str, result: str, tolerance: float,
           draw: Callable[[np.random.Generator], list[Array]], expected: Callable[..., Array]) -> Case:  # fmt: skip
    """One of the GEMMs of NVIDIA's samples, of which a block makes one tile."""
    folder = f"Samples/3_CUDA_Features/{kind}TensorCoreGemm"
    return Case(
        f"{kind}TensorCoreGemm", "NVIDIA/cuda-samples", f"nvcuda::wmma{', cuda::pipeline' if kind != 'imma' else ''}",
        "sample_gemm.cu", (f"{folder}/{kind}TensorCoreGemm.cu", *_COMMON), kernel, draw, expected, result, tolerance,
        (f'SAMPLE="{kind}TensorCoreGemm.cu"', f"KERNEL={kernel}", f"OPERAND={types[0]}", f"RESULT={types[1]}",
         f"SKEW={skew}"),
        (("M_TILES", 8), ("N_TILES", 8), ("K_TILES", 16), ("SHARED_MEMORY_LIMIT_64K", 1)),
    )  # fmt: skip


_HGEMM = ("src/common/common.h", "src/common/ptx.h", "src/common/util.h", "src/common/logging.h")
_FP6 = "deepspeed/inference/v2/kernels/core_ops/cuda_linear/include"
_SAGE = ("cp_async", "math", "mma", "numeric_conversion", "permuted_smem", "reduction_utils", "utils")
_FFPA = ("cp_async", "dtype_traits", "mma", "prefill", "swizzle", "utils", "warp")
_SCALED = ("08_row_scaled_mm/common.h", "08_row_scaled_mm/row_scaled_mm_v1.cu")
CASES = (
    Case("mma_async_pg2s_ps2r", "Bruce-Lee-LY/cuda_hgemm", "mma f16, ldmatrix, cp.async", "hgemm_mma.cu",
         (*_HGEMM, "src/mma/mma_async_pg2s_ps2r.cu"), "mmaAsyncPg2sPs2rKernel",
         lambda source: [halves(source, 256, 96), halves(source, 128, 96)], times_transposed, "f2", 2**-8),
    Case("wmma_base", "Bruce-Lee-LY/cuda_hgemm", "nvcuda::wmma", "hgemm_wmma.cu",
         (*_HGEMM, "src/wmma/wmma_base.cu"), "wmmaBaseKernel",
         lambda source: [halves(source, 256, 96), halves(source, 128, 96)], times_transposed, "f2", 2**-8),
    Case("matmul_v4", "gau-nernst/learn-cuda", "mma bf16, ldmatrix, cp.async", "matmul_bf16.cu",
         ("02b_matmul_sm80/common.h", "02b_matmul_sm80/matmul_v1.cu"), "matmul_v1_kernel",
         lambda source: [bfloats(source, 128, 128) for _ in range(2)],
         lambda a, b: times_transposed(from_bf16(a), from_bf16(b)), "bf16", 2**-8),
    Case("attention_v5", "gau-nernst/learn-cuda", "mma bf16, ldmatrix.trans, cp.async", "attention.cu",
         ("07_attention/common.h", "07_attention/attention_v5.cu"), "attention_v5_kernel",
         draw_attention, attention, "bf16", 2**-6),
    Case("row_scaled_mm, int8", "gau-nernst/learn-cuda", "mma s8, ldmatrix, cp.async", "row_scaled_int8.cu",
         _SCALED, "row_scaled_mm_v1_kernel.*EaEv", draw_row_scaled, row_scaled, "bf16", 2**-8),
    Case("row_scaled_mm, e4m3", "gau-nernst/learn-cuda", "mma e4m3, ldmatrix, cp.async", "row_scaled_fp8.cu",
         _SCALED, "row_scaled_mm_v1_kernel.*fp8", draw_row_scaled_fp8, row_scaled_fp8, "bf16", 2**-8),
    Case("kernel 6", "alexarmbr/matmul-playground", "mma m16n8k8 f16, ldmatrix.trans", "playground_matmul.cu",
         tuple(f"src/{name}" for name in ("kernel6.cu", "device_utils.cuh", "structs_n_stuff.cuh")), "kernel_6",
         draw_playground, playground, "f2", 2**-8),
    Case("Marlin", "IST-DASLab/marlin", "mma f16, ldmatrix, cp.async, 4-bit weights", "marlin_int4.cu",
         ("marlin/marlin_cuda_kernel.cu",), "Marlin", draw_marlin, marlin, "f2", 2**-8,
         cut=(r"^ +CALL_IF\((?!1,  8,  8,  8)[^\n]*",)),
    Case("gemm_4bit_sm80", "bitsandbytes-foundation/bitsandbytes", "mma f16, ldmatrix, 4-bit weights", "gemm_4bit.cu",
         tuple(f"csrc/{name}" for name in ("gemm_4bit_sm80.cu", "gemm_4bit_sm80.cuh", "gemm_4bit_mma.cuh",
                                           "gemm_4bit_common.cuh", "compat.cuh")),
         "gemm_4bit_sm80_m16n8k16", draw_nf4, nf4, "f2", 2**-8, capability="86",
         cut=(r"^template void launch_gemm_4bit_sm80_m16n8k16<.*?\);",)),
    Case("fp6_linear", "deepspeedai/DeepSpeed", "mma f16, ldmatrix, cp.async, 6-bit weights", "fp6_linear.cu",
         (f"{_FP6}/*",), "QUANT_GEMM_Kernel", draw_fp6, fp6, "f2", 2**-8, capability="80"),
    Case("TensorFFT256, TensorRadix16", "CPestka/Tensor-FFT", "nvcuda::wmma", "fft.cu",
         tuple(f"src/base/{name}" for name in ("TensorFFT256.cu", "TensorRadix16.cu", "DFTMatrix.h")),
         "Tensor(?:FFT256|Radix16)", draw_fft, fft, "f2", 2**-6),
    Case("flash_attention v9", "Tugbars/Flash-Attention-PTX-CUDA", "mma f16, ldmatrix.trans, cp.async", "flash_ptx.cu",
         ("include/flash_attention.h", "kernels/flash_attention.cu"), "flash_attention_ptx_kernel",
         lambda source: [halves(source, 2, 128, 64) for _ in range(3)], causal_attention, "f2", 2**-8,
         cut=(r"launch_variant<64, BLOCK_N, D_HEAD, 8>\(params\);",
              r"flash_attention_ptx_kernel<[^<>]*false>\s*<<<[^<>]*>>>\([^;]*\);",
              r"CUDA_CHECK\(cudaFuncSetAttribute\(\s*flash_attention_ptx_kernel<[^<>]*false>[^;]*;")),
    Case("qk_int8_sv_f16", "thu-ml/SageAttention", "mma s8 and f16, ldmatrix.trans, cp.async", "sage_attention.cu",
         (*(f"csrc/{name}.cuh" for name in _SAGE), "csrc/dispatch_utils.h", "csrc/qattn/attn_utils.cuh",
          "csrc/qattn/qk_int_sv_f16_cuda_sm80.cu"),
         "qk_int_sv_f16_attn_kernel", draw_int8_attention, int8_attention, "f2", 2**-8,
         cut=(r"^#include <torch/extension.h>", r"^torch::Tensor .*",
              r"^__device__ __forceinline__ \w+ \w*(?:e4m3|e5m2|int8)\w*\(.*?^}")),
    Case("mma_matmul_3_0", "spatters/mma-matmul", "mma f16, ldmatrix, cp.async", "mma_matmul.cu", ("kernel_3.cu",),
         "mma_matmul_3_0", lambda source: [halves(source, 64, 4096) for _ in range(2)], times_transposed, "f4", 2**-12),
    Case("tf32_mma_kernel", "RokumeikanLu/AccSpMM", "mma tf32, cp.async, a sparse matrix", "sparse_tf32.cu",
         ("include/*",),
         "tf32_mma_kernel", draw_sparse, sparse, "f4", 2**-9),
    Case("kernel2d", "microsoft/ConvStencil", "nvcuda::wmma of double, a stencil", "stencil.cu",
         ("src/2d/gpu.cu", "src/2d/2d_utils.h"), "kernel2d", draw_stencil, stencil, "f8", 2**-48,
         sizes=(("PAD", 4),)),  # with its own 2 the last tile reads 8 bytes beyond the array
    Case("flash_attn, shared QKV", "xlite-dev/LeetCUDA", "mma f16, ldmatrix.trans, cp.async", "leet_attention.cu",
         ("kernels/flash-attn/utils/utils.h",
          "kernels/flash-attn/mma/basic/flash_attn_mma_share_qkv_F32F16F16F32.cu"),
         "flash_attn_mma_stages_split_q_shared_qkv", lambda source: [halves(source, 128, 64) for _ in range(3)],
         plain_attention, "f2", 2**-8,
         cut=(r"^#include <torch/\w+\.h>", r"^template <const int kHeadDim, const int kStage>\s*^void .*")),
    Case("split_d_fwd_sm80", "xlite-dev/ffpa-attn", "mma f16, ldmatrix.trans, cp.async", "ffpa_attention.cu",
         (*(f"csrc/cuffpa/native/{name}.cuh" for name in _FFPA), "csrc/cuffpa/native/sm_80/split_d.cuh",
          "csrc/cuffpa/common.cuh", "csrc/cuffpa/logging.cuh"), "split_d_fwd_sm80",
         lambda source: [halves(source, 128, 64) for _ in range(3)], plain_attention, "f2", 2**-8,
         cut=(r"^#include <torch/\w+\.h>",)),
    sample("bf16", "compute_bf16gemm_async_copy", ("__nv_bfloat16", "float"), "SKEW_BF16", "f4", 2**-20,
           lambda source: [*(bfloats(source, 128, 256) for _ in range(2)), source.normal(size=(128, 128)).astype("f4")],
           lambda a, b, c: sample_sum(from_bf16(a), from_bf16(b), c)),
    sample("tf32", "compute_tf32gemm_async_copy", ("float", "float"), "SKEW_FLOAT", "f4", 2**-9,
           lambda source: [source.normal(size=shape).astype("f4") for shape in ((128, 128),) * 3], sample_sum),
    sample("dmma", "compute_dgemm_cg_async_copy", ("double", "double"), "SKEW_DOUBLE", "f8", 2**-48,
           lambda source: [source.normal(size=(64, 64)) for _ in range(3)], sample_sum),
    sample("imma", "compute_gemm_imma", ("uint8_t", "int"), "SKEW_UINT8", "i4", 0.0,
           lambda source: [*(source.integers(0, 256, (128, 256)).astype("u1") for _ in range(2)),
                           source.integers(-9, 10, (128, 128)).astype("i4")], sample_sum),
)  # fmt: skip
