#include <cstdint>

template <int WARP_M> __global__ void __launch_bounds__(128) tiles(const uint32_t *a, const uint32_t *b, float *c, int count) {
  float sums[WARP_M][4] = {};
#pragma unroll
  for (int m = 0; m < WARP_M; m++)
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};"
                 : "+f"(sums[m][0]), "+f"(sums[m][1]), "+f"(sums[m][2]), "+f"(sums[m][3])
                 : "r"(a[m]), "r"(a[m + 32]), "r"(b[m]));
  // The number of rounds is not a constant.
  for (int i = 0; i < count; i++) sums[i][0] += 1.0f;
  // No array of this function.
  for (int i = 0; i < 4; i++) c[i] = sums[0][0];
}
