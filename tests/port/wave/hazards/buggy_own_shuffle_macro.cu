// buggy: KP301 KP310
#define __shfl_up(v, d) __shfl_up_sync(0xffffffff, v, d)
__global__ void lag(const int* in, int* out) { out[threadIdx.x] = __shfl_up(in[threadIdx.x], 1); }
