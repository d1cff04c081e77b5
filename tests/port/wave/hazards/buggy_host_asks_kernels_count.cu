// buggy: KP306
__global__ void per_warp(float* out) {
  int warp = threadIdx.x / 32;
  if (threadIdx.x % 32 == 0) out[warp] = 1;
}
void launch(float* out) {
  cudaDeviceProp prop;
  cudaGetDeviceProperties(&prop, 0);
  int warps = 256 / prop.warpSize;
  cudaMemset(out, 0, warps * sizeof(float));
  per_warp<<<1, 256>>>(out);
}
