// buggy: KP310
__device__ float old_warp_sum(float v) {
  for (int o = 16; o > 0; o >>= 1) v += __shfl_down(v, o);
  return v;
}
