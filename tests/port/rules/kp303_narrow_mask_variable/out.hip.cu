#include <hip/hip_runtime.h>

struct Votes {
  unsigned bits;
};

__device__ unsigned vote(bool p) {
  return (unsigned)(__ballot(p) >> (__lane_id() & 32));
}

__global__ void compact(const int* in, int* out, Votes* all, int* n) {
  int lane = threadIdx.x & 31;
  unsigned votes = (unsigned)(__ballot(in[threadIdx.x] != 0) >> (__lane_id() & 32));
  int before = __popc(votes & ((1u << lane) - 1));
  if (in[threadIdx.x] != 0) {
    unsigned live = (unsigned)(__ballot(1) >> (__lane_id() & 32));
    all[threadIdx.x >> 5].bits = ((unsigned)(__ballot(in[threadIdx.x] > 1) >> (__lane_id() & 32)) & live);
    out[before] = in[threadIdx.x];
  }
  if (lane == 0) atomicAdd(n, __popc(votes) + __popc(vote(true)));
}
