#include "driver.h"
#include "row_scaled_mm_v1.cu"

int main(int, char** argv) {
  begin(argv);
  const int m = 128, n = 128, k = 256;
  __nv_fp8_e4m3 *a = input<__nv_fp8_e4m3>(m * k), *b = input<__nv_fp8_e4m3>(n * k);
  float *scale_a = input<float>(m), *scale_b = input<float>(n);
  nv_bfloat16* c = zeros<nv_bfloat16>(m * n);
  row_scaled_mm_v1(a, b, scale_a, scale_b, c, m, n, k);
  output(c, m * n);
}
