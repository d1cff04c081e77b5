#include <cuda_runtime.h>

// What a port does in software where there is no image hardware.
__global__ void sample(float *out, cudaTextureObject_t image, cudaSurfaceObject_t surface) {
  out[threadIdx.x] = tex2D<float>(image, threadIdx.x, 0.5f) + surf2Dread<float>(surface, 4 * threadIdx.x, 0);
}
