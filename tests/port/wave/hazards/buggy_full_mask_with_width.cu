// buggy: KP301
__global__ void rotate(float* out, const float* in) {
  float v = in[threadIdx.x];
  out[threadIdx.x] = __shfl_sync(0xffffffff, v, threadIdx.x + 1, 32);
}
