#include <cuda_runtime.h>

struct cudaMemsetParams;
void by_name(int *out) {
  cudaMemsetParams zeros = {0};
  cudaKernelNodeParams none = {};
  zeros.dst = out;
  cudaMemsetParams copy = zeros;
  cudaMemsetParams named = {.dst = out, .elementSize = 4};
}
