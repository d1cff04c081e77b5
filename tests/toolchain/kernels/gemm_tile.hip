#include <hip/hip_runtime.h>

template <int TILE, int PER_THREAD> __global__ void gemm(float* c, const float* a, const float* b, int m, int n, int k) {
  __shared__ float as[TILE][TILE], bs[TILE][TILE];
  const int tx = threadIdx.x, ty = threadIdx.y;
  const int row = blockIdx.y * TILE + ty * PER_THREAD, column = blockIdx.x * TILE + tx;
  float sum[PER_THREAD] = {};
  for (int base = 0; base < k; base += TILE) {
#pragma unroll
    for (int i = 0; i < PER_THREAD; ++i) {
      const int y = ty * PER_THREAD + i;
      as[y][tx] = row + i < m && base + tx < k ? a[(row + i) * k + base + tx] : 0.0f;
      bs[y][tx] = base + y < k && column < n ? b[(base + y) * n + column] : 0.0f;
    }
    __syncthreads();
    for (int e = 0; e < TILE; ++e)
#pragma unroll
      for (int i = 0; i < PER_THREAD; ++i) sum[i] = fmaf(as[ty * PER_THREAD + i][e], bs[e][tx], sum[i]);
    __syncthreads();
  }
  for (int i = 0; i < PER_THREAD; ++i)
    if (row + i < m && column < n) c[(row + i) * n + column] = sum[i];
}

template __global__ void gemm<32, 4>(float*, const float*, const float*, int, int, int);
template __global__ void gemm<16, 1>(float*, const float*, const float*, int, int, int);
