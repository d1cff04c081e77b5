// buggy: KP301 KP310
__global__ void prefix(const int* in, int* out, int n) {
  int whole = ((n + blockDim.x - 1) / blockDim.x) * blockDim.x;
  for (int i = threadIdx.x; i < whole; i += blockDim.x) {
    int v = i < n ? in[i] : 0;
    for (int d = 1; d < 32; d *= 2) {
      int up = __shfl_up_sync(0xffffffff, v, d);
      if ((threadIdx.x & 31) >= d) v += up;
    }
    if (i < n) out[i] = v;
  }
}
