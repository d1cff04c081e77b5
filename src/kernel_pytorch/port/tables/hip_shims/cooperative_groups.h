// Functions of cooperative groups.

//: cg::reduce < hip/hip_cooperative_groups.h
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
//: cg::labeled_partition < hip/hip_cooperative_groups.h
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
//: cg::scan < hip/hip_cooperative_groups.h
#if HIP_VERSION < 71400000  // later ones have it
namespace cooperative_groups {
template <unsigned int N, typename Parent, typename T, typename Op>
__device__ inline T inclusive_scan(const thread_block_tile<N, Parent>& kpt_group, T value, Op op) {
  for (unsigned int o = 1; o < N; o *= 2) {
    T below = kpt_group.shfl_up(value, o);
    if (kpt_group.thread_rank() >= o) value = op(below, value);
  }
  return value;
}
template <unsigned int N, typename Parent, typename T>
__device__ inline T inclusive_scan(const thread_block_tile<N, Parent>& kpt_group, T value) {
  return inclusive_scan(kpt_group, value, [](T a, T b) { return a + b; });
}
template <unsigned int N, typename Parent, typename T, typename Op>
__device__ inline T exclusive_scan(const thread_block_tile<N, Parent>& kpt_group, T value, Op op) {
  T below = kpt_group.shfl_up(inclusive_scan(kpt_group, value, op), 1);
  return kpt_group.thread_rank() == 0 ? T() : below;
}
template <unsigned int N, typename Parent, typename T>
__device__ inline T exclusive_scan(const thread_block_tile<N, Parent>& kpt_group, T value) {
  return exclusive_scan(kpt_group, value, [](T a, T b) { return a + b; });
}
}  // namespace cooperative_groups
#endif
//: tile.shfl(class) < type_traits
// A tile shuffles whatever can be copied in CUDA, arithmetic types alone in HIP: word by word here. HIP's header has to
// come later: its templates find these for a class of a namespace only if they are there first.
template <typename T, typename Shuffle> __device__ inline T kpt_shuffled_words(T value, Shuffle shuffle) {
  int words[(sizeof(T) + 3) / 4] = {};
  __builtin_memcpy(words, &value, sizeof(T));
  for (int& word : words) word = shuffle(word);
  __builtin_memcpy(&value, words, sizeof(T));
  return value;
}
#define KPT_SHUFFLE_OF_CLASS(NAME, TYPE)                                                                           \
  template <typename T, typename = ::std::enable_if_t<::std::is_class<T>::value>>                                  \
  __device__ inline T NAME(T value, TYPE lane, int width) {                                                        \
    return kpt_shuffled_words(value, [&](int word) { return NAME(word, lane, width); });                           \
  }
KPT_SHUFFLE_OF_CLASS(__shfl, int)
KPT_SHUFFLE_OF_CLASS(__shfl_xor, int)
KPT_SHUFFLE_OF_CLASS(__shfl_up, unsigned)
KPT_SHUFFLE_OF_CLASS(__shfl_down, unsigned)
