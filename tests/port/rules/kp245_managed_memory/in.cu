#include <cuda_runtime.h>

__device__ __managed__ int counter;

int *make(int n) {
  int *p = nullptr;
  cudaMallocManaged(&p, n * sizeof(int));
  return p;
}
