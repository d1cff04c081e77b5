// kernel: k; arguments: out bits; block: 128 1; after: buggy_ballot_returned.cu
__global__ void k(unsigned* out, const int* in) {
  out[threadIdx.x] = vote(in[threadIdx.x] != 0);
}
