#include <cuda_runtime.h>

__global__ void walk(const int* next, int* at) {
  int p = at[threadIdx.x];
  bool active = p >= 0;
  while (__any_sync(0xffffffff, active)) {
    if (active) p = next[p];
    active = p >= 0;
  }
  for (;;) {
    if (__all_sync(0xffffffff, p < 0)) break;
    p--;
  }
  at[threadIdx.x] = p;
}
