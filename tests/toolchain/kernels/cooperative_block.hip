#include <hip/hip_cooperative_groups.h>
#include <hip/hip_runtime.h>

namespace cg = cooperative_groups;

template <unsigned N> __device__ float tile_sum(const cg::thread_block_tile<N>& tile, float v) {
  for (unsigned offset = tile.size() / 2; offset > 0; offset /= 2) v += tile.shfl_down(v, offset);
  return v;
}

__device__ float group_sum(const cg::thread_group& group, float* scratch, float v) {
  const unsigned rank = group.thread_rank();
  for (unsigned i = group.size() / 2; i > 0; i /= 2) {
    scratch[rank] = v;
    group.sync();
    if (rank < i) v += scratch[rank + i];
    group.sync();
  }
  return v;
}

__global__ void block_sum(float* out, const float* in) {
  __shared__ float scratch[1024];
  cg::thread_block block = cg::this_thread_block();
  auto tile = cg::tiled_partition<32>(block);
  auto eighth = cg::tiled_partition<4>(tile);
  float v = in[block.group_index().x * block.size() + block.thread_rank()];
  v += tile_sum<32>(tile, v);
  v += eighth.shfl(v, 0) + float(eighth.meta_group_rank());
  v = group_sum(block, scratch, v);
  if (block.thread_rank() == 0) out[blockIdx.x] = v;
}
