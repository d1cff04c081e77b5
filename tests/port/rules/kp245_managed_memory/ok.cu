#include <cuda_runtime.h>
// cudaMallocManaged would be slow here
int *make(int n) {
  int *p = nullptr;
  cudaMalloc(&p, n * sizeof(int));
  return p;
}
