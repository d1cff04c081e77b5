// innocent: a tile of 32 has a mask of 32 bits
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
__global__ void tile_votes(const int* in, unsigned* out) {
  auto tile = cg::tiled_partition<32>(cg::this_thread_block());
  unsigned votes = tile.ballot(in[threadIdx.x]);
  out[threadIdx.x] = __popc(votes);
}
