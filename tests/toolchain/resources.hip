#include <hip/hip_runtime.h>
namespace math {
template <typename T> __global__ void scale(T* values, T factor, int count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) values[i] *= factor;
}
template __global__ void scale<float>(float*, float, int);
template __global__ void scale<double>(double*, double, int);
}
extern "C" __global__ __launch_bounds__(256) void block_sum(const float* in, float* out, int n) {
  __shared__ float part[256];
  float v = 0;
  for (int i = threadIdx.x; i < n; i += 256) v += in[i];
  part[threadIdx.x] = v;
  __syncthreads();
  for (int s = 128; s > 0; s >>= 1) { if (threadIdx.x < s) part[threadIdx.x] += part[threadIdx.x + s]; __syncthreads(); }
  if (threadIdx.x == 0) *out = part[0];
}
__global__ __launch_bounds__(1024, 8) void spilling(const float* in, float* out) {
  float v[120];
#pragma unroll
  for (int i = 0; i < 120; i++) v[i] = in[threadIdx.x + 1024 * i];
  __syncthreads();
#pragma unroll
  for (int i = 0; i < 120; i++) for (int j = 0; j < 3; j++) v[i] = v[i] * v[(i * 7 + j) % 120] + 1.0f;
#pragma unroll
  for (int i = 0; i < 120; i++) out[threadIdx.x + 1024 * i] = v[i];
}
__global__ void stack(const int* at, float* out) {
  float room[64];
  for (int i = 0; i < 64; i++) room[i] = i * 0.5f;
  for (int i = 0; i < 8; i++) room[at[i] & 63] += 1.0f;
  out[threadIdx.x] = room[at[8] & 63];
}
