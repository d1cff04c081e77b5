// buggy: KP301 KP310 KP314
__device__ int summed(int v) {
  for (int o = 16; o > 0; o >>= 1) v += __shfl_xor_sync(0xffffffff, v, o);
  return v;
}
__global__ void some(int* data, int n) {
  if (threadIdx.x < n) data[threadIdx.x] = summed(data[threadIdx.x]);
}
