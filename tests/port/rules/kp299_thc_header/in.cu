#include <ATen/ATen.h>
#include <THC/THC.h>
#include <THC/THCAtomics.cuh>

#if defined(OLD_TORCH)
#include <THC/THCDeviceUtils.cuh>
#endif

__global__ void fill(float* x) { x[threadIdx.x] = 1.f; }
