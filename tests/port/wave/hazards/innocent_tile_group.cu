// innocent: a tile of 32 is right on both widths
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
__global__ void tiles(const float* in, float* out) {
  auto tile = cg::tiled_partition<32>(cg::this_thread_block());
  float v = in[threadIdx.x];
  for (int o = tile.size() / 2; o > 0; o >>= 1) v += tile.shfl_down(v, o);
  if (tile.thread_rank() == 0) out[threadIdx.x / 32] = v;
}
