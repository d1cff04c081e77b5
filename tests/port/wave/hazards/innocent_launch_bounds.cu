// innocent: 32 in launch bounds
__global__ void __launch_bounds__(32 * 8) bounded(float* out) { out[threadIdx.x] = 32.0f; }
