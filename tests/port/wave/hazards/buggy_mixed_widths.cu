// buggy: KP301 KP305 KP310 KP311
__device__ float warp_part(float v) {
  for (int o = 16; o > 0; o >>= 1) v += __shfl_down_sync(0xffffffff, v, o);
  return v;
}
__global__ void block_sum(const float* in, float* out) {
  __shared__ float part[32];
  int lane = threadIdx.x % warpSize;
  int warp = threadIdx.x / warpSize;
  float v = warp_part(in[threadIdx.x]);
  if (lane == 0) part[warp] = v;
  __syncthreads();
  if (warp == 0) {
    v = warp_part(lane < blockDim.x / 32 ? part[lane] : 0);
    if (lane == 0) *out = v;
  }
}
