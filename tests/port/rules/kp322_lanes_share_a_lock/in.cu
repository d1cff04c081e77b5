#include <cuda_runtime.h>

__device__ int lock_word;

__global__ void locked(int* data) {
  while (atomicCAS(&lock_word, 0, 1) != 0) {
  }
  data[0] += threadIdx.x;
  __threadfence();
  atomicExch(&lock_word, 0);
}

__global__ void insert(int* locks, int* data, int n) {
  int i = threadIdx.x % n;
  bool done = false;
  while (!done) {
    if (atomicCAS(&locks[i], 0, 1) == 0) {
      data[i]++;
      __threadfence();
      atomicExch(&locks[i], 0);
      done = true;
    }
  }
}
