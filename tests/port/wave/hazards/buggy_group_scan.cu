// buggy: KP321
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
__global__ void tile_scan(const int* in, int* out) {
  auto tile = cg::tiled_partition<32>(cg::this_thread_block());
  out[threadIdx.x] = cg::inclusive_scan(tile, in[threadIdx.x]);
}
