// kernel: k; arguments: out keys; block: 128 1; after: buggy_match_any.cu
__global__ void k(int* out, const int* in) {
  out[threadIdx.x] = same_key(in[threadIdx.x]);
}
