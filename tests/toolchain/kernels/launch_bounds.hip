#include <hip/hip_runtime.h>

__global__ __launch_bounds__(64) void small_block(float* out) { out[threadIdx.x] = threadIdx.x; }

__global__ __launch_bounds__(1024, 2) void large_block(float* out, const float* in) {
  float v[16];
  for (int i = 0; i < 16; ++i) v[i] = in[threadIdx.x + i * 1024];
  for (int i = 0; i < 16; ++i) out[threadIdx.x + i * 1024] = v[i] * v[15 - i];
}

__attribute__((amdgpu_flat_work_group_size(128, 128), amdgpu_waves_per_eu(2, 4))) __global__ void exact(int* out) {
  out[threadIdx.x] = 1;
}
