#include <cuda_runtime.h>

struct Votes {
  unsigned bits;
};

__device__ unsigned vote(bool p) {
  return __ballot_sync(0xffffffff, p);
}

__global__ void compact(const int* in, int* out, Votes* all, int* n) {
  int lane = threadIdx.x & 31;
  unsigned votes = __ballot_sync(0xffffffff, in[threadIdx.x] != 0);
  int before = __popc(votes & ((1u << lane) - 1));
  if (in[threadIdx.x] != 0) {
    unsigned live = __activemask();
    all[threadIdx.x >> 5].bits = __ballot_sync(live, in[threadIdx.x] > 1);
    out[before] = in[threadIdx.x];
  }
  if (lane == 0) atomicAdd(n, __popc(votes) + __popc(vote(true)));
}
