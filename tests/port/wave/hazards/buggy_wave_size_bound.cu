// buggy: KP308
__global__ void stage(float* out) {
  __shared__ float tile[warpSize];
  tile[threadIdx.x & 31] = 1;
  __syncthreads();
  out[threadIdx.x] = tile[0];
}
