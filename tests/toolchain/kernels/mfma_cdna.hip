#include <hip/hip_runtime.h>

typedef float float4v __attribute__((ext_vector_type(4)));
typedef float float16v __attribute__((ext_vector_type(16)));
typedef _Float16 half4v __attribute__((ext_vector_type(4)));
typedef short short4v __attribute__((ext_vector_type(4)));
typedef double double4v __attribute__((ext_vector_type(4)));

// One 16x16 tile with the matrix cores of CDNA; a plain loop on targets without them.
__global__ void tile16(float* d, const _Float16* a, const _Float16* b) {
  const int lane = threadIdx.x;
#if defined(__gfx90a__) || defined(__gfx942__) || defined(__gfx950__)
  half4v x, y;
  for (int i = 0; i < 4; ++i) {
    x[i] = a[(lane % 16) * 16 + (lane / 16) * 4 + i];
    y[i] = b[((lane / 16) * 4 + i) * 16 + lane % 16];
  }
  float4v acc = {0, 0, 0, 0};
  acc = __builtin_amdgcn_mfma_f32_16x16x16f16(x, y, acc, 0, 0, 0);
  for (int i = 0; i < 4; ++i) d[((lane / 16) * 4 + i) * 16 + lane % 16] = acc[i];
#else
  for (int e = lane; e < 256; e += blockDim.x) {
    float sum = 0;
    for (int k = 0; k < 16; ++k) sum += float(a[(e / 16) * 16 + k]) * float(b[k * 16 + e % 16]);
    d[e] = sum;
  }
#endif
}

__global__ void tile32_f32(float* d, const float* a, const float* b) {
  const int lane = threadIdx.x;
#if defined(__gfx90a__) || defined(__gfx942__) || defined(__gfx950__)
  float16v acc = {};
  for (int k = 0; k < 32; k += 2)
    acc = __builtin_amdgcn_mfma_f32_32x32x2f32(a[(lane % 32) * 32 + k + lane / 32], b[(k + lane / 32) * 32 + lane % 32], acc, 0, 0, 0);
  for (int i = 0; i < 16; ++i) d[(8 * (i / 4) + 4 * (lane / 32) + i % 4) * 32 + lane % 32] = acc[i];
#else
  for (int e = lane; e < 1024; e += blockDim.x) {
    float sum = 0;
    for (int k = 0; k < 32; ++k) sum += a[(e / 32) * 32 + k] * b[k * 32 + e % 32];
    d[e] = sum;
  }
#endif
}

__global__ void tile16_f64(double* d, const double* a, const double* b) {
#if defined(__gfx90a__) || defined(__gfx942__) || defined(__gfx950__)
  const int lane = threadIdx.x;
  double4v acc = {0, 0, 0, 0};
  acc = __builtin_amdgcn_mfma_f64_16x16x4f64(a[lane], b[lane], acc, 0, 0, 0);
  for (int i = 0; i < 4; ++i) d[lane * 4 + i] = acc[i];
#else
  d[threadIdx.x] = a[threadIdx.x] * b[threadIdx.x];
#endif
}
