#include <cuda_runtime.h>

__global__ void combine(unsigned *out, const unsigned *a, const unsigned *b) {
  int i = threadIdx.x;
  out[i] = __vadd4(a[i], b[i]) ^ __vcmpgtu2(a[i], b[i]) ^ __vabsdiffu4(a[i], b[i]);
}
