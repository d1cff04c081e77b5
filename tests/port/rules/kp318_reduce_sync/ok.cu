#include <cuda_runtime.h>

__device__ int reduce_add(int a, int b) { return a + b; }
__global__ void totals(const int* in, int* sum) { sum[threadIdx.x] = reduce_add(in[threadIdx.x], 32); }
