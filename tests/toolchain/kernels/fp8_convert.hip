#include <hip/hip_fp8.h>
#include <hip/hip_runtime.h>

// gfx942 has the FNUZ formats, gfx950 and gfx12 the OCP ones: a kernel takes what its target has.
#if HIP_FP8_TYPE_OCP
typedef __hip_fp8_e4m3 narrow;
typedef __hip_fp8_e5m2 wide;
#else
typedef __hip_fp8_e4m3_fnuz narrow;
typedef __hip_fp8_e5m2_fnuz wide;
#endif

__global__ void quantise(unsigned char* low, unsigned char* high, const float* in, float scale) {
  const int i = threadIdx.x;
  low[i] = narrow(in[i] * scale).__x;
  high[i] = wide(in[i] * scale).__x;
}

__global__ void dequantise(float* out, const unsigned char* low, const unsigned char* high, float scale) {
  const int i = threadIdx.x;
  narrow a;
  wide b;
  a.__x = low[i];
  b.__x = high[i];
  out[i] = (float(a) + float(b)) / scale;
}
