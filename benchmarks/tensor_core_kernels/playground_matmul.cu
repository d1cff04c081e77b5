#include "driver.h"
#include "kernel6.cu"

int main(int, char** argv) {
  begin(argv);
  const unsigned m = 256, n = 256, k = 64;
  half *a = input<half>(m * k), *b = input<half>(k * n), *c = input<half>(m * n), *d = zeros<half>(m * n);
  cudaFuncSetAttribute(kernel_6<256, 256, 32, 128, 64, 8, 256>, cudaFuncAttributeMaxDynamicSharedMemorySize, 65536);
  kernel_6<256, 256, 32, 128, 64, 8, 256><<<dim3(1, 1), dim3(128, 2), 65536>>>(a, b, c, d, 0.5f, 2.0f, m, n, k);
  output(d, m * n);
}
