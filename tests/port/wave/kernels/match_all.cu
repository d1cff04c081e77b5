// kernel: k; arguments: out mostly_one; block: 128 1; after: buggy_match_all.cu
__global__ void k(int* out, const int* in) {
  out[threadIdx.x] = uniform(in[threadIdx.x]);
}
