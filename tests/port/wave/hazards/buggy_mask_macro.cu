// buggy: KP301 KP310
#define FULL_MASK 0xffffffffu
__device__ float warp_sum(float v) {
  for (int o = 16; o > 0; o >>= 1) v += __shfl_down_sync(FULL_MASK, v, o);
  return v;
}
