#include <hip/hip_runtime.h>
#define THREADS 256
#define BLOCKS_PER_SM 4

template <int Threads>
__global__ __launch_bounds__(Threads) void fill(int *p) {
  p[blockIdx.x * Threads + threadIdx.x] = 1;
}

__global__ void __launch_bounds__(THREADS) twice(int *p) {
  p[threadIdx.x] *= 2;
}

template __global__ void fill<128>(int *);

// One block at least, and clusters of two.
__global__ void __launch_bounds__(128) clustered(float *d) { d[0] = 1; }
