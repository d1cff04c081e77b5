#include <cub/cub.cuh>

// cub::WarpReduce<int> with its width, and a block's reduction.
__global__ void warp_total(const int* in, int* out) {
  using Reduce = cub::WarpReduce<int, 32>;
  using Block = cub::BlockReduce<int, 128>;
  __shared__ typename Reduce::TempStorage storage[4];
  __shared__ typename Block::TempStorage block;
  int sum = Reduce(storage[threadIdx.x / 32]).Sum(in[threadIdx.x]);
  if (threadIdx.x % 32 == 0) out[threadIdx.x / 32] = sum + Block(block).Sum(1);
}
