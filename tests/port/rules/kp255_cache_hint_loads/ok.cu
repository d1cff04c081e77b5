#include <cuda_runtime.h>
// __ldcs(from)
__global__ void copy(float *to, const float *from) { to[threadIdx.x] = __ldg(from + threadIdx.x); }
struct Loader {
  __device__ float __ldcs_like(const float *p) const { return *p; }
};
