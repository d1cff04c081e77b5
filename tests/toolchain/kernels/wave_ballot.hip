#include <hip/hip_runtime.h>

__global__ void ballots(unsigned long long* out, const int* in, int threshold) {
  const int v = in[blockIdx.x * blockDim.x + threadIdx.x];
  const unsigned long long mask = __ballot(v > threshold);
  const int any = __any(v == 0), all = __all(v >= 0);
  if (threadIdx.x % warpSize == 0) {
    out[blockIdx.x] = __popcll(mask) + __ffsll(mask) + __clzll(mask) + (unsigned long long)(any + all);
  }
}

__global__ void compact(int* out, int* count, const int* in, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const bool keep = i < n && in[i] != 0;
  const unsigned long long mask = __ballot(keep);
  const unsigned lane = __lane_id();
  int base = 0;
  if (lane == 0) base = atomicAdd(count, __popcll(mask));
  base = __shfl(base, 0);
  if (keep) out[base + __popcll(mask & ((1ull << lane) - 1))] = in[i];
}

__global__ void matches(unsigned long long* out, const int* in) {
  int predicate;
  out[threadIdx.x] = __match_any_sync(__activemask(), in[threadIdx.x]) ^ __match_all_sync(__activemask(), in[0], &predicate);
}
