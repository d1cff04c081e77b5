#include <hip/hip_runtime.h>

__global__ void fill(int* out) {
  out[blockIdx.x * blockDim.x + threadIdx.x] = 1;
}

void launch(int* out) {
  hipDeviceProp_t prop;
  hipGetDeviceProperties(&prop, 0);
  fill<<<1, 32 * 32>>>(out);
}
