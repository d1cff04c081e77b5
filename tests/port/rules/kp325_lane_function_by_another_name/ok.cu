#include <cuda_runtime.h>
#define never_used __shfl
#define shfl(value, lane) __shfl(value, lane, 32)
#define everywhere(x) __all(x)

__global__ void k(float* x) {
  if (everywhere(x[0] > 0)) x[threadIdx.x] = shfl(x[threadIdx.x], 0);
}
