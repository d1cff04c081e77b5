#include <cuda_runtime.h>

#include <cstdint>

void release(cudaStream_t* streams, int32_t count) {
  int done[count] = {0};
  for (int i = 0; i < count; i++) {
    done[i] += cudaStreamDestroy(streams[i]) == cudaSuccess;
  }
}

float sum(const float* values, size_t n) {
  const size_t half = n;
  float copy[n]={};
  for (size_t i = 0; i < half; i++) copy[i] += values[i];
  return copy[0];
}
