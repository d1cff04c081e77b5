// innocent: one thread of the block waits
__device__ unsigned arrived;
__global__ void barrier(int* out) {
  __syncthreads();
  if (threadIdx.x == 0) {
    atomicAdd(&arrived, 1);
    while (atomicCAS(&arrived, 64u, 64u) != 64u) {
    }
  }
  __syncthreads();
  out[threadIdx.x] = 1;
}
