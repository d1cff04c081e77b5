// buggy: KP303
__device__ unsigned vote(bool p) { return __ballot_sync(0xffffffff, p); }
__device__ int votes_below(bool p, int lane) { return __popc(vote(p) << (32 - lane)); }
