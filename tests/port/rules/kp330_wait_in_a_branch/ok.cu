#include <cuda/barrier>

__global__ void ping(int *out) {
  __shared__ cuda::barrier<cuda::thread_scope_block> bar;
  if (threadIdx.x == 0) init(&bar, blockDim.x);
  __syncthreads();
  if (threadIdx.x == 0) out[0] = 1;
  bar.arrive_and_wait();
}
