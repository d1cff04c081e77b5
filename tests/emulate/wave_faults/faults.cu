// Twenty programs that are right with 32 lanes in a warp and wrong with 64: `faults N` runs one, exit 0 means right.
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

#define FULL 0xffffffff
constexpr int N = 256;

__device__ bool wanted(int i) { return (i * 7 + i / 3) % 5 < 2; }
static bool host_wanted(int i) { return (i * 7 + i / 3) % 5 < 2; }

// 1: a ballot kept in 32 bits
__global__ void count_per_warp(int *out) {
  unsigned m = __ballot_sync(FULL, wanted(threadIdx.x));
  if ((threadIdx.x & 31) == 0) out[threadIdx.x >> 5] = __popc(m);
}

// 2: position in a compacted list
__global__ void positions(int *out) {
  int lane = threadIdx.x & 31;
  unsigned m = __ballot_sync(FULL, wanted(threadIdx.x));
  out[threadIdx.x] = __popc(m & ((1u << lane) - 1));
}

// 3: a mask helper with a 32-bit one
__device__ unsigned lanes_below() { return (1u << (threadIdx.x & 31)) - 1; }
__global__ void positions_by_helper(int *out) {
  out[threadIdx.x] = __popc(__ballot_sync(FULL, wanted(threadIdx.x)) & lanes_below());
}

// 4: the sum of a warp, given to all its lanes
__global__ void broadcast_sum(int *out) {
  int v = threadIdx.x;
  for (int o = 16; o > 0; o >>= 1) v += __shfl_down_sync(FULL, v, o);
  out[threadIdx.x] = __shfl_sync(FULL, v, 0);
}

// 5: the last value of a scan
__global__ void scan_total(int *out) {
  int lane = threadIdx.x & 31, v = threadIdx.x;
  for (int o = 1; o < 32; o <<= 1) {
    int other = __shfl_up_sync(FULL, v, o);
    if (lane >= o) v += other;
  }
  out[threadIdx.x] = __shfl_sync(FULL, v, 31);
}

// 6: the neighbour, by a lane number of 5 bits
__global__ void neighbour(int *out) {
  int lane = threadIdx.x & 31;
  out[threadIdx.x] = __shfl_sync(FULL, (int)threadIdx.x, lane ^ 1);
}

// 7: rotation inside a warp
__global__ void rotate(int *out) {
  int lane = threadIdx.x & 31;
  out[threadIdx.x] = __shfl_sync(FULL, (int)threadIdx.x, (lane + 1) & 31);
}

// 8: one atomic per warp, by its first wanted lane
__global__ void elected(int *counter) {
  unsigned m = __ballot_sync(FULL, wanted(threadIdx.x));
  int lane = threadIdx.x & 31;
  if (lane == __ffs(m) - 1) atomicAdd(counter, __popc(m));
}

// 9: how many are there
__global__ void active(int *out) {
  if (threadIdx.x % 64 >= 40) out[threadIdx.x] = __popc(__activemask());
}

// 10: the highest lane that is wanted
__global__ void highest(int *out) {
  unsigned m = __ballot_sync(FULL, wanted(threadIdx.x));
  if ((threadIdx.x & 31) == 0) out[threadIdx.x >> 5] = 31 - __clz(m);
}

// 11: the lowest
__global__ void lowest(int *out) {
  unsigned m = __ballot_sync(FULL, wanted(threadIdx.x));
  if ((threadIdx.x & 31) == 0) out[threadIdx.x >> 5] = __ffs(m) - 1;
}

// 12: bit-packed flags, one word per warp
__global__ void packed(unsigned *words) {
  unsigned m = __ballot_sync(FULL, wanted(threadIdx.x));
  if ((threadIdx.x & 31) == 0) words[threadIdx.x >> 5] = m;
}

// 13: is the whole warp of one mind?
__global__ void unanimous(int *out) {
  bool all = __ballot_sync(FULL, threadIdx.x >= 32) == 0xffffffff;
  if ((threadIdx.x & 31) == 0) out[threadIdx.x >> 5] = all;
}

// 14: the next lane's value; the last lane of a warp keeps its own
__global__ void next_lane(int *out) { out[threadIdx.x] = __shfl_down_sync(FULL, (int)threadIdx.x, 1); }

// 15: a maximum that every lane needs
__global__ void softmax_max(float *out) {
  float v = (float)((threadIdx.x * 37) % 101);
  for (int o = 16; o > 0; o >>= 1) v = fmaxf(v, __shfl_down_sync(FULL, v, o));
  v = __shfl_sync(FULL, v, 0);
  out[threadIdx.x] = v;
}

// 16: a reversed mask
__global__ void reversed(unsigned *out) {
  unsigned m = __ballot_sync(FULL, wanted(threadIdx.x));
  if ((threadIdx.x & 31) == 0) out[threadIdx.x >> 5] = __brev(m);
}

// 17: the sixth wanted lane, by clearing bits
__global__ void sixth_wanted(int *out) {
  unsigned m = __ballot_sync(FULL, wanted(threadIdx.x));
  for (int i = 0; i < 5; ++i) m &= m - 1;
  if ((threadIdx.x & 31) == 0) out[threadIdx.x >> 5] = __ffs(m) - 1;
}

// 18: lanes above this one
__global__ void above(int *out) {
  int lane = threadIdx.x & 31;
  unsigned m = __ballot_sync(FULL, wanted(threadIdx.x));
  out[threadIdx.x] = lane == 31 ? 0 : __popc(m >> (lane + 1));
}

// 19: a mask that is passed to a function
__device__ int rank_in(unsigned mask, int lane) { return __popc(mask & ((1u << lane) - 1)); }
__global__ void rank_by_call(int *out) {
  unsigned m = __ballot_sync(FULL, wanted(threadIdx.x));
  out[threadIdx.x] = rank_in(m, threadIdx.x & 31);
}

// 20: a mask that is kept in a structure
struct Vote { unsigned mask; int first; };
__global__ void vote_kept(int *out) {
  Vote vote;
  vote.mask = __ballot_sync(FULL, wanted(threadIdx.x));
  vote.first = __ffs(vote.mask) - 1;
  if ((threadIdx.x & 31) == 0) out[threadIdx.x >> 5] = vote.first * 100 + __popc(vote.mask);
}

template <class T> struct Device {
  T *data;
  explicit Device(int count = N) {
    cudaMalloc(&data, count * sizeof(T));
    cudaMemset(data, 0, count * sizeof(T));
  }
  ~Device() { cudaFree(data); }
  T at(int i) const {
    T value;
    cudaMemcpy(&value, data + i, sizeof(T), cudaMemcpyDeviceToHost);
    return value;
  }
};

static unsigned host_ballot(int warp) {
  unsigned m = 0;
  for (int l = 0; l < 32; ++l) m |= (unsigned)host_wanted(warp * 32 + l) << l;
  return m;
}
static int bits(unsigned m) { int n = 0; for (; m; m &= m - 1) ++n; return n; }
static int first_bit(unsigned m) { int n = 0; while (m && !(m >> n & 1)) ++n; return m ? n : -1; }
static int last_bit(unsigned m) { int n = 31; while (n >= 0 && !(m >> n & 1)) --n; return n; }
static unsigned turned(unsigned m) { unsigned r = 0; for (int i = 0; i < 32; ++i) r |= (m >> i & 1) << (31 - i); return r; }

static int wrong = 0;
static void expect(int i, long got, long want) {
  if (got != want && wrong++ < 4) std::printf("at %d: %ld, expected %ld\n", i, got, want);
}

template <class T, class F> void check(void (*kernel)(T *), int count, F want) {
  Device<T> out;
  kernel<<<1, N>>>(out.data);
  cudaError_t status = cudaDeviceSynchronize();
  if (status != cudaSuccess) { std::printf("%s\n", cudaGetErrorString(status)); ++wrong; return; }
  for (int i = 0; i < count; ++i) expect(i, (long)out.at(i), (long)want(i));
}

int main(int argc, char **argv) {
  int total = 0;
  for (int i = 0; i < N; ++i) total += host_wanted(i);
  auto below = [](int i) { return bits(host_ballot(i / 32) & ((1u << (i % 32)) - 1)); };
  auto warp_sum = [](int i) { int s = 0; for (int l = 0; l < 32; ++l) s += i / 32 * 32 + l; return s; };
  switch (argc > 1 ? std::atoi(argv[1]) : 0) {
    case 1: check(count_per_warp, N / 32, [](int w) { return bits(host_ballot(w)); }); break;
    case 2: check(positions, N, below); break;
    case 3: check(positions_by_helper, N, below); break;
    case 4: check(broadcast_sum, N, warp_sum); break;
    case 5: check(scan_total, N, warp_sum); break;
    case 6: check(neighbour, N, [](int i) { return i ^ 1; }); break;
    case 7: check(rotate, N, [](int i) { return i / 32 * 32 + (i + 1) % 32; }); break;
    case 8: check(elected, 1, [=](int) { return total; }); break;
    case 9: check(active, N, [](int i) { return i % 64 >= 40 ? 24 : 0; }); break;
    case 10: check(highest, N / 32, [](int w) { return last_bit(host_ballot(w)); }); break;
    case 11: check(lowest, N / 32, [](int w) { return first_bit(host_ballot(w)); }); break;
    case 12: check(packed, N / 32, [](int w) { return host_ballot(w); }); break;
    case 13: check(unanimous, N / 32, [](int w) { return w > 0; }); break;
    case 14: check(next_lane, N, [](int i) { return i % 32 == 31 ? i : i + 1; }); break;
    case 15: check(softmax_max, N, [](int i) { int m = 0; for (int l = 0; l < 32; ++l) { int v = (i / 32 * 32 + l) * 37 % 101; m = v > m ? v : m; } return m; }); break;
    case 16: check(reversed, N / 32, [](int w) { return turned(host_ballot(w)); }); break;
    case 17: check(sixth_wanted, N / 32, [](int w) { unsigned m = host_ballot(w); for (int i = 0; i < 5; ++i) m &= m - 1; return first_bit(m); }); break;
    case 18: check(above, N, [](int i) { return i % 32 == 31 ? 0 : bits(host_ballot(i / 32) >> (i % 32 + 1)); }); break;
    case 19: check(rank_by_call, N, below); break;
    case 20: check(vote_kept, N / 32, [](int w) { return first_bit(host_ballot(w)) * 100 + bits(host_ballot(w)); }); break;
    default: std::printf("faults 1 to 20\n"); return 2;
  }
  std::printf(wrong ? "WRONG\n" : "right\n");
  return wrong ? 1 : 0;
}
