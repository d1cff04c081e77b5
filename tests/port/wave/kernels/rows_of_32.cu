// kernel: k; arguments: bits out; block: 32 4
__global__ void k(const int* in, int* out) {
  int i = threadIdx.y * 32 + threadIdx.x;
  unsigned m = __ballot_sync(0xffffffff, in[i]);
  int s = in[i];
  for (int o = 16; o > 0; o >>= 1) s += __shfl_xor_sync(0xffffffff, s, o);
  if (threadIdx.x == 0) out[threadIdx.y] = __popc(m) * 1000 + s;
}
