#include <cuda_runtime.h>

__global__ void sample(float *out, cudaTextureObject_t image) {
  out[threadIdx.x] = tex2D<float>(image, threadIdx.x, 0.5f);
}
