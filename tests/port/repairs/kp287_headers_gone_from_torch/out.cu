#if defined(USE_ROCM) || defined(__HIP_PLATFORM_AMD__)
#include <ATen/cuda/Atomic.cuh>
#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDABlas.h>
#include <ATen/cuda/Exceptions.h>
#include <ATen/ceil_div.h>
#include <c10/cuda/CUDACachingAllocator.h>
#else
#include <THC/THCAtomics.cuh>
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

#if defined(USE_ROCM) || defined(__HIP_PLATFORM_AMD__)

#else
extern THCState* state;
#endif

void product(float** a, float** b, float** c, float* d, int n) {
#if defined(USE_ROCM) || defined(__HIP_PLATFORM_AMD__)
    [](char ta, char tb, int m, int n, int k, float alpha, const float** a, int lda, const float** b, int ldb,
       float beta, float** c, int ldc, int count) {
        auto op = [](char t) { return t == 'n' || t == 'N' ? CUBLAS_OP_N : CUBLAS_OP_T; };
        TORCH_CUDABLAS_CHECK(cublasSgemmBatched(at::cuda::getCurrentCUDABlasHandle(), op(ta), op(tb), m, n, k,
                                                &alpha, a, lda, b, ldb, &beta, c, ldc, count));
    }('n', 't', n, n, n, 1.f, (const float**)a, n, (const float**)b, n, 0.f, c, n, 2);
    at::cuda::blas::gemm<float>('n', 'n', n, n, n, 1.f, d, n, d, n, 0.f, d,
#else
    THCudaBlas_SgemmBatched(state, 'n', 't', n, n, n, 1.f, (const float**)a, n, (const float**)b, n, 0.f, c, n, 2);
    THCudaBlas_Sgemm(state, 'n', 'n', n, n, n, 1.f, d, n, d, n, 0.f, d,
#endif
                     n);
#if defined(USE_ROCM) || defined(__HIP_PLATFORM_AMD__)
    TORCH_CHECK(n > 0, "n is %d", n);
#else
    THArgCheck(n > 0, 5, "n is %d", n);
#endif
#if defined(USE_ROCM) || defined(__HIP_PLATFORM_AMD__)
    fill<<<1, 1, 0, at::cuda::getCurrentCUDAStream()>>>(d, 1);
#else
    fill<<<1, 1, 0, THCState_getCurrentStream(state)>>>(d, 1);
#endif
}
