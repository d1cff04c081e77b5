#include <cuda_runtime.h>

// A mask of bits that are not lanes.
struct Material {
  unsigned mask;
};
__global__ void paint(const Material* m, unsigned* out) {
  unsigned mask = m[threadIdx.x].mask & 0x0000ffff;
  out[threadIdx.x] = mask | 1u << (threadIdx.x & 7);
}
