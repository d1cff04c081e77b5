// Barriers, latches, semaphores and pipelines of libcu++ in plain atomics; asynchronous copies as ordinary ones, which are
// complete when the call returns, or as loads into LDS. A wait polls with all lanes of the wave that are active: the others of that wave run
// only after it, so a thread that is waited for must not be on the other side of a branch of the same wave.

//: kpt_reads_done
// LLVM up to 22 may move a read of memory into a later branch or loop, past the barrier between them (llvm/llvm-project issue
// 181708). It moves no read past what may write memory.
static __device__ inline void kpt_reads_done() { __asm__ volatile("" ::: "memory"); }
//: cuda::barrier < atomic cstddef utility : cuda::atomic_ref
namespace cuda {
struct kpt_no_completion {
  __device__ void operator()() const {}
};
template <thread_scope Scope = thread_scope_system, typename Completion = kpt_no_completion> class barrier {
  unsigned int expected, pending, phase;
  Completion completion;

  __device__ unsigned int now() const { return __hip_atomic_load(&phase, __ATOMIC_ACQUIRE, Scope); }

 public:
  typedef unsigned int arrival_token;
  barrier() = default;
  __device__ barrier(std::ptrdiff_t count, Completion then = Completion()) { init(this, count, then); }
  barrier(const barrier&) = delete;
  barrier& operator=(const barrier&) = delete;
  static constexpr std::ptrdiff_t max() { return 0x7fffffff; }
  friend __device__ inline void init(barrier* made, std::ptrdiff_t count, Completion then = Completion()) {
    made->expected = made->pending = static_cast<unsigned int>(count);
    made->completion = then;
    __hip_atomic_store(&made->phase, 0u, __ATOMIC_RELEASE, Scope);
  }
  // The last to arrive opens the next phase. It adds the count instead of storing it: somebody may have arrived there.
  __device__ arrival_token arrive(std::ptrdiff_t count = 1) {
    const unsigned int token = now(), arrived = static_cast<unsigned int>(count);
    if (__hip_atomic_fetch_add(&pending, 0u - arrived, __ATOMIC_ACQ_REL, Scope) == arrived) {
      completion();
      __hip_atomic_fetch_add(&pending, __hip_atomic_load(&expected, __ATOMIC_RELAXED, Scope), __ATOMIC_RELAXED, Scope);
      __hip_atomic_store(&phase, token + 1, __ATOMIC_RELEASE, Scope);
    }
    return token;
  }
  __device__ bool try_wait(const arrival_token& token) const { return now() != token; }
  __device__ bool try_wait_parity(bool parity) const { return (now() & 1) != parity; }
  template <typename Duration> __device__ bool try_wait_for(const arrival_token& token, const Duration&) const {
    return try_wait(token);
  }
  __device__ void wait(const arrival_token& token) const {
    while (!try_wait(token)) __builtin_amdgcn_s_sleep(1);
  }
  __device__ void wait_parity(bool parity) const {
    while (!try_wait_parity(parity)) __builtin_amdgcn_s_sleep(1);
  }
  __device__ void arrive_and_wait() { wait(arrive()); }
  __device__ void arrive_and_drop() {
    __hip_atomic_fetch_add(&expected, 0u - 1u, __ATOMIC_RELAXED, Scope);
    arrive();
  }
};
}  // namespace cuda
//: cuda::latch < atomic cstddef : cuda::atomic_ref
namespace cuda {
template <thread_scope Scope = thread_scope_system> class latch {
  unsigned int left;

 public:
  latch() = default;
  __device__ explicit latch(std::ptrdiff_t count) : left(static_cast<unsigned int>(count)) {}
  friend __device__ inline void init(latch* made, std::ptrdiff_t count) { made->left = static_cast<unsigned int>(count); }
  __device__ void count_down(std::ptrdiff_t count = 1) {
    __hip_atomic_fetch_add(&left, 0u - static_cast<unsigned int>(count), __ATOMIC_ACQ_REL, Scope);
  }
  __device__ bool try_wait() const { return __hip_atomic_load(&left, __ATOMIC_ACQUIRE, Scope) == 0; }
  __device__ void wait() const {
    while (!try_wait()) __builtin_amdgcn_s_sleep(1);
  }
  __device__ void arrive_and_wait(std::ptrdiff_t count = 1) {
    count_down(count);
    wait();
  }
};
}  // namespace cuda
//: cuda::counting_semaphore < atomic cstddef : cuda::atomic_ref
namespace cuda {
template <thread_scope Scope = thread_scope_system, std::ptrdiff_t Most = 0x7fffffff> class counting_semaphore {
  int free;

 public:
  counting_semaphore() = default;
  __device__ constexpr explicit counting_semaphore(std::ptrdiff_t count) : free(int(count)) {}
  static constexpr std::ptrdiff_t max() { return Most; }
  __device__ void release(std::ptrdiff_t count = 1) { __hip_atomic_fetch_add(&free, int(count), __ATOMIC_RELEASE, Scope); }
  __device__ bool try_acquire() {
    int seen = __hip_atomic_load(&free, __ATOMIC_RELAXED, Scope);
    return seen > 0 && __hip_atomic_compare_exchange_strong(&free, &seen, seen - 1, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED, Scope);
  }
  __device__ void acquire() {
    while (!try_acquire()) __builtin_amdgcn_s_sleep(1);
  }
};
template <thread_scope Scope = thread_scope_system> using binary_semaphore = counting_semaphore<Scope, 1>;
}  // namespace cuda
//: cuda::aligned_size_t < cstddef
namespace cuda {
template <std::size_t Alignment> struct aligned_size_t {
  static constexpr std::size_t align = Alignment;
  std::size_t value;
  __host__ __device__ constexpr explicit aligned_size_t(std::size_t bytes) : value(bytes) {}
  __host__ __device__ constexpr operator std::size_t() const { return value; }
};
}  // namespace cuda
//: kpt_copy_into_lds kpt_copies_done
// gfx942 and gfx950 load words into LDS without a register between and without waiting: 4 bytes of each lane, gfx950 also 16. Lane n
// of the wave writes word n from one base on. So the wave asks whether its lanes want just that; if not, or where source or
// destination are elsewhere, it copies through registers. Such loads are counted as other loads are, and retire in order.
// Waiting for none of them left is right for every number of groups that may be left.
#if defined(__gfx942__) || defined(__gfx950__)
template <int Bytes> struct kpt_lds_load {
  static __device__ inline bool start(void*, const void*) { return false; }
};
#define KPT_LDS_LOAD(bytes, name)                                                                                      \
  template <> struct kpt_lds_load<bytes> {                                                                             \
    static __device__ inline bool start(void* to, const void* from) {                                                  \
      const bool apt = __builtin_amdgcn_is_shared(to) && !__builtin_amdgcn_is_shared(from) && !__builtin_amdgcn_is_private(from); \
      const unsigned at = static_cast<unsigned>(reinterpret_cast<unsigned long long>(to)), lead = bytes * __lane_id(); \
      const unsigned base = __builtin_amdgcn_readfirstlane(at - lead);                                                 \
      if (__builtin_amdgcn_ballot_w64(!apt || at - lead != base) != 0 || base >= 0x10000u) return false;               \
      __asm__ volatile("s_mov_b32 m0, %0\n\ts_nop 0\n\tglobal_load_lds_" name " %1, off" ::"s"(base), "v"(from) : "m0", "memory"); \
      return true;                                                                                                     \
    }                                                                                                                  \
  };
KPT_LDS_LOAD(4, "dword")
#if defined(__gfx950__)
KPT_LDS_LOAD(16, "dwordx4")
#endif
#undef KPT_LDS_LOAD
template <typename Word> __device__ inline void kpt_copy_into_lds(Word* to, const Word* from) {
  if (!kpt_lds_load<sizeof(Word)>::start(to, from)) *to = *from;
}
__device__ inline void kpt_copies_done() { __asm__ volatile("s_waitcnt vmcnt(0)" ::: "memory"); }
#else
template <typename Word> __device__ inline void kpt_copy_into_lds(Word* to, const Word* from) { *to = *from; }
__device__ inline void kpt_copies_done() {}
#endif
//: kpt_own_copy kpt_own_copies_done < : kpt_copy_into_lds
// A copy of one thread, which names its own destination. Most kernels pad or swizzle, so that lanes do not lie side by side;
// the question would then stand between copies that the compiler otherwise has under way together. Kernels that know
// better are built with -DKPT_COPY_INTO_LDS.
#if defined(KPT_COPY_INTO_LDS)
template <typename Word> __device__ inline void kpt_own_copy(Word* to, const Word* from) { kpt_copy_into_lds(to, from); }
__device__ inline void kpt_own_copies_done() { kpt_copies_done(); }
#else
template <typename Word> __device__ inline void kpt_own_copy(Word* to, const Word* from) { *to = *from; }
__device__ inline void kpt_own_copies_done() {}
#endif
//: kpt_copy < cstddef cstdint : cuda::aligned_size_t kpt_copy_into_lds
// `bytes` from one place to another by the `lanes` of a group, in words as wide as both places allow. Somebody waits with
// kpt_copies_done if `Async`.
template <typename Word, bool Async> __device__ inline void kpt_copy_words(void* to, const void* from, std::size_t bytes,
                                                                           unsigned int lane, unsigned int lanes) {
  for (std::size_t at = lane; at < bytes / sizeof(Word); at += lanes)
    if (Async) kpt_copy_into_lds(static_cast<Word*>(to) + at, static_cast<const Word*>(from) + at);
    else static_cast<Word*>(to)[at] = static_cast<const Word*>(from)[at];
}
template <bool Async, typename Size>
__device__ inline void kpt_copy(void* to, const void* from, const Size& size, unsigned int lane = 0, unsigned int lanes = 1) {
  const std::size_t bytes = size;
  const std::size_t all = reinterpret_cast<std::uintptr_t>(to) | reinterpret_cast<std::uintptr_t>(from) | bytes;
  if (all % 16 == 0) kpt_copy_words<uint4, Async>(to, from, bytes, lane, lanes);
  else if (all % 8 == 0) kpt_copy_words<unsigned long long, Async>(to, from, bytes, lane, lanes);
  else if (all % 4 == 0) kpt_copy_words<unsigned int, Async>(to, from, bytes, lane, lanes);
  else kpt_copy_words<unsigned char, Async>(to, from, bytes, lane, lanes);
}
// The caller states the alignment of both places and of the number: no other widths, no questions.
template <bool Async, std::size_t Alignment>
__device__ inline void kpt_copy(void* to, const void* from, const cuda::aligned_size_t<Alignment>& size, unsigned int lane = 0,
                                unsigned int lanes = 1) {
  if (Alignment % 16 == 0) kpt_copy_words<uint4, Async>(to, from, size, lane, lanes);
  else if (Alignment % 8 == 0) kpt_copy_words<unsigned long long, Async>(to, from, size, lane, lanes);
  else if (Alignment % 4 == 0) kpt_copy_words<unsigned int, Async>(to, from, size, lane, lanes);
  else kpt_copy<Async, std::size_t>(to, from, size, lane, lanes);
}
//: cuda::memcpy_async < : kpt_copy
namespace cuda {
// `Sync` is a barrier or a pipeline: what comes after its wait finds the copy done, since it is done before the arrival.
template <typename T, typename Size, typename Sync>
__device__ inline void memcpy_async(T* to, const T* from, Size bytes, Sync&) {
  kpt_copy<false>(to, from, bytes);
}
template <typename Group, typename T, typename Size, typename Sync>
__device__ inline void memcpy_async(const Group& group, T* to, const T* from, Size bytes, Sync&) {
  kpt_copy<false>(to, from, bytes, group.thread_rank(), group.size());
}
}  // namespace cuda
//: cuda::pipeline < : cuda::barrier cuda::memcpy_async
namespace cuda {
enum class pipeline_role { producer, consumer };
template <thread_scope Scope, unsigned char Stages> struct pipeline_shared_state {
  barrier<Scope> produced[Stages], consumed[Stages];
  unsigned int producers;
};
template <thread_scope Scope> class pipeline {
  barrier<Scope>*produced, *consumed;
  unsigned int stages, head = 0, tail = 0;
  bool consumed_parity = true, produced_parity = false, is_producer, is_consumer;

 public:
  __device__ pipeline(barrier<Scope>* full, barrier<Scope>* empty, unsigned int count, bool produces, bool consumes)
      : produced(full), consumed(empty), stages(count), is_producer(produces), is_consumer(consumes) {}
  __device__ void producer_acquire() { consumed[head].wait_parity(consumed_parity); }
  __device__ void producer_commit() {
    produced[head].arrive();
    if (++head == stages) head = 0, consumed_parity = !consumed_parity;
  }
  __device__ void consumer_wait() { produced[tail].wait_parity(produced_parity); }
  template <typename Duration> __device__ bool consumer_wait_for(const Duration&) {
    return produced[tail].try_wait_parity(produced_parity);
  }
  __device__ void consumer_release() {
    consumed[tail].arrive();
    if (++tail == stages) tail = 0, produced_parity = !produced_parity;
  }
  __device__ bool quit() {
    for (unsigned int stage = 0; stage < stages; ++stage) {
      if (is_producer) produced[stage].arrive_and_drop();
      if (is_consumer) consumed[stage].arrive_and_drop();
    }
    return true;
  }
};
// Of one thread.
template <> class pipeline<thread_scope_thread> {
 public:
  __device__ void producer_acquire() {}
  __device__ void producer_commit() {}
  __device__ void consumer_wait() { kpt_copies_done(); }
  template <typename Duration> __device__ bool consumer_wait_for(const Duration&) {
    kpt_copies_done();
    return true;
  }
  __device__ void consumer_release() {}
  __device__ bool quit() { return true; }
};
__device__ inline pipeline<thread_scope_thread> make_pipeline() { return {}; }
template <typename T, typename Size>
__device__ inline void memcpy_async(T* to, const T* from, Size bytes, pipeline<thread_scope_thread>&) {
#if defined(KPT_COPY_INTO_LDS)
  kpt_copy<true>(to, from, bytes);
#else
  kpt_copy<false>(to, from, bytes);
#endif
}
template <typename Group, typename T, typename Size>
__device__ inline void memcpy_async(const Group& group, T* to, const T* from, Size bytes, pipeline<thread_scope_thread>&) {
  kpt_copy<true>(to, from, bytes, group.thread_rank(), group.size());
}
template <unsigned char Prior> __device__ inline void pipeline_consumer_wait_prior(pipeline<thread_scope_thread>&) {
  kpt_copies_done();
}
template <typename Barrier> __device__ inline void pipeline_producer_commit(pipeline<thread_scope_thread>&, Barrier& sync) {
  kpt_copies_done();
  sync.arrive();
}
template <typename Group, thread_scope Scope, unsigned char Stages>
__device__ inline pipeline<Scope> kpt_make_pipeline(const Group& group, pipeline_shared_state<Scope, Stages>* state,
                                                    unsigned int producers, unsigned int consumers, bool produces,
                                                    bool consumes) {
  if (group.thread_rank() == 0)
    for (int stage = 0; stage < Stages; ++stage) {
      init(&state->produced[stage], producers);
      init(&state->consumed[stage], consumers);
    }
  group.sync();
  return pipeline<Scope>(state->produced, state->consumed, Stages, produces, consumes);
}
template <typename Group, thread_scope Scope, unsigned char Stages>
__device__ inline pipeline<Scope> make_pipeline(const Group& group, pipeline_shared_state<Scope, Stages>* state) {
  return kpt_make_pipeline(group, state, group.size(), group.size(), true, true);
}
// One wave cannot wait for itself: with both roles in one wave this stops instead of waiting for ever.
template <typename Group, thread_scope Scope, unsigned char Stages>
__device__ inline pipeline<Scope> make_pipeline(const Group& group, pipeline_shared_state<Scope, Stages>* state,
                                                pipeline_role role) {
  const bool produces = role == pipeline_role::producer;
  const unsigned long long producing = __builtin_amdgcn_ballot_w64(produces), active = __builtin_amdgcn_ballot_w64(true);
  if (producing != 0 && producing != active) __builtin_trap();
  if (group.thread_rank() == 0) state->producers = 0;
  group.sync();
  __hip_atomic_fetch_add(&state->producers, produces ? 1u : 0u, __ATOMIC_RELAXED, Scope);
  group.sync();
  const unsigned int producers = state->producers;
  return kpt_make_pipeline(group, state, producers, group.size() - producers, produces, !produces);
}
template <typename Group, thread_scope Scope, unsigned char Stages>
__device__ inline pipeline<Scope> make_pipeline(const Group& group, pipeline_shared_state<Scope, Stages>* state,
                                                std::size_t producers) {
  const bool produces = group.thread_rank() < producers;
  return make_pipeline(group, state, produces ? pipeline_role::producer : pipeline_role::consumer);
}
}  // namespace cuda
//: kpt_pipeline_primitives < cstddef cstdint : kpt_own_copy
// 4, 8 or 16 bytes, aligned to their number; the last `zeros` of them are 0 and not read.
__device__ inline void __pipeline_memcpy_async(void* __restrict__ to, const void* __restrict__ from, std::size_t bytes,
                                               std::size_t zeros = 0) {
  if (zeros == 0 && bytes == 16) kpt_own_copy(static_cast<uint4*>(to), static_cast<const uint4*>(from));
  else if (zeros == 0 && bytes == 8) *static_cast<uint2*>(to) = *static_cast<const uint2*>(from);
  else if (zeros == 0 && bytes == 4) kpt_own_copy(static_cast<unsigned int*>(to), static_cast<const unsigned int*>(from));
  else
    for (std::size_t at = 0; at < bytes; ++at)
      static_cast<unsigned char*>(to)[at] = at < bytes - zeros ? static_cast<const unsigned char*>(from)[at] : 0;
}
__device__ inline void __pipeline_commit() {}
__device__ inline void __pipeline_wait_prior(std::size_t) { kpt_own_copies_done(); }
//: cg::memcpy_async < hip/hip_cooperative_groups.h : kpt_copy
namespace cooperative_groups {
template <typename Group, typename T, typename Size>
__device__ inline void memcpy_async(const Group& group, T* to, const T* from, const Size& bytes) {
  kpt_copy<true>(to, from, bytes, group.thread_rank(), group.size());
}
// Layouts count elements.
template <typename Group, typename T, typename To, typename From>
__device__ inline void memcpy_async(const Group& group, T* to, const To& to_count, const T* from, const From& from_count) {
  const std::size_t count = std::size_t(to_count) < std::size_t(from_count) ? std::size_t(to_count) : std::size_t(from_count);
  kpt_copy<true>(to, from, count * sizeof(T), group.thread_rank(), group.size());
}
template <typename Group> __device__ inline void wait(const Group& group) {
  kpt_copies_done();
  group.sync();
}
template <unsigned int Prior, typename Group> __device__ inline void wait_prior(const Group& group) { wait(group); }
}  // namespace cooperative_groups
