#include <hip/hip_runtime.h>
__global__ void merge(int* out) { out[threadIdx.x] += 1; }

void run(int* out, int many)
{
    dim3 grid(64, 1, 1), block(128, 1, 1);
    dim3 last = dim3(1, 1, 1);
    if (many > 64) {
        grid = dim3(many, 1, 1);
        block = dim3(256, 1, 1);
    }
    merge<<<grid, block>>>(out);
    merge<<<last, block>>>(out);
}

void sized(int* out, int many)
{
    dim3 grid = dim3(many, 1, 1);
    merge<<<grid, 32>>>(out);
}
