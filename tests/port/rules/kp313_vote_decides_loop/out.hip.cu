#include <hip/hip_runtime.h>

__global__ void walk(const int* next, int* at) {
  int p = at[threadIdx.x];
  bool active = p >= 0;
  while (((unsigned)(__ballot(active) >> (__lane_id() & 32)) != 0)) {
    if (active) p = next[p];
    active = p >= 0;
  }
  for (;;) {
    if (((unsigned)((__ballot(p < 0) ^ __ballot(1)) >> (__lane_id() & 32)) == 0)) break;
    p--;
  }
  at[threadIdx.x] = p;
}
