// buggy: KP315
template <int N>
__global__ void peak(float* out, const float* in) {
  __shared__ float s[N];
  int t = threadIdx.x;
  s[t] = in[t];
  __syncthreads();
  if (t < 32) {
    volatile float* w = s;
    if (N >= 64) w[t] = fmaxf(w[t], w[t + 32]);
    if (N >= 32) w[t] = fmaxf(w[t], w[t + 16]);
    if (N >= 16) w[t] = fmaxf(w[t], w[t + 8]);
  }
  if (t == 0) *out = s[0];
}
