// kernel: k; arguments: out bits; block: 128 1; after: buggy_ballot_to_parameter.cu
__global__ void k(int* out, const int* in) {
  out[threadIdx.x] = my_rank(in[threadIdx.x] != 0);
}
