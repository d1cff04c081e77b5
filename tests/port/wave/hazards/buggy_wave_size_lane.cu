// buggy: KP301 KP305 KP310
__global__ void row_sum(const float* in, float* out, int n) {
  int lane = threadIdx.x % warpSize;
  int row = (blockIdx.x * blockDim.x + threadIdx.x) / warpSize;
  float v = 0;
  for (int i = lane; i < n; i += warpSize) v += in[row * n + i];
  for (int o = warpSize / 2; o > 0; o /= 2) v += __shfl_down_sync(0xffffffff, v, o);
  if (lane == 0) out[row] = v;
}
