#include <mma.h>

using namespace nvcuda;

#define WARP_SIZE 32
#define THREADS_PER_BLOCK (WARP_SIZE * 8)  // eight warps

__global__ void product(const half *a, const half *b, float *c) {
  wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> left;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> right;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
  wmma::fill_fragment(sum, 0.0f);
  wmma::load_matrix_sync(left, a, 16);
  wmma::load_matrix_sync(right, b, 16);
  wmma::mma_sync(sum, left, right, sum);
  wmma::store_matrix_sync(c, sum, 16, wmma::mem_row_major);
}

template <int Tiles> __global__ void many(const half *a, const half *b, float *c) {
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
  wmma::fill_fragment(sum, 0.0f);
  wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> left;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> right;
  wmma::load_matrix_sync(left, a, 16 * Tiles);
  wmma::load_matrix_sync(right, b, 16);
  wmma::mma_sync(sum, left, right, sum);
  wmma::store_matrix_sync(c, sum, 16, wmma::mem_row_major);
}

void launch(const half *a, const half *b, float *c, int threads) {
  dim3 block(64, 2);
  cudaFuncSetAttribute(product, cudaFuncAttributeMaxDynamicSharedMemorySize, 1024);
  product<<<1, THREADS_PER_BLOCK>>>(a, b, c);
  product<<<1, block>>>(a, b, c);
  many<4><<<1, threads>>>(a, b, c);
}

template <int Warps, class T> __global__ void rows(const half *a, const half *b, float *c) {
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
  wmma::fill_fragment(sum, 0.0f);
  wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> left;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> right;
  wmma::load_matrix_sync(left, a, 16 * Warps);
  wmma::load_matrix_sync(right, b, 16);
  wmma::mma_sync(sum, left, right, sum);
  wmma::store_matrix_sync(c, sum, 16, wmma::mem_row_major);
}

template <int N> void launch_rows(const half *a, const half *b, float *c) {
  dim3 block(WARP_SIZE, N);
  auto kernel = rows<N, float>;
  kernel<<<1, block>>>(a, b, c);
}
