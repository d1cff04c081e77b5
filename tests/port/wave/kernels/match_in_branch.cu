// kernel: k; arguments: keys out; block: 128 1
__global__ void k(const int* in, int* out) {
  int v = in[threadIdx.x];
  if (v > 1) {
    unsigned live = __activemask();
    unsigned peers = __match_any_sync(live, v);
    int same;
    __match_all_sync(live, v, &same);
    out[threadIdx.x] = peers + same;
  }
}
