#include <cooperative_groups.h>
#include <cuda_runtime.h>

namespace cg = cooperative_groups;

// The next tile is written by all threads but the last one's turn: a branch on which all agree.
__global__ void tiles(const float *in, float *out, int n) {
  __shared__ float tile[256];
  float sum = 0;
  tile[threadIdx.x] = in[threadIdx.x];
  for (int i = 0; i < n; ++i) {
    __syncthreads();
    float other = tile[threadIdx.x ^ 33];
    __syncthreads();
    if (i + 1 < n) tile[threadIdx.x] = in[threadIdx.x + 256 * i];
    sum += other;
  }
  out[threadIdx.x] = sum;
}

// A variable of the block, an array of the thread, and a barrier without braces.
__global__ void published(const int *in, int *out, int n) {
  __shared__ int base, rows[64];
  int held[2];
  if (threadIdx.x == 0) base = in[0];
  __syncthreads();
  const int first = base;
  if (n > 1) __syncthreads();
  for (int i = 0; i < 2; ++i) held[i] = rows[i + threadIdx.x];
  __syncthreads();
  if (n > 0) {
    base = rows[0] = n;
    __syncthreads();
    out[threadIdx.x] = first + held[0] + held[1] + base;
  }
}

// Memory of the caller, and the group of a block.
__device__ float total(float value, float *room) {
  cg::thread_block block = cg::this_thread_block();
  room[threadIdx.x] = value;
  block.sync();
  float sum = room[0] + room[1];
  block.sync();
  return sum;
}

__global__ void chosen(const int *in, int *out, int n) {
  __shared__ int first;
  first = in[0];
  __syncthreads();
  const int kept = first;
  n > 1 ? (void)n : __syncthreads();
  if (n > 0) out[threadIdx.x] = kept;
}
