#include <hip/hip_runtime.h>

__global__ void count(const int* in, int* out) {
  int n = __popc((unsigned)(__ballot(in[threadIdx.x] > 0) >> (__lane_id() & 32)));
  int first = __ffs((unsigned)(__ballot(in[threadIdx.x] < 0) >> (__lane_id() & 32))) - 1;
  if ((threadIdx.x & 31) == 0) out[threadIdx.x >> 5] = n + first;
}
