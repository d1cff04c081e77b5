// kernel: k; arguments: mostly_one out; block: 128 1
__global__ void k(const int* in, int* out) {
  int warp = threadIdx.x / 32;
  if (warp == 1) {
    int v = in[threadIdx.x];
    int a = __all_sync(0xffffffff, v);
    for (int o = 16; o > 0; o >>= 1) v += __shfl_down_sync(0xffffffff, v, o);
    if (threadIdx.x % 32 == 0) out[0] = v * 2 + a;
  }
}
