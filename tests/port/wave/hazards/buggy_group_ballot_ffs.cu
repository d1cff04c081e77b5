// buggy: KP302
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
__global__ void tile_first(const int* in, int* out) {
  auto tile = cg::tiled_partition<32>(cg::this_thread_block());
  out[threadIdx.x] = __ffs(tile.ballot(in[threadIdx.x]));
}
