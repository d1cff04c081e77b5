#include <cuda_fp16.h>
#include <mma.h>

using namespace nvcuda;

__global__ void bits(const unsigned *a, const unsigned *b, int *c) {
  wmma::fragment<wmma::matrix_a, 8, 8, 128, wmma::experimental::precision::b1, wmma::row_major> left;
  wmma::fragment<wmma::matrix_b, 8, 8, 128, wmma::experimental::precision::b1, wmma::col_major> right;
  wmma::fragment<wmma::accumulator, 8, 8, 128, int> sum;
  wmma::fill_fragment(sum, 0);
  wmma::bmma_sync(sum, left, right, sum);
}

__global__ void diagonal(float *c) {
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> tiles[2];
  wmma::fill_fragment(tiles[0], 0.0f);
  tiles[0].x[2] = 1.0f;
  tiles[0].x[threadIdx.x % 8] += 1.0f;
  wmma::store_matrix_sync(c, tiles[0], 16, wmma::mem_row_major);
}

__global__ void rows_of_nvidia(const float *bias, float *c) {
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
  wmma::fill_fragment(sum, 0.0f);
  for (int i = 0; i < sum.num_elements; ++i) {
    int row = threadIdx.x / 4 + (i % 4) / 2 * 8;
    c[row * 16 + threadIdx.x % 4 * 2] = sum.x[i];
  }
}

__global__ void nibbles(const void *a, const void *b, int *c) {
  wmma::fragment<wmma::matrix_a, 8, 8, 32, wmma::experimental::precision::s4, wmma::row_major> left;
  wmma::fragment<wmma::matrix_b, 8, 8, 32, wmma::experimental::precision::u4, wmma::col_major> right;
  wmma::fragment<wmma::accumulator, 8, 8, 32, int> sums;
  wmma::load_matrix_sync(left, a, 32);
  wmma::load_matrix_sync(right, b, 32);
  wmma::fill_fragment(sums, 0);
  wmma::mma_sync(sums, left, right, sums);
  wmma::store_matrix_sync(c, sums, 8, wmma::mem_row_major);
}

__global__ void built_in(const int *a, float *c) {
  int left[8];
  __hmma_m16n16k16_ld_a(left, a, 16, 0);
  __hmma_m16n16k16_mma_f32f32(c, left, left, c, 0, 0);
}
