// Shuffles, loads and atomics of the small floating types.
#ifndef KPT_SMALL_FLOAT_LANES_H
#define KPT_SMALL_FLOAT_LANES_H

namespace kpt {
// Carried as 32 bits: the narrowest a lane can hand to another.
template <class __T> KPT_DEV int lane_bits(__T value) {
    int bits = 0;
    __builtin_memcpy(&bits, &value, sizeof(__T));
    return bits;
}
template <class __T> KPT_DEV __T from_lane_bits(int bits) {
    __T value;
    __builtin_memcpy(&value, &bits, sizeof(__T));
    return value;
}

// Adds to one or two packed halves by compare-and-swap on the aligned word that holds them.
template <class __T, class Add> KPT_DEV __T atomic_update(__T *address, __T value, Add add) {
    static_assert(sizeof(__T) == 2 || sizeof(__T) == 4, "a half or a pair of halves");
    const unsigned long long at = (unsigned long long)address;
    unsigned *word = (unsigned *)(at & ~3ull);
    const unsigned shift = sizeof(__T) == 2 ? unsigned(at & 2) * 8 : 0;
    const unsigned field = sizeof(__T) == 2 ? 0xffffu : 0xffffffffu;
    unsigned seen = __hip_atomic_load(word, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
    for (;;) {
        __T old = from_lane_bits<__T>(int((seen >> shift) & field));
        const unsigned sum = unsigned(lane_bits(add(old, value))) & field;
        const unsigned wanted = (seen & ~(field << shift)) | (sum << shift);
        if (__hip_atomic_compare_exchange_strong(word, &seen, wanted, __ATOMIC_RELAXED, __ATOMIC_RELAXED,
                                                 __HIP_MEMORY_SCOPE_AGENT))
            return old;
    }
}
struct plus {
    template <class __T> __device__ __T operator()(__T x, __T y) const { return x + y; }
};
} // namespace kpt

#define KPT_SMALL_SHUFFLES(__T)                                                                                        \
    KPT_DEV __T __shfl(__T v, int lane, int width = __builtin_amdgcn_wavefrontsize()) {                                \
        return kpt::from_lane_bits<__T>(__shfl(kpt::lane_bits(v), lane, width));                                       \
    }                                                                                                                  \
    KPT_DEV __T __shfl_up(__T v, unsigned d, int width = __builtin_amdgcn_wavefrontsize()) {                           \
        return kpt::from_lane_bits<__T>(__shfl_up(kpt::lane_bits(v), d, width));                                       \
    }                                                                                                                  \
    KPT_DEV __T __shfl_down(__T v, unsigned d, int width = __builtin_amdgcn_wavefrontsize()) {                         \
        return kpt::from_lane_bits<__T>(__shfl_down(kpt::lane_bits(v), d, width));                                     \
    }                                                                                                                  \
    KPT_DEV __T __shfl_xor(__T v, int mask, int width = __builtin_amdgcn_wavefrontsize()) {                            \
        return kpt::from_lane_bits<__T>(__shfl_xor(kpt::lane_bits(v), mask, width));                                   \
    }                                                                                                                  \
    template <class __M> KPT_DEV __T __shfl_sync(__M m, __T v, int lane,                                               \
                                                 int width = __builtin_amdgcn_wavefrontsize()) {                       \
        return kpt::from_lane_bits<__T>(__shfl_sync(m, kpt::lane_bits(v), lane, width));                               \
    }                                                                                                                  \
    template <class __M> KPT_DEV __T __shfl_up_sync(__M m, __T v, unsigned d,                                          \
                                                    int width = __builtin_amdgcn_wavefrontsize()) {                    \
        return kpt::from_lane_bits<__T>(__shfl_up_sync(m, kpt::lane_bits(v), d, width));                               \
    }                                                                                                                  \
    template <class __M>                                                                                               \
    KPT_DEV __T __shfl_down_sync(__M m, __T v, unsigned d, int width = __builtin_amdgcn_wavefrontsize()) {             \
        return kpt::from_lane_bits<__T>(__shfl_down_sync(m, kpt::lane_bits(v), d, width));                             \
    }                                                                                                                  \
    template <class __M> KPT_DEV __T __shfl_xor_sync(__M m, __T v, int mask,                                           \
                                                     int width = __builtin_amdgcn_wavefrontsize()) {                   \
        return kpt::from_lane_bits<__T>(__shfl_xor_sync(m, kpt::lane_bits(v), mask, width));                           \
    }

#define KPT_SMALL_LOADS(__T)                                                                                           \
    KPT_DEV __T __ldg(const __T *p) { return *p; }                                                                     \
    KPT_DEV __T __ldcg(const __T *p) { return *p; }                                                                    \
    KPT_DEV __T __ldca(const __T *p) { return *p; }                                                                    \
    KPT_DEV __T __ldcs(const __T *p) { return *p; }

// ROCm has no atomicAdd for these types, only the variant that may skip fine-grained memory.
#define KPT_SMALL_ATOMICS(__T)                                                                                         \
    KPT_DEV __T unsafeAtomicAdd(__T *address, __T value) { return kpt::atomic_update(address, value, kpt::plus()); }

#endif // KPT_SMALL_FLOAT_LANES_H
