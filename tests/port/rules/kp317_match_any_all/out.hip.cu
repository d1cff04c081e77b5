#include <hip/hip_runtime.h>

__global__ void group(const int* keys, int* size, int* same) {
  int key = keys[threadIdx.x];
  unsigned peers = (unsigned)(__match_any(key) >> (__lane_id() & 32));
  size[threadIdx.x] = __popc(peers);
  int uniform;
  (unsigned)(__match_all_sync(__ballot(1) & (0xffffffffull << (__lane_id() & 32)), key, &uniform) >> (__lane_id() & 32));
  same[threadIdx.x] = uniform;
  unsigned half = 0xffffu << (threadIdx.x & 16);
  size[threadIdx.x] += __popc(((unsigned)(__match_any(key) >> (__lane_id() & 32)) & half));
}
