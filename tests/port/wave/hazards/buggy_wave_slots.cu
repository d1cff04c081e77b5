// buggy: KP301 KP310 KP311
__global__ void slots(const float* in, float* out) {
  __shared__ float part[32];
  int warp = threadIdx.x / warpSize;
  float v = in[threadIdx.x] + __shfl_xor_sync(0xffffffff, in[threadIdx.x], 1);
  part[warp] = v;
  __syncthreads();
  out[threadIdx.x] = part[0];
}
