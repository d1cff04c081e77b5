// buggy: KP301 KP310
constexpr unsigned kAll = ~0u;
__device__ int warp_max(int v) {
  for (int o = 32 / 2; o >= 1; o /= 2) v = max(v, __shfl_xor_sync(kAll, v, o));
  return v;
}
