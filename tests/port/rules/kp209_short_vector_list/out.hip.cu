#include <hip/hip_runtime.h>

struct Grid {
  int1 n;
  int3 size;
  Grid() {
    n = int1{0};
    size = int3{4, 5, 0};
  }
};

__constant__ float4 table[3] = {float4{1.f}, float4{2.f, 3.f, 0, 0}, {4.f, 5.f, 6.f, 7.f}};

__global__ void k(float4 *out, int1 count) {
  float4 a = float4{1.f, 2.f, 0, 0};
  float4 b{3.f, 4.f, 5.f, 0};
  float2 c = float2{6.f};
  uint3 d = uint3{7u, 0, 8u};
  const int1 one = int1{9};
  a = float4{float(one.x), c.x,  0, 0};
  out[threadIdx.x + count.x] = b;
  out[d.x] = a;
}
