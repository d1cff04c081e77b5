// innocent: thread number over a word of bits, no collective
__global__ void test_bits(const unsigned* bits, int* out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = (bits[i / 32] >> (i % 32)) & 1;
}
