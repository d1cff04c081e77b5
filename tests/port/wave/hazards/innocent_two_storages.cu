// innocent: a storage each
#include <cub/cub.cuh>
__global__ void both(const int* in, int* out) {
  using Reduce = cub::BlockReduce<int, 64>;
  __shared__ typename Reduce::TempStorage first, second;
  int sum = Reduce(first).Sum(in[threadIdx.x]);
  int more = Reduce(second).Sum(in[threadIdx.x] * 2);
  if (threadIdx.x == 0) out[0] = sum + more;
}
