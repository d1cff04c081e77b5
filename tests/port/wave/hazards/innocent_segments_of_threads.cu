// innocent: groups of 32 that meet in shared memory behind a barrier
__global__ void groups(const float* in, float* out, int n) {
  __shared__ float s[8][32];
  int group = threadIdx.x / 32, member = threadIdx.x % 32;
  s[group][member] = in[threadIdx.x];
  __syncthreads();
  float v = 0;
  for (int i = 0; i < 32; i++) v += s[group][i];
  out[threadIdx.x] = v;
}
