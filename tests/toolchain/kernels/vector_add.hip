#include <hip/hip_runtime.h>

extern "C" __global__ void vector_add(const float* a, const float* b, float* c, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i];
}

int main() {
  float *a = nullptr, *b = nullptr, *c = nullptr;
  hipLaunchKernelGGL(vector_add, dim3(4), dim3(256), 0, nullptr, a, b, c, 1024);
  return hipDeviceSynchronize() == hipSuccess ? 0 : 1;
}
