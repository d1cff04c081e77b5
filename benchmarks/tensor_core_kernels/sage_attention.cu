#include <algorithm>

#include "driver.h"
#include "qk_int_sv_f16_cuda_sm80.cu"

int main(int, char** argv) {
  begin(argv);
  const int length = 128, dim = 64;
  int8_t *q = input<int8_t>(length * dim), *k = input<int8_t>(length * dim);
  half* v = input<half>(length * dim);
  float *scale_q = input<float>(4), *scale_k = input<float>(2);
  half* o = zeros<half>(length * dim);
  auto kernel = qk_int_sv_f16_attn_kernel<128, 64, 32, 64, dim, DataType::kInt8, QuantGranularity::kPerWarp,
                                          QuantGranularity::kPerWarp, float, false, half, ComputeUnit::kTensorCore,
                                          MaskMode::kNone, false, false>;
  const int all = length * dim, shared = 128 * dim + 64 * dim + 64 * dim * 2;
  kernel<<<dim3(1, 1, 1), dim3(32, 4), shared>>>(q, k, v, o, nullptr, scale_q, scale_k, nullptr, length, length, 1, all, dim, all,
                                                 all, dim, all, all, dim, all, all, dim, all, 0.125f);
  output(o, length * dim);
}
