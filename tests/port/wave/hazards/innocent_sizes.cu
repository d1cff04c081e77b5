// innocent: the constant only sizes the block
constexpr int kWarpSize = 32;
constexpr int kThreads = 8 * kWarpSize;
__global__ void sized(float* out) { out[blockIdx.x * kThreads + threadIdx.x] = 0; }
void launch(float* out) { sized<<<16, kThreads>>>(out); }
