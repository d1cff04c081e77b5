#include "driver.h"
#include "wmma_base.cu"

int main(int, char** argv) {
  begin(argv);
  const size_t m = 256, n = 128, k = 96;
  half *a = input<half>(m * k), *b = input<half>(n * k), *c = zeros<half>(m * n);
  const int shared = BLOCK_ROWS * C_SMEM_STRIDE * sizeof(half);
  cudaFuncSetAttribute(wmmaBaseKernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared);
  wmmaBaseKernel<<<dim3(BLOCK_STRIDE, 1, 1), THREADS_PER_BLOCK, shared>>>(a, b, c, m, n, k);
  output(c, m * n);
}
