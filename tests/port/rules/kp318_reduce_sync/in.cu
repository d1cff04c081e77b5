#include <cuda_runtime.h>

__global__ void totals(const int* in, const unsigned* words, int* sum, unsigned* any) {
  sum[threadIdx.x] = __reduce_add_sync(0xffffffff, in[threadIdx.x]);
  sum[threadIdx.x] += __reduce_max_sync(0xffffffff, in[threadIdx.x]);
  any[threadIdx.x] = __reduce_or_sync(0xffffffffu, words[threadIdx.x]);
}

__device__ int of_some(unsigned mask, int value) { return __reduce_add_sync(mask, value); }
__device__ unsigned least(unsigned lanes, unsigned value) { return __reduce_min_sync(lanes & 0xffff, value); }
