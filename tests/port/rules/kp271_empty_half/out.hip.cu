#include <hip/hip_runtime.h>
#include <hip/hip_fp16.h>
#include <hip/hip_bf16.h>

__global__ void rows(float* out, const half2* in, int n)
{
    half2 sum;
    __hip_bfloat16 low, high;
    for (int row = 0; row < n; ++row) {
        sum = half2{};
        high = __hip_bfloat16{};
        for (int k = 0; k < 8; ++k)
            sum = __hfma2(in[row * 8 + k], in[k], sum);
        out[row] = __half2float(sum.x) + __half2float(sum.y);
    }
}
