// The four tensor-core GEMMs of NVIDIA's samples. SAMPLE is the file, KERNEL its kernel, OPERAND and RESULT its types.
#include "driver.h"
#define main sample_main
#include SAMPLE
#undef main

int main(int, char** argv) {
  begin(argv);
  const int shared = MAX(sizeof(OPERAND) * BLOCK_COL_TILES * M * (CHUNK_K * K + SKEW) * 2,
                         M * BLOCK_ROW_WARPS * WARP_ROW_TILES * N * BLOCK_COL_WARPS * WARP_COL_TILES * sizeof(RESULT));
  OPERAND *a = input<OPERAND>(M_GLOBAL * K_GLOBAL), *b = input<OPERAND>(N_GLOBAL * K_GLOBAL);
  RESULT *c = input<RESULT>(M_GLOBAL * N_GLOBAL), *d = zeros<RESULT>(M_GLOBAL * N_GLOBAL);
  cudaFuncSetAttribute(KERNEL, cudaFuncAttributeMaxDynamicSharedMemorySize, shared);
  KERNEL<<<2, THREADS_PER_BLOCK, shared>>>(a, b, c, d, (RESULT)2, (RESULT)6);
  output(d, M_GLOBAL * N_GLOBAL);
}
