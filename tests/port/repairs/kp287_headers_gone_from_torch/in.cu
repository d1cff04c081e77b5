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
