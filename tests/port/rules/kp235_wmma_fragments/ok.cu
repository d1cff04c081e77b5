#include <cuda_fp16.h>
#include <mma.h>

using namespace nvcuda;

struct Point {
  float x[3];
};

// Elements by a loop, and an x that is no fragment's.
__global__ void scale(const half *a, const half *b, float *c, Point *point) {
  wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> left;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> right;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
  wmma::fill_fragment(sum, 0.0f);
  wmma::load_matrix_sync(left, a, 16);
  wmma::load_matrix_sync(right, b, 16);
  wmma::mma_sync(sum, left, right, sum);
  for (int i = 0; i < sum.num_elements; i++) sum.x[i] = sum.x[i] * 2.0f;
  wmma::store_matrix_sync(c, sum, 16, wmma::mem_row_major);
  Point here = *point;
  here.x[1] = 0;
  *point = here;
}

__global__ void kept_beside(float *c, float scale) {
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
  wmma::fill_fragment(sum, 0.0f);
  float before[8];
  for (int i = 0; i < sum.num_elements; ++i) before[i] = sum.x[i];
  for (int i = 0; i < sum.num_elements; ++i) sum.x[i] = scale * sum.x[i] + before[i];
  wmma::store_matrix_sync(c, sum, 16, wmma::mem_row_major);
}
