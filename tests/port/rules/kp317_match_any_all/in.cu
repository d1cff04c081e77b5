#include <cuda_runtime.h>

__global__ void group(const int* keys, int* size, int* same) {
  int key = keys[threadIdx.x];
  unsigned peers = __match_any_sync(0xffffffff, key);
  size[threadIdx.x] = __popc(peers);
  int uniform;
  __match_all_sync(0xffffffff, key, &uniform);
  same[threadIdx.x] = uniform;
  unsigned half = 0xffffu << (threadIdx.x & 16);
  size[threadIdx.x] += __popc(__match_any_sync(half, key));
}
