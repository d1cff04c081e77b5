#include <cuda_runtime.h>

__global__ void measure(long long *ticks) {
  long long start = clock64();
  *ticks = clock64() - start;
}

double seconds(long long ticks) {
  int rate = 0;
  cudaDeviceGetAttribute(&rate, cudaDevAttrClockRate, 0);
  return ticks / (rate * 1e3);
}
