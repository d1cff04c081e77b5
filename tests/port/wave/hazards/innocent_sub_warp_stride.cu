// innocent: a stride of 32 that reaches no collective
__global__ void strided(float* out, const float* in, int n) {
  for (int i = threadIdx.x & 31; i < n; i += 32) out[i] = in[i];
}
