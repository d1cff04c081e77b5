// Shuffles, loads and atomics of the small floating types.
#ifndef KPT_SMALL_FLOAT_LANES_H
#define KPT_SMALL_FLOAT_LANES_H

namespace kpt {
// Carried as 32 bits: the narrowest a lane can hand to another.
template <class T> KPT_DEV int lane_bits(T value) {
  int bits = 0;
  __builtin_memcpy(&bits, &value, sizeof(T));
  return bits;
}
template <class T> KPT_DEV T from_lane_bits(int bits) {
  T value;
  __builtin_memcpy(&value, &bits, sizeof(T));
  return value;
}

// Adds to one or two packed halves by compare-and-swap on the aligned word that holds them.
template <class T, class Add> KPT_DEV T atomic_update(T* address, T value, Add add) {
  static_assert(sizeof(T) == 2 || sizeof(T) == 4, "a half or a pair of halves");
  const unsigned long long at = (unsigned long long)address;
  unsigned* word = (unsigned*)(at & ~3ull);
  const unsigned shift = sizeof(T) == 2 ? unsigned(at & 2) * 8 : 0;
  const unsigned field = sizeof(T) == 2 ? 0xffffu : 0xffffffffu;
  unsigned seen = __hip_atomic_load(word, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
  for (;;) {
    T old = from_lane_bits<T>(int((seen >> shift) & field));
    const unsigned sum = unsigned(lane_bits(add(old, value))) & field;
    const unsigned wanted = (seen & ~(field << shift)) | (sum << shift);
    if (__hip_atomic_compare_exchange_strong(word, &seen, wanted, __ATOMIC_RELAXED, __ATOMIC_RELAXED,
                                             __HIP_MEMORY_SCOPE_AGENT))
      return old;
  }
}
struct plus {
  template <class T> __device__ T operator()(T x, T y) const { return x + y; }
};
}  // namespace kpt

#define KPT_SMALL_SHUFFLES(T)                                                                               \
  KPT_DEV T __shfl(T v, int lane, int width = __builtin_amdgcn_wavefrontsize()) {                           \
    return kpt::from_lane_bits<T>(__shfl(kpt::lane_bits(v), lane, width));                                  \
  }                                                                                                         \
  KPT_DEV T __shfl_up(T v, unsigned d, int width = __builtin_amdgcn_wavefrontsize()) {                      \
    return kpt::from_lane_bits<T>(__shfl_up(kpt::lane_bits(v), d, width));                                  \
  }                                                                                                         \
  KPT_DEV T __shfl_down(T v, unsigned d, int width = __builtin_amdgcn_wavefrontsize()) {                    \
    return kpt::from_lane_bits<T>(__shfl_down(kpt::lane_bits(v), d, width));                                \
  }                                                                                                         \
  KPT_DEV T __shfl_xor(T v, int mask, int width = __builtin_amdgcn_wavefrontsize()) {                       \
    return kpt::from_lane_bits<T>(__shfl_xor(kpt::lane_bits(v), mask, width));                              \
  }                                                                                                         \
  template <class M> KPT_DEV T __shfl_sync(M m, T v, int lane, int width = __builtin_amdgcn_wavefrontsize()) { \
    return kpt::from_lane_bits<T>(__shfl_sync(m, kpt::lane_bits(v), lane, width));                          \
  }                                                                                                         \
  template <class M> KPT_DEV T __shfl_up_sync(M m, T v, unsigned d, int width = __builtin_amdgcn_wavefrontsize()) { \
    return kpt::from_lane_bits<T>(__shfl_up_sync(m, kpt::lane_bits(v), d, width));                          \
  }                                                                                                         \
  template <class M>                                                                                        \
  KPT_DEV T __shfl_down_sync(M m, T v, unsigned d, int width = __builtin_amdgcn_wavefrontsize()) {          \
    return kpt::from_lane_bits<T>(__shfl_down_sync(m, kpt::lane_bits(v), d, width));                        \
  }                                                                                                         \
  template <class M> KPT_DEV T __shfl_xor_sync(M m, T v, int mask, int width = __builtin_amdgcn_wavefrontsize()) { \
    return kpt::from_lane_bits<T>(__shfl_xor_sync(m, kpt::lane_bits(v), mask, width));                      \
  }

#define KPT_SMALL_LOADS(T)                                                                                  \
  KPT_DEV T __ldg(const T* p) { return *p; }                                                                \
  KPT_DEV T __ldcg(const T* p) { return *p; }                                                               \
  KPT_DEV T __ldca(const T* p) { return *p; }                                                               \
  KPT_DEV T __ldcs(const T* p) { return *p; }

// ROCm has no atomicAdd for these types, only the variant that may skip fine-grained memory.
#define KPT_SMALL_ATOMICS(T)                                                                                \
  KPT_DEV T unsafeAtomicAdd(T* address, T value) { return kpt::atomic_update(address, value, kpt::plus()); }

#endif  // KPT_SMALL_FLOAT_LANES_H
