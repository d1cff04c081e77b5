// innocent: __brev of a random word
__device__ unsigned xorshift(unsigned s) {
  s ^= s << 13;
  s ^= s >> 17;
  s ^= s << 5;
  return __brev(s);
}
