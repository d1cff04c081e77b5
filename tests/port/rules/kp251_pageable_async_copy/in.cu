#include <cstdlib>
#include <cuda_runtime.h>

void upload(float *to, int n, cudaStream_t stream) {
  float *staging = (float *)malloc(n * sizeof(float));
  cudaMemcpyAsync(to, staging, n * sizeof(float), cudaMemcpyHostToDevice, stream);
  free(staging);
}
