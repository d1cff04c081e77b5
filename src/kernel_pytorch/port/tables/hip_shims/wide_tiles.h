// Tiles of cooperative groups that span several waves.

//: cg::block_tile_memory < hip/hip_cooperative_groups.h
namespace cooperative_groups {
// ROCm's tiles fit into one wave, and one of 64 threads compiles where waves have 32. Here the waves of a tile meet at a
// counter in shared memory: all of a block's waves are resident, and all threads of a tile make the call.
#if defined(__HIP_DEVICE_COMPILE__) && !defined(__GFX8__) && !defined(__GFX9__)
constexpr unsigned int kpt_wave = 32;
#else
constexpr unsigned int kpt_wave = 64;
#endif
template <unsigned int Most = 1024> struct block_tile_memory {};  // CUDA's scratch space; ours is below
__device__ inline unsigned int* kpt_arrivals() {
  __shared__ unsigned int arrived[1024 / kpt_wave];
  return arrived;
}
struct kpt_slot { long long words[4]; };
__device__ inline kpt_slot* kpt_slots() {
  __shared__ kpt_slot slots[1024 / kpt_wave];
  return slots;
}
template <typename T> __device__ inline void kpt_put(kpt_slot& slot, const T& value) {
  static_assert(sizeof(T) <= sizeof(kpt_slot), "a tile of several waves exchanges values of at most 32 bytes");
  __builtin_memcpy(slot.words, &value, sizeof(T));
}
template <typename T> __device__ inline T kpt_get(const kpt_slot& slot) {
  T value;
  __builtin_memcpy(&value, slot.words, sizeof(T));
  return value;
}
template <typename T, typename Shuffle> __device__ inline T kpt_words(T value, Shuffle shuffle) {
  int words[(sizeof(T) + 3) / 4] = {};
  __builtin_memcpy(words, &value, sizeof(T));
  for (int& word : words) word = shuffle(word);
  __builtin_memcpy(&value, words, sizeof(T));
  return value;
}
template <unsigned int Size> class kpt_wide_tile {
 public:
  static constexpr unsigned int waves = Size / kpt_wave;
  __device__ static unsigned int rank_in_block() {
    return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  }
  __device__ static unsigned int thread_rank() { return rank_in_block() % Size; }
  __device__ static constexpr unsigned int num_threads() { return Size; }
  __device__ static constexpr unsigned int size() { return Size; }
  __device__ static unsigned int meta_group_rank() { return rank_in_block() / Size; }
  __device__ static unsigned int meta_group_size() { return (blockDim.x * blockDim.y * blockDim.z + Size - 1) / Size; }
  __device__ static unsigned int first_wave() { return meta_group_rank() * waves; }
  __device__ static void sync() {
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
    if (rank_in_block() % kpt_wave == 0) {
      unsigned int* arrived = kpt_arrivals() + first_wave();
      const unsigned int before = __hip_atomic_fetch_add(arrived, 1u, __ATOMIC_ACQ_REL, __HIP_MEMORY_SCOPE_WORKGROUP);
      const unsigned int all = (before / waves + 1) * waves;
      while (int(__hip_atomic_load(arrived, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_WORKGROUP) - all) < 0) {
        __builtin_amdgcn_s_sleep(1);
      }
    }
    __builtin_amdgcn_wave_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
  }
  template <typename T> __device__ T shfl(T value, unsigned int from) const {  // CUDA: all threads name the same one
    if (thread_rank() == from % Size) kpt_put(kpt_slots()[first_wave()], value);
    sync();
    value = kpt_get<T>(kpt_slots()[first_wave()]);
    sync();
    return value;
  }
  // What the waves before this one have (is_whole: all waves of the tile), and `value` of its last thread for them.
  template <typename T, typename Op> __device__ static T combine(T value, T last, Op op, bool is_whole) {
    const unsigned int first = first_wave(), own = rank_in_block() / kpt_wave;
    if (rank_in_block() % kpt_wave == kpt_wave - 1) kpt_put(kpt_slots()[own], last);
    sync();
    const unsigned int end = is_whole ? first + waves : own;
    if (end > first) {
      T before = kpt_get<T>(kpt_slots()[first]);
      for (unsigned int wave = first + 1; wave < end; ++wave) before = op(before, kpt_get<T>(kpt_slots()[wave]));
      value = is_whole ? before : op(before, value);
    }
    sync();
    return value;
  }
  __device__ bool any(int holds) const {
    return combine(0, int(__any(holds)), [](int a, int b) { return a | b; }, true) != 0;
  }
  __device__ bool all(int holds) const {
    return combine(0, int(__all(holds)), [](int a, int b) { return a & b; }, true) != 0;
  }
};
template <unsigned int Size, typename T, typename Op>
__device__ inline T kpt_reduce(const kpt_wide_tile<Size>&, T value, Op op) {
  for (unsigned int o = kpt_wave / 2; o > 0; o /= 2) {
    value = op(value, kpt_words(value, [&](int word) { return __shfl_xor(word, o, kpt_wave); }));
  }
  return kpt_wide_tile<Size>::combine(value, value, op, true);
}
template <unsigned int Size, typename T, typename Op>
__device__ inline T kpt_inclusive(const kpt_wide_tile<Size>&, T value, Op op) {
  const unsigned int lane = kpt_wide_tile<Size>::rank_in_block() % kpt_wave;
  for (unsigned int o = 1; o < kpt_wave; o *= 2) {
    const T below = kpt_words(value, [&](int word) { return __shfl_up(word, o, kpt_wave); });
    if (lane >= o) value = op(below, value);
  }
  return kpt_wide_tile<Size>::combine(value, value, op, false);
}
template <unsigned int Size, typename T, typename Op>
__device__ inline T kpt_exclusive(const kpt_wide_tile<Size>& tile, T value, Op op) {
  const unsigned int wave = tile.rank_in_block() / kpt_wave, lane = tile.rank_in_block() % kpt_wave;
  const T up_to = kpt_inclusive(tile, value, op);
  T before = kpt_words(up_to, [](int word) { return __shfl_up(word, 1, kpt_wave); });
  if (lane == kpt_wave - 1) kpt_put(kpt_slots()[wave], up_to);
  tile.sync();
  if (lane == 0) before = wave > tile.first_wave() ? kpt_get<T>(kpt_slots()[wave - 1]) : T();
  tile.sync();
  return before;
}
// More special than the templates for all sizes of tiles that are there.
#define KPT_WIDE_TILE(SIZE) \
template <class Parent> class thread_block_tile<SIZE, Parent> : public kpt_wide_tile<SIZE> { \
 public: \
  __device__ thread_block_tile() {} \
  template <class Other> __device__ thread_block_tile(const thread_block_tile<SIZE, Other>&) {} \
}; \
template <> class thread_block_tile<SIZE, void> : public kpt_wide_tile<SIZE> { \
 public: \
  __device__ thread_block_tile() {} \
  template <class Other> __device__ thread_block_tile(const thread_block_tile<SIZE, Other>&) {} \
}; \
template <class Parent, typename T, typename Op> \
__device__ inline T reduce(const thread_block_tile<SIZE, Parent>& tile, T value, Op op) { \
  return kpt_reduce<SIZE>(tile, value, op); \
} \
template <class Parent, typename T, typename Op> \
__device__ inline T inclusive_scan(const thread_block_tile<SIZE, Parent>& tile, T value, Op op) { \
  return kpt_inclusive<SIZE>(tile, value, op); \
} \
template <class Parent, typename T> \
__device__ inline T inclusive_scan(const thread_block_tile<SIZE, Parent>& tile, T value) { \
  return kpt_inclusive<SIZE>(tile, value, [](T a, T b) { return a + b; }); \
} \
template <class Parent, typename T, typename Op> \
__device__ inline T exclusive_scan(const thread_block_tile<SIZE, Parent>& tile, T value, Op op) { \
  return kpt_exclusive<SIZE>(tile, value, op); \
} \
template <class Parent, typename T> \
__device__ inline T exclusive_scan(const thread_block_tile<SIZE, Parent>& tile, T value) { \
  return kpt_exclusive<SIZE>(tile, value, [](T a, T b) { return a + b; }); \
}
#if defined(__HIP_DEVICE_COMPILE__) && !defined(__GFX8__) && !defined(__GFX9__)
KPT_WIDE_TILE(64)
#endif
KPT_WIDE_TILE(128) KPT_WIDE_TILE(256) KPT_WIDE_TILE(512) KPT_WIDE_TILE(1024)
#undef KPT_WIDE_TILE
template <unsigned int Most> __device__ inline thread_block this_thread_block(block_tile_memory<Most>&) {
  return this_thread_block();
}
template <unsigned int Size>
__device__ inline typename __hip_internal::enable_if<(Size > kpt_wave), thread_block_tile<Size, thread_block> >::type
tiled_partition(const thread_block&) {
  __syncthreads();
  const unsigned int rank = kpt_wide_tile<Size>::rank_in_block();
  if (rank < 1024 / kpt_wave) kpt_arrivals()[rank] = 0;
  __syncthreads();
  return thread_block_tile<Size, thread_block>();
}
}  // namespace cooperative_groups
