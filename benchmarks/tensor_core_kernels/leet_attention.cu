#include "driver.h"
#include "flash_attn_mma_share_qkv_F32F16F16F32.cu"

int main(int, char** argv) {
  begin(argv);
  const int length = 128, dim = 64, pad = 8;
  half *q = input<half>(length * dim), *k = input<half>(length * dim), *v = input<half>(length * dim);
  half* o = zeros<half>(length * dim);
  flash_attn_mma_stages_split_q_shared_qkv_acc_f32_kernel<dim, 16, 8, 16, 4, 1, 4, 1, 1, 8, 1, dim / 8, 1, 1, pad, pad, pad>
      <<<dim3(length / 64, 1), 128, 64 * (dim + pad) * sizeof(half)>>>(q, k, v, o, length, 1);
  output(o, length * dim);
}
