// innocent: only one of the two runs
#include <cub/cub.cuh>
template <bool Maximum>
__global__ void one_of(const int* in, int* out) {
  using Reduce = cub::BlockReduce<int, 128>;
  __shared__ typename Reduce::TempStorage storage;
  int r;
  if (Maximum) {
    r = Reduce(storage).Reduce(in[threadIdx.x], cub::Max());
  } else {
    r = Reduce(storage).Sum(in[threadIdx.x]);
  }
  if (threadIdx.x == 0) *out = r;
}
