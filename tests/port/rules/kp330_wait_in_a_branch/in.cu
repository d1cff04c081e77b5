#include <cuda/barrier>

__global__ void ping(int *out) {
  __shared__ cuda::barrier<cuda::thread_scope_block> bar;
  __shared__ int slot;
  if (threadIdx.x == 0) init(&bar, blockDim.x);
  __syncthreads();
  if (threadIdx.x / 32 == 0) {
    slot = 1;
    bar.arrive();
  } else {
    bar.arrive_and_wait();
    out[threadIdx.x] = slot;
  }
}
