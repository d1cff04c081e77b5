// innocent: 32 is the bits of a word
__global__ void set_bits(unsigned* bits, const int* index) {
  int i = index[threadIdx.x];
  atomicOr(&bits[i >> 5], 1u << (i & 31));
}
