#include <cuda_runtime.h>
#ifdef WITH_TENSORRT
#include <NvInfer.h>
#endif
#include "own_optix_settings.txt"

__global__ void twice(float *x) { x[threadIdx.x] *= 2; }

void run(float *x, cudaStream_t stream) { twice<<<1, 64, 0, stream>>>(x); }
