#include "driver.h"
#include "split_d.cuh"

int main(int, char** argv) {
  begin(argv);
  const int length = 128, dim = 64;
  half *q = input<half>(length * dim), *k = input<half>(length * dim), *v = input<half>(length * dim);
  half* o = zeros<half>(length * dim);
  split_d_fwd_sm80<half, dim, 16, 8, 16, 4, 1, 4, 1, 1, 8, 1, dim / 8, 1, 1, 1, 0, 0, 0, 0, 0, 0, 1, 1, 0, 0, 0>
      <<<dim3(length / 64, 1), 128, 48 * 1024>>>(q, k, v, o, zeros<float>(length), length, length, 1, 1, 0.125f, length / 64, 0, nullptr,
                                                 0, 0, 0, 0, 0, 0.0f, 0, 0);
  output(o, length * dim);
}
