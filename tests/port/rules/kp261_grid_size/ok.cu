#include <cuda_runtime.h>

#define BLOCKS (1 << 20)

__global__ void touch(char *p) { p[(size_t)blockIdx.x * blockDim.x + threadIdx.x] = 1; }

void run(char *p, int blocks) {
  touch<<<BLOCKS, 256>>>(p);
  touch<<<blocks, 1024>>>(p);
}
