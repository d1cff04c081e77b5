#include "driver.h"
#include "matmul_v1.cu"

int main(int, char** argv) {
  begin(argv);
  const int m = 128, n = 128, k = 128;
  nv_bfloat16 *a = input<nv_bfloat16>(m * k), *b = input<nv_bfloat16>(n * k), *c = zeros<nv_bfloat16>(m * n);
  matmul_v4(a, b, c, m, n, k);
  output(c, m * n);
}
