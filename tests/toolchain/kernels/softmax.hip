#include <hip/hip_runtime.h>

#include <limits>

__device__ float block_reduce(float v, float* shared, bool maximum) {
  for (int offset = warpSize / 2; offset > 0; offset /= 2) {
    const float other = __shfl_xor(v, offset);
    v = maximum ? fmaxf(v, other) : v + other;
  }
  const int lane = threadIdx.x % warpSize, wave = threadIdx.x / warpSize;
  __syncthreads();
  if (lane == 0) shared[wave] = v;
  __syncthreads();
  v = shared[0];
  for (int i = 1; i < (int)blockDim.x / warpSize; ++i) v = maximum ? fmaxf(v, shared[i]) : v + shared[i];
  return v;
}

__global__ void softmax(float* out, const float* in, int columns) {
  __shared__ float shared[32];
  const float* row = in + (size_t)blockIdx.x * columns;
  float top = -std::numeric_limits<float>::infinity();
  for (int c = threadIdx.x; c < columns; c += blockDim.x) top = fmaxf(top, row[c]);
  top = block_reduce(top, shared, true);
  float sum = 0.0f;
  for (int c = threadIdx.x; c < columns; c += blockDim.x) sum += __expf(row[c] - top);
  sum = block_reduce(sum, shared, false);
  for (int c = threadIdx.x; c < columns; c += blockDim.x) out[(size_t)blockIdx.x * columns + c] = __expf(row[c] - top) / sum;
}
