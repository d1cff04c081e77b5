#include <hip/hip_runtime.h>
#define shfl(value, lane) __shfl(value, lane, 32)
#define vote(predicate) static_cast<unsigned>(__ballot(predicate) >> (__lane_id() & 32))
#define shfl_down(value, delta) __shfl_down(value, delta, 32)

__global__ void k(float* x, unsigned* out) {
  float v = shfl(x[threadIdx.x], 0);
  x[threadIdx.x] = v + shfl_down(v, 16);
  out[threadIdx.x] = vote(v > 0);
}
