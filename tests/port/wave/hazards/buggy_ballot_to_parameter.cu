// buggy: KP303
__device__ int rank_of(unsigned votes, int lane) { return __popc(votes & ((1u << lane) - 1)); }
__device__ int my_rank(bool p) { return rank_of(__ballot_sync(0xffffffff, p), threadIdx.x % 32); }
