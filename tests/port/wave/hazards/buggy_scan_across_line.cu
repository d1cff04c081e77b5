// buggy: KP301 KP310
__device__ int inclusive(int v, int lane) {
  for (int d = 1; d < 32; d <<= 1) {
    int up = __shfl_up_sync(0xffffffff, v, d);
    if (lane >= d) v += up;
  }
  return v;
}
