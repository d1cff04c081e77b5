#include <hip/hip_runtime.h>
#include <cstdint>

template <int WARP_M, int WARP_N> __global__ void tiles(const uint32_t *a, const uint32_t *b, float *c) {
  constexpr int rows = WARP_M / 16;
  float sums[rows][WARP_N / 8][4] = {};
  uint32_t left[4];
  #pragma unroll (rows)
  for (int m = 0; m < rows; m++)
    #pragma unroll (WARP_N / 8)
    for (int n = 0; n < WARP_N / 8; n++) {
      for (int i = 0; i < 4; i++) left[i] = a[4 * threadIdx.x + i];
      asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                   : "+f"(sums[m][n][0]), "+f"(sums[m][n][1]), "+f"(sums[m][n][2]), "+f"(sums[m][n][3])
                   : "r"(left[0]), "r"(left[1]), "r"(left[2]), "r"(left[3]), "r"(b[threadIdx.x]), "r"(b[threadIdx.x + 32]));
    }
  c[threadIdx.x] = sums[0][0][0];
}

template <int STEPS> __global__ void counted(const uint32_t *a, const uint32_t *b, float *c) {
  float sums[8][4] = {};
  uint32_t left[STEPS][8][4], right[STEPS][2];
#pragma unroll (STEPS)
  for (unsigned int k = 0; k < STEPS; k++) {
#pragma unroll
    for (int n = 0; n < 8; n++)
      asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                   : "+f"(sums[n][0]), "+f"(sums[n][1]), "+f"(sums[n][2]), "+f"(sums[n][3])
                   : "r"(left[k][n][0]), "r"(left[k][n][1]), "r"(left[k][n][2]), "r"(left[k][n][3]), "r"(right[k][0]), "r"(right[k][1]));
  }
  c[threadIdx.x] = sums[0][0];
}
