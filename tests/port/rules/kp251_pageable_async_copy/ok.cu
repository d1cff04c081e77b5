#include <cstdlib>
#include <cuda_runtime.h>

void upload(float *to, int n, cudaStream_t stream) {
  float *staging = (float *)malloc(n * sizeof(float));
  cudaMemcpyAsync(to, staging, n * sizeof(float), cudaMemcpyHostToDevice, stream);
  cudaStreamSynchronize(stream);
  free(staging);
}

void download(float *host, const float *from, int n, cudaStream_t stream, float *other) {
  cudaMemcpyAsync(host, from, n * sizeof(float), cudaMemcpyDeviceToHost, stream);
  free(other);
}
