// innocent: the bits of an index
__global__ void reorder(const float2* in, float2* out, int bits) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  out[__brev(i) >> (32 - bits)] = in[i];
}
