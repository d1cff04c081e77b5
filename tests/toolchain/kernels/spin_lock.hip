#include <hip/hip_runtime.h>

__device__ void locked_add(int* lock, volatile float* value, float x) {
  bool done = false;
  while (!done) {
    if (atomicCAS(lock, 0, 1) == 0) {
      *value = *value + x;
      __threadfence();
      atomicExch(lock, 0);
      done = true;
    }
  }
}

__global__ void accumulate(int* lock, float* value, const float* in) { locked_add(lock, value, in[threadIdx.x]); }
