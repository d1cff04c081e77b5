#include <THC/THCAtomics.cuh>
#include <THC/THC.h>

__global__ void fill(float* x, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = 1.f;
}

void run(float* x, int n) {
    fill<<<THCCeilDiv(n, 256), 256>>>(x, n);
    THCudaCheck(cudaGetLastError());
}

extern THCState* state;

void product(float** a, float** b, float** c, float* d, int n) {
    THCudaBlas_SgemmBatched(state, 'n', 't', n, n, n, 1.f, (const float**)a, n, (const float**)b, n, 0.f, c, n, 2);
    THCudaBlas_Sgemm(state, 'n', 'n', n, n, n, 1.f, d, n, d, n, 0.f, d,
                     n);
    THArgCheck(n > 0, 5, "n is %d", n);
    fill<<<1, 1, 0, THCState_getCurrentStream(state)>>>(d, 1);
}
