// buggy: KP301 KP312
__global__ void rows(const float* in, float* out) {
  float v = in[threadIdx.y * 32 + threadIdx.x];
  for (int o = warpSize / 2; o > 0; o >>= 1) v += __shfl_xor_sync(0xffffffff, v, o);
  if (threadIdx.x == 0) out[threadIdx.y] = v;
}
void launch(const float* in, float* out) {
  cudaDeviceProp prop;
  cudaGetDeviceProperties(&prop, 0);
  if (prop.warpSize > 64) return;
  rows<<<1, dim3(32, 8)>>>(in, out);
}
