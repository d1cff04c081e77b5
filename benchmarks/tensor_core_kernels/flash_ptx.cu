#include "driver.h"
#include "flash_attention.cu"

int main(int, char** argv) {
  begin(argv);
  const int heads = 2, length = 128, dim = 64;
  half *q = input<half>(heads * length * dim), *k = input<half>(heads * length * dim), *v = input<half>(heads * length * dim);
  half* o = zeros<half>(heads * length * dim);
  transformer::FlashAttentionParams params = {q, k, v, o, nullptr, 1, heads, length, dim, 0.125f, true, nullptr};
  transformer::launch_flash_attention(params);
  output(o, heads * length * dim);
}
