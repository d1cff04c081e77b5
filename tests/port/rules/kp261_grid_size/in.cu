#include <cuda_runtime.h>

#define BLOCKS (1 << 24)
constexpr int kThreads = 256;

__global__ void touch(char *p) { p[(size_t)blockIdx.x * blockDim.x + threadIdx.x] = 1; }

void run(char *p) { touch<<<BLOCKS, kThreads>>>(p); }
