#if defined(USE_ROCM) || defined(__HIP_PLATFORM_AMD__)
#include <ATen/cuda/Atomic.cuh>
#else
#include <THC/THCAtomics.cuh>
#endif
#if defined(USE_ROCM) || defined(__HIP_PLATFORM_AMD__)
#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/Exceptions.h>
#include <ATen/ceil_div.h>
#include <c10/cuda/CUDACachingAllocator.h>
#else
#include <THC/THC.h>
#endif

__global__ void fill(float* x, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = 1.f;
}

void run(float* x, int n) {
#if defined(USE_ROCM) || defined(__HIP_PLATFORM_AMD__)
    fill<<<at::ceil_div(n, 256), 256>>>(x, n);
    C10_CUDA_CHECK(cudaGetLastError());
#else
    fill<<<THCCeilDiv(n, 256), 256>>>(x, n);
    THCudaCheck(cudaGetLastError());
#endif
}
