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
__device__ inline T reduce(const thread_block_tile<N, Parent>& group, T value, Op op) {
  for (unsigned int o = N / 2; o > 0; o /= 2) {
    value = op(value, kpt_by_words(value, [&](int word) { return group.shfl_xor(word, o); }));
  }
  return value;
}
template <typename T, typename Op>
__device__ inline T reduce(const coalesced_group& group, T value, Op op) {
  T result = kpt_by_words(value, [&](int word) { return group.shfl(word, 0); });
  for (unsigned int i = 1; i < group.size(); ++i) {
    result = op(result, kpt_by_words(value, [&](int word) { return group.shfl(word, i); }));
  }
  return result;
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
