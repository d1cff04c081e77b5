// innocent: a method of that name
struct Poll {
  __device__ unsigned ballot(bool p) const { return p ? 1u : 0u; }
};
__device__ int counted(const Poll& poll, bool p) { return poll.ballot(p) + 32; }
