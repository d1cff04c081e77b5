// buggy: KP303
struct Votes {
  unsigned bits;
};
__device__ void take(Votes& v, bool p) { v.bits = __ballot_sync(0xffffffff, p); }
__device__ int counted(const Votes& v) { return __popc(v.bits); }
