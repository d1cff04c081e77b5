#include <cuda_runtime.h>

__global__ void totals(const int* in, const unsigned* words, int* sum, unsigned* any) {
  sum[threadIdx.x] = __reduce_add_sync(0xffffffff, in[threadIdx.x]);
  sum[threadIdx.x] += __reduce_max_sync(0xffffffff, in[threadIdx.x]);
  any[threadIdx.x] = __reduce_or_sync(0xffffffffu, words[threadIdx.x]);
}
