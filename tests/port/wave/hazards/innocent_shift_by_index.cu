// innocent: 1 << i under i < 32
__global__ void powers(unsigned* out) {
  if (threadIdx.x < 32) out[threadIdx.x] = 1u << threadIdx.x;
}
