// buggy: KP316
__global__ void hand_over(int* out) {
  __shared__ int s[32];
  s[threadIdx.x & 31] = threadIdx.x;
  __syncwarp(0xffffffff);
  out[threadIdx.x] = s[31 - (threadIdx.x & 31)];
}
