#include <cuda_runtime.h>

struct Pair {
  float x, y, z;
};

__global__ void k(float4 *out) {
  float4 a = {1.f, 2.f, 3.f, 4.f}, b{}, c{5.f};
  int2 d = {1, 2};
  Pair p = {1.f, 2.f};
  a = {5.f, 6.f, 7.f, 8.f};
  float4 *e = {out};
  p = {3.f};
  dim3 grid = {1, 2};
  out[d.x] = float4{9.f};
  out[0] = make_float4(a.x, b.x, c.x, p.x + grid.x + e->x);
}
