#include <cuda_fp16.h>

struct Pair {
    half2 both;
};

__global__ void fine(float* out, float4* wide, Pair* pairs)
{
    half2 made = {};
    float4 sum;
    sum = {};
    pairs[0].both = half2{};
    *wide = {};
    int half = 3;
    half = {};
    out[0] = __low2float(made) + sum.x + half;
}
