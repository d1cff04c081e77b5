#include <hip/hip_cooperative_groups.h>
#include <hip/hip_runtime.h>

namespace cg = cooperative_groups;

__device__ int aggregated_increment(int* counter) {
  cg::coalesced_group active = cg::coalesced_threads();
  int base = 0;
  if (active.thread_rank() == 0) base = atomicAdd(counter, (int)active.size());
  return active.shfl(base, 0) + (int)active.thread_rank();
}

__global__ void filter(int* out, int* counter, const int* in, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && in[i] > 0) out[aggregated_increment(counter)] = in[i];
}

__global__ void votes(unsigned long long* out, const int* in) {
  auto tile = cg::tiled_partition<16>(cg::this_thread_block());
  const int v = in[threadIdx.x];
  unsigned long long r = tile.ballot(v > 0) + tile.match_any(v);
  r += (unsigned long long)(tile.any(v == 1) + tile.all(v >= 0));
  auto half = cg::binary_partition(tile, v > 3);
  out[threadIdx.x] = r + half.size();
}
