#include <cuda_fp16.h>
#include <cuda_bf16.h>

__global__ void rows(float* out, const half2* in, int n)
{
    half2 sum;
    __nv_bfloat16 low, high;
    for (int row = 0; row < n; ++row) {
        sum = {};
        high = {};
        for (int k = 0; k < 8; ++k)
            sum = __hfma2(in[row * 8 + k], in[k], sum);
        out[row] = __half2float(sum.x) + __half2float(sum.y);
    }
}
