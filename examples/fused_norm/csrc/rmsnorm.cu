#include "rmsnorm.h"

#include "rmsnorm_kernel.cuh"

void launch_rmsnorm(const float* x, const float* weight, float* y, int rows, int columns, float eps, cudaStream_t stream) {
  rmsnorm<<<rows, kThreads, 0, stream>>>(x, weight, y, columns, eps);
}
