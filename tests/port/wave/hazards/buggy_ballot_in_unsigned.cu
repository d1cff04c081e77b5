// buggy: KP303
__global__ void compact(const int* in, int* out, int* n) {
  int lane = threadIdx.x & 31;
  unsigned votes = __ballot_sync(0xffffffff, in[threadIdx.x] != 0);
  int before = __popc(votes & ((1u << lane) - 1));
  if (in[threadIdx.x] != 0) out[before] = in[threadIdx.x];
  if (lane == 0) atomicAdd(n, __popc(votes));
}
