# ruff: noqa: E501 (one kernel to a line)
"""Kernels with and without races, planted one by one: what `--check races` must find, and what it must leave alone."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Planted:
    """A kernel over `float *x` (and its block count); `racy` is whether it races."""

    name: str
    blocks: int
    racy: bool
    body: str


# Blocks of 256 threads: several waves at either width. `t` is the thread, `b` the block.
PLANTED = (
    Planted("no_barrier_read", 1, True, "s[t] = x[t]; x[t] = s[255 - t];"),
    Planted("barrier_read", 1, False, "s[t] = x[t]; __syncthreads(); x[t] = s[255 - t];"),
    Planted("overwritten_too_early", 1, True, "s[t] = x[t]; __syncthreads(); x[t] = s[255 - t]; s[t] = 1; x[t] += s[t];"),
    Planted("overwritten_in_time", 1, False, "s[t] = x[t]; __syncthreads(); float a = s[255 - t]; __syncthreads(); s[t] = a; x[t] = s[t];"),
    Planted("same_wave_only", 1, False, "s[t] = x[t]; x[t] = s[t / 32 * 32 + 31 - t % 32];"),
    Planted("one_word_for_all", 1, True, "s[0] = t; asm volatile(\"\" ::: \"memory\"); x[t] = s[0];"),
    Planted("bytes_beside_each_other", 1, False, "bytes[t] = t; __syncthreads(); x[t] = bytes[255 - t];"),
    Planted("bytes_within_a_word", 1, True, "bytes[t] = t; x[t] = bytes[255 - t];"),
    Planted("bytes_then_words", 1, True, "bytes[t] = t; x[t] = ((volatile int *)bytes)[63 - t % 64];"),
    Planted("wide_reads_of_narrow_writes", 1, True, "s[t] = t; float4 v = ((float4 *)s)[63 - t / 4]; x[t] = v.x + v.w;"),
    Planted("odd_threads_only", 1, True, "if (t & 1) s[t] = t; x[t] = s[t ^ 129];"),
    Planted("strided", 1, True, "s[t * 7 % 256] = t; x[t] = s[(t * 7 + 70) % 256];"),
    Planted("lds_atomics", 1, False, "if (t == 0) s[0] = 0; __syncthreads(); atomicAdd(&s[0], 1.0f); __syncthreads(); x[t] = s[0];"),
    Planted("atomic_and_plain_write", 1, True, "if (t == 0) s[0] = 0; __syncthreads(); if (t < 64) s[0] = 2; else atomicAdd(&s[0], 1.0f); x[t] = 0;"),
    Planted("blocks_write_one_word", 4, True, "x[t] = b;"),
    Planted("blocks_apart", 4, False, "x[b * 256 + t] = b;"),
    Planted("neighbour_block_read", 4, True, "x[b * 256 + t] = x[(b + 1) % 4 * 256 + t] + 1;"),
    Planted("global_atomics", 4, False, "atomicAdd(&x[t % 8], 1.0f);"),
    Planted("global_atomic_and_write", 4, True, "if (b < 2) x[t % 8] = 1; else atomicAdd(&x[t % 8], 1.0f);"),
    Planted("last_block_sums", 4, False,
            "x[b * 256 + t] = b; __threadfence(); __syncthreads(); __shared__ int last; "
            "if (t == 0) last = atomicAdd((int *)x + 1024, 1); __syncthreads(); if (last == 3) x[1025 + t] = x[t] + x[768 + t];"),
    Planted("unordered_sum", 4, True,
            "x[b * 256 + t] = b; __syncthreads(); if (b == 3) x[1025 + t] = x[t] + x[768 + t];"),
    Planted("wide_writes_of_another_block", 2, True, "((float4 *)x)[t] = float4{1, 2, 3, float(b)};"),
    Planted("wide_writes_apart", 2, False, "((float4 *)x)[b * 256 + t] = float4{1, 2, 3, float(b)};"),
    Planted("one_word_of_a_wide_write", 2, True, "if (b == 0) ((float4 *)x)[t] = float4{1, 2, 3, 4}; else if (t == 99) x[399] = 1;"),
    Planted("word_beside_wide_writes", 2, False, "if (b == 0) { if (t < 99) ((float4 *)x)[t] = float4{1, 2, 3, 4}; } else x[400 + t] = 1;"),
    Planted("pairs_then_words", 2, True, "((float2 *)x)[b * 256 + t] = float2{1, 2}; x[(1 - b) * 512 + t] += 1;"),
    Planted("atomics_between_lds", 1, False,
            "for (int i = 0; i < 3; i++) { s[t] = i; atomicAdd(&x[1024], 1.0f); __syncthreads(); x[t] += s[255 - t]; __syncthreads(); }"),
    Planted("atomics_instead_of_a_barrier", 1, True,
            "for (int i = 0; i < 3; i++) { s[t] = i; atomicAdd(&x[1024], 1.0f); x[t] += s[255 - t]; }"),
    Planted("lds_atomics_then_read", 1, True, "if (t == 0) s[0] = 0; __syncthreads(); atomicAdd(&s[0], 1.0f); x[t] = s[0];"),
    Planted("broadcast_then_write", 1, True, "if (t == 0) s[0] = 1; __syncthreads(); float a = s[0]; if (t == 0) s[0] = 2; __syncthreads(); x[t] = a + s[0];"),
    Planted("broadcast_then_write_in_time", 1, False,
            "if (t == 0) s[0] = 1; __syncthreads(); float a = s[0]; __syncthreads(); if (t == 0) s[0] = 2; __syncthreads(); x[t] = a + s[0];"),
    Planted("last_reader_writes", 1, True,
            "if (t == 0) s[0] = 1; __syncthreads(); float a = s[0]; if (t == 255) s[0] = 2; __syncthreads(); x[t] = a + s[0];"),
    Planted("last_reader_writes_in_time", 1, False,
            "if (t == 0) s[0] = 1; __syncthreads(); float a = s[0]; __syncthreads(); a += s[t / 256]; __syncthreads(); if (t == 255) s[0] = 2; "
            "__syncthreads(); x[t] = a + s[0];"),
    Planted("only_reader_writes", 1, False, "s[t] = t; __syncthreads(); float a = s[t]; s[t] = a + 1; x[t] = s[t];"),
    Planted("last_block_reads_and_writes", 4, True, "float a = x[t]; if (b == 3) x[t] = a + 1; else x[256 * (b + 1) + t] = a;"),
    Planted("every_block_reads", 4, False, "x[256 * (b + 1) + t] = x[t] + b;"),
    Planted("half_words_across_blocks", 2, False, "((short *)x)[b + 2 * t] = t;"),
    Planted("half_words_shared_by_blocks", 2, True, "((short *)x)[t] = t;"),
)  # fmt: skip

SOURCE = "#include <hip/hip_runtime.h>\n" + "\n".join(
    f"__global__ void {one.name}(float *x) {{\n  __shared__ alignas(16) float s[256];\n"
    "  __shared__ alignas(16) unsigned char bytes[256];\n  int t = threadIdx.x, b = blockIdx.x;\n"
    f"  (void)s; (void)bytes; (void)b;\n  {one.body}\n}}"
    for one in PLANTED
)
