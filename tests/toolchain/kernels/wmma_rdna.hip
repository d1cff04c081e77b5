#include <hip/hip_runtime.h>

typedef _Float16 half16v __attribute__((ext_vector_type(16)));
typedef _Float16 half8v __attribute__((ext_vector_type(8)));
typedef float float8v __attribute__((ext_vector_type(8)));

// One 16x16 tile with RDNA's matrix instructions: operands of 16 halves a lane on RDNA3, of 8 on RDNA4.
__global__ void tile16(float* d, const _Float16* a, const _Float16* b) {
  const int lane = threadIdx.x % 32;
#if defined(__gfx1100__) || defined(__gfx1101__) || defined(__gfx1102__)
  half16v x, y;
  for (int i = 0; i < 16; ++i) {
    x[i] = a[(lane % 16) * 16 + i];
    y[i] = b[i * 16 + lane % 16];
  }
  float8v acc = {};
  acc = __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(x, y, acc);
  for (int i = 0; i < 8; ++i) d[(i * 2 + lane / 16) * 16 + lane % 16] = acc[i];
#elif defined(__gfx1200__) || defined(__gfx1201__)
  half8v x, y;
  for (int i = 0; i < 8; ++i) {
    x[i] = a[(lane % 16) * 16 + (lane / 16) * 8 + i];
    y[i] = b[((lane / 16) * 8 + i) * 16 + lane % 16];
  }
  float8v acc = {};
  acc = __builtin_amdgcn_wmma_f32_16x16x16_f16_w32_gfx12(x, y, acc);
  for (int i = 0; i < 8; ++i) d[((lane / 16) * 8 + i) * 16 + lane % 16] = acc[i];
#else
  for (int e = threadIdx.x; e < 256; e += blockDim.x) {
    float sum = 0;
    for (int k = 0; k < 16; ++k) sum += float(a[(e / 16) * 16 + k]) * float(b[k * 16 + e % 16]);
    d[e] = sum;
  }
#endif
}
