#include <cuda_runtime.h>

struct Grid {
  int1 n;
  int3 size;
  Grid() {
    n = {0};
    size = {4, 5};
  }
};

__constant__ float4 table[3] = {{1.f}, {2.f, 3.f}, {4.f, 5.f, 6.f, 7.f}};

__global__ void k(float4 *out, int1 count) {
  float4 a = {1.f, 2.f};
  float4 b{3.f, 4.f, 5.f};
  float2 c = {6.f};
  uint3 d = {.x = 7u, .z = 8u};
  const int1 one = {9};
  a = float4{float(one.x), c.x, };
  out[threadIdx.x + count.x] = b;
  out[d.x] = a;
}
