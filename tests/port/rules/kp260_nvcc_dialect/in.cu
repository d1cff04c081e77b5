#include <cuda_runtime.h>

template <typename T>
__global__ void fill(T *p, T v) {
  p[threadIdx.x] = v;
}

void run(float *p) {
  fill<float> << <1, 64 >> > (p, 1.0f);
  fill << <dim3(1), dim3(64), 0, 0>> >(p, 2.0f);
}
