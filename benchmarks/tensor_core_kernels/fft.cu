#include "driver.h"
#include "TensorFFT256.cu"
#include "TensorRadix16.cu"

int main(int, char** argv) {
  begin(argv);
  const int length = 4096, warps = length / 256, shared = 1024 * sizeof(half) * 4;
  half *re = input<half>(length), *im = input<half>(length);
  half *base_re = zeros<half>(length), *base_im = zeros<half>(length);
  TensorFFT256<int><<<warps / 4, 128, shared>>>(re, im, base_re, base_im, length, 2, 0);
  TensorRadix16<int><<<warps / 4, 128, shared>>>(base_re, base_im, re, im, length, 256);
  output(re, length);
  output(im, length);
}
