// innocent: a loop from 16 without a shuffle
__device__ int log2_of(unsigned v) {
  int n = 0;
  for (int o = 16; o > 0; o >>= 1)
    if (v >> o) {
      n += o;
      v >>= o;
    }
  return n;
}
