// innocent: a word packed by one thread
__device__ unsigned pack(const unsigned char* lanes) {
  unsigned mask = 0;
  for (int lane = 0; lane < 32; lane++) mask |= (lanes[lane] & 1u) << lane;
  return mask;
}
