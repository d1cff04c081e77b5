#include "driver.h"
#include "gemm_4bit_sm80.cu"

int main(int, char** argv) {
  begin(argv);
  const int m = 32, n = 64, k = 128, block = 64, nf4 = 2;
  half* a = input<half>(m * k);
  uint8_t* b = input<uint8_t>(n * k / 2);
  float* absmax = input<float>(n * k / block);
  half *bias = input<half>(n), *c = zeros<half>(m * n);
  const auto kernel = gemm_4bit_sm80_m16n8k16<half, 32, 64, 128>;
  const int shared = 2 * (32 + 64) * (128 + 8) * sizeof(half);
  cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared);
  kernel<<<1, CTA_SIZE, shared>>>(a, b, absmax, nullptr, nullptr, nullptr, c, bias, m, n, k, block, nf4);
  output(c, m * n);
}
