// The sum of every row, one block per row. Planted: a slot is written for each wave of `warpSize` lanes, and a slot is
// read for each 32 threads. That is right where a wave has 32 lanes; where it has 64, half of the slots hold nothing.
#include <cuda_runtime.h>

constexpr int kThreads = 128;

__global__ void row_sums(const float* x, float* y) {
  __shared__ float partial[kThreads / 32];
  float value = x[blockIdx.x * kThreads + threadIdx.x];
  for (int offset = warpSize / 2; offset > 0; offset /= 2) value += __shfl_down(value, offset);
  if (threadIdx.x % warpSize == 0) partial[threadIdx.x / warpSize] = value;
  __syncthreads();
  if (threadIdx.x == 0) {
    float total = 0;
    for (int i = 0; i < kThreads / 32; i++) total += partial[i];  // the fault
    y[blockIdx.x] = total;
  }
}

void launch_row_sums(const float* x, float* y, int rows, cudaStream_t stream) {
  row_sums<<<rows, kThreads, 0, stream>>>(x, y);
}
