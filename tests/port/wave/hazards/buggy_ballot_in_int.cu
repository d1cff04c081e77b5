// buggy: KP303
__global__ void any_bits(const int* in, int* out) {
  int bits = __ballot(in[threadIdx.x]);
  out[threadIdx.x] = bits;
}
