#include <hip/hip_runtime.h>

__global__ void stencil(double* __restrict__ out, const double* __restrict__ in, int nx, int ny, int nz) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x + 1, y = blockIdx.y * blockDim.y + threadIdx.y + 1;
  if (x >= nx - 1 || y >= ny - 1) return;
  double below = in[y * nx + x], here = in[(ny + y) * nx + x];
  for (int z = 1; z < nz - 1; ++z) {
    const double* plane = in + (size_t)z * nx * ny + y * nx + x;
    const double above = plane[(size_t)nx * ny];
    out[(size_t)z * nx * ny + y * nx + x] = here * -6.0 + below + above + plane[1] + plane[-1] + plane[nx] + plane[-nx];
    below = here;
    here = above;
  }
}
