#include <hip/hip_runtime.h>
#ifndef KPT_SHIM_CG_REDUCE
#define KPT_SHIM_CG_REDUCE
#include <hip/hip_cooperative_groups.h>
#if HIP_VERSION < 71300000  // later ones have it
namespace cooperative_groups {
// HIP shuffles arithmetic types only, CUDA whatever can be copied: word by word here.
template <typename T, typename Shuffle> __device__ inline T kpt_by_words(T value, Shuffle shuffle) {
  int words[(sizeof(T) + 3) / 4] = {};
  __builtin_memcpy(words, &value, sizeof(T));
  for (int& word : words) word = shuffle(word);
  __builtin_memcpy(&value, words, sizeof(T));
  return value;
}
template <typename T> struct plus { __device__ T operator()(T a, T b) const { return a + b; } };
template <typename T> struct less { __device__ T operator()(T a, T b) const { return b < a ? b : a; } };
template <typename T> struct greater { __device__ T operator()(T a, T b) const { return a < b ? b : a; } };
template <typename T> struct bit_and { __device__ T operator()(T a, T b) const { return a & b; } };
template <typename T> struct bit_or { __device__ T operator()(T a, T b) const { return a | b; } };
template <typename T> struct bit_xor { __device__ T operator()(T a, T b) const { return a ^ b; } };
template <unsigned int N, typename Parent, typename T, typename Op>
__device__ inline T reduce(const thread_block_tile<N, Parent>& kpt_group, T value, Op op) {
  for (unsigned int o = N / 2; o > 0; o /= 2) {
    value = op(value, kpt_by_words(value, [&](int word) { return kpt_group.shfl_xor(word, o); }));
  }
  return value;
}
template <typename T, typename Op>
__device__ inline T reduce(const coalesced_group& kpt_group, T value, Op op) {
  T result = kpt_by_words(value, [&](int word) { return kpt_group.shfl(word, 0); });
  for (unsigned int i = 1; i < kpt_group.size(); ++i) {
    result = op(result, kpt_by_words(value, [&](int word) { return kpt_group.shfl(word, i); }));
  }
  return result;
}
}  // namespace cooperative_groups
#endif
#endif
#ifndef KPT_SHIM_CG_LABELED_PARTITION
#define KPT_SHIM_CG_LABELED_PARTITION
#include <hip/hip_cooperative_groups.h>
#if HIP_VERSION < 71300000  // later ones have it
namespace cooperative_groups {
// One turn for each label that is left: the lanes that have the first one's leave together. HIP's own partitions of a
// tile want all of its lanes; here some may have returned.
__device__ inline coalesced_group kpt_labeled(int part, long long label) {
  while (true) {
    const coalesced_group kpt_group = coalesced_threads();
    const int first_part = kpt_group.shfl(part, 0);
    const long long first_label = kpt_group.shfl(label, 0);
    const bool is_first = first_part == part && first_label == label;
    const coalesced_group same = binary_partition(kpt_group, is_first);
    if (is_first) return same;
  }
}
template <unsigned int N, typename Parent>
__device__ inline coalesced_group labeled_partition(const thread_block_tile<N, Parent>&, long long label) {
  return kpt_labeled(__lane_id() / N, label);
}
__device__ inline coalesced_group labeled_partition(const coalesced_group& kpt_group, long long label) {
  return kpt_labeled(kpt_group.shfl(int(__lane_id()), 0), label);
}
}  // namespace cooperative_groups
#endif
#endif
#include <hip/hip_cooperative_groups.h>
#include <hip/hip_cooperative_groups.h>

namespace cg = cooperative_groups;

__global__ void tile_sum(const float* in, float* out) {
  auto tile = cg::tiled_partition<32>(cg::this_thread_block());
  float sum = cg::reduce(tile, in[threadIdx.x], cg::plus<float>());
  float top = cg::reduce(tile, in[threadIdx.x], cg::greater<float>{});
  if (tile.thread_rank() == 0) out[threadIdx.x / 32] = sum / top;
}

__global__ void sums_by_row(const int* row, const float* in, float* out) {
  if (row[threadIdx.x] < 0) return;
  auto tile = cg::tiled_partition<32>(cg::this_thread_block());
  auto same = cg::labeled_partition(tile, row[threadIdx.x]);
  float sum = cg::reduce(same, in[threadIdx.x], cg::plus<float>());
  if (same.thread_rank() == 0) atomicAdd(&out[row[threadIdx.x]], sum);
}
