// innocent: host and device both follow the device
__global__ void per_wave(float* out) {
  int wave = threadIdx.x / warpSize;
  if (threadIdx.x % warpSize == 0) out[wave] = 1;
}
void launch(float* out) {
  cudaDeviceProp prop;
  cudaGetDeviceProperties(&prop, 0);
  int waves = 256 / prop.warpSize;
  cudaMemset(out, 0, waves * sizeof(float));
  per_wave<<<1, 256>>>(out);
}
