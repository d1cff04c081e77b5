#include <cuda_runtime.h>

// What is read before the barriers is not used after them.
__global__ void reduce(const float *__restrict__ in, float *out) {
  __shared__ float part[256];
  const float scale = in[blockIdx.x];
  part[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  for (int width = 128; width > 0; width /= 2) {
    if (threadIdx.x < width) part[threadIdx.x] += part[threadIdx.x + width];
    __syncthreads();
  }
  if (threadIdx.x == 0) out[blockIdx.x] = scale * part[0];
}

// No branch follows: the read stays where it is.
__global__ void turned(float *out) {
  __shared__ float row[64];
  row[threadIdx.x] = out[threadIdx.x];
  __syncthreads();
  float other = row[63 - threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = other;
}
