// innocent: ranks and size of the group itself
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
__device__ int add_once(int* counter) {
  cg::coalesced_group g = cg::coalesced_threads();
  int base = 0;
  if (g.thread_rank() == 0) base = atomicAdd(counter, g.size());
  return g.shfl(base, 0) + g.thread_rank();
}
