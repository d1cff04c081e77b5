// innocent: a mask of numbers
__device__ float absolute(float v) { return __int_as_float(__float_as_int(v) & 0x7fffffff); }
__global__ void masked(float* out, const float* mask) { out[threadIdx.x] = absolute(out[threadIdx.x]) * mask[threadIdx.x]; }
