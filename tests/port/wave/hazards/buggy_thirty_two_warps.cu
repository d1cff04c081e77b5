// buggy: KP323
__global__ void fill(int* out) { out[threadIdx.x] = 1; }
void launch(int* out) {
  cudaDeviceProp prop;
  cudaGetDeviceProperties(&prop, 0);
  fill<<<1, 32 * prop.warpSize>>>(out);
}
