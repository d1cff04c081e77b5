#include <cuda_runtime.h>

__global__ void kernel(int *p) { *p = 1; }

int run(int *p, cudaEvent_t stop) {
  kernel<<<1, 1>>>(p);
  if (cudaGetLastError() != cudaSuccess) return 1;
  kernel<<<1, 1>>>(p);
  cudaError_t status = cudaEventRecord(stop);
  if (status != cudaSuccess) return 2;
  kernel<<<1, 1>>>(p);
  cudaDeviceSynchronize();
  return cudaGetLastError() != cudaSuccess;
}
