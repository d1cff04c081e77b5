// buggy: KP302
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
__global__ void queue(const int* in, int* out) {
  auto tile = cg::tiled_partition<16>(cg::this_thread_block());
  auto waiting = tile.ballot(in[threadIdx.x]);
  out[threadIdx.x] = __ffs(waiting) - 1;
  out[threadIdx.x + 32] = __popc(waiting & 0xff);
}
#define QUALIFIER __device__ inline
struct Bucket {
  cg::thread_block_tile<16> tile;
  template <typename Equal> QUALIFIER int place(Equal equal) {
    auto found = tile.ballot(equal(1));
    return __ffs(found) - 1;
  }
  DEVICE_QUALIFIER int other(bool is) {
    auto found = tile.ballot(is);
    return __ffs(found) - 1;
  }
};
