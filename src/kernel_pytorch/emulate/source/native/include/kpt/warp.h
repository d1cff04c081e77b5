/* What lanes of a warp and threads of a block do together. */
#pragma once

#include <string.h>

#include "abi.h"

#define KPT_DEVICE static inline

KPT_DEVICE void __syncthreads(KPT_HERE) { kpt_syncthreads(0, 0, KPT_PLACE); }
KPT_DEVICE int __syncthreads_count(int p, KPT_HERE) { return kpt_syncthreads(1, p, KPT_PLACE); }
KPT_DEVICE int __syncthreads_and(int p, KPT_HERE) { return kpt_syncthreads(2, p, KPT_PLACE); }
KPT_DEVICE int __syncthreads_or(int p, KPT_HERE) { return kpt_syncthreads(3, p, KPT_PLACE); }
KPT_DEVICE void __syncwarp(unsigned mask = 0xffffffffu, KPT_HERE) {
    kpt_warp(KPT_SYNCWARP, mask, 0, 0, 0, 32, nullptr, KPT_PLACE);
}
KPT_DEVICE void __threadfence() { kpt_fence(1); }
KPT_DEVICE void __threadfence_block() { kpt_fence(0); }
KPT_DEVICE void __threadfence_system() { kpt_fence(2); }
KPT_DEVICE unsigned __activemask(KPT_HERE) {
    return (unsigned)kpt_warp(KPT_ACTIVE, ~0u, 1, 1, 0, 32, nullptr, KPT_PLACE);
}

namespace kpt {
template <class T> inline uint64_t to_bits(T value) {
    static_assert(sizeof(T) <= 8, "a shuffle moves at most 8 bytes");
    uint64_t bits = 0;
    __builtin_memcpy(&bits, &value, sizeof(T));
    return bits;
}
template <class T> inline T from_bits(uint64_t bits) {
    T value;
    __builtin_memcpy(&value, &bits, sizeof(T));
    return value;
}
} // namespace kpt

#define KPT_SHUFFLE(name, kind, argument)                                                                              \
    template <class T> KPT_DEVICE T __##name##_sync(unsigned mask, T value, argument at, int width = 32, KPT_HERE) {   \
        return kpt::from_bits<T>(kpt_warp(kind, mask, 0, kpt::to_bits(value), (int)at, width, nullptr, KPT_PLACE));    \
    }                                                                                                                  \
    template <class T> KPT_DEVICE T __##name(T value, argument at, int width = 32, KPT_HERE) {                         \
        return kpt::from_bits<T>(kpt_warp(kind, ~0u, 1, kpt::to_bits(value), (int)at, width, nullptr, KPT_PLACE));     \
    }
KPT_SHUFFLE(shfl, KPT_SHFL, int)
KPT_SHUFFLE(shfl_up, KPT_SHFL_UP, unsigned)
KPT_SHUFFLE(shfl_down, KPT_SHFL_DOWN, unsigned)
KPT_SHUFFLE(shfl_xor, KPT_SHFL_XOR, int)
#undef KPT_SHUFFLE

KPT_DEVICE unsigned __ballot_sync(unsigned mask, int p, KPT_HERE) {
    return (unsigned)kpt_warp(KPT_BALLOT, mask, 0, p != 0, 0, 32, nullptr, KPT_PLACE);
}
KPT_DEVICE int __any_sync(unsigned mask, int p, KPT_HERE) {
    return (int)kpt_warp(KPT_ANY, mask, 0, p != 0, 0, 32, nullptr, KPT_PLACE);
}
KPT_DEVICE int __all_sync(unsigned mask, int p, KPT_HERE) {
    return (int)kpt_warp(KPT_ALL, mask, 0, p != 0, 0, 32, nullptr, KPT_PLACE);
}
KPT_DEVICE int __uni_sync(unsigned mask, int p, KPT_HERE) {
    return (int)kpt_warp(KPT_UNI, mask, 0, p != 0, 0, 32, nullptr, KPT_PLACE);
}
#ifdef KPT_HIP
KPT_DEVICE unsigned long long __ballot(int p, KPT_HERE) {
    return kpt_warp(KPT_BALLOT, ~0u, 1, p != 0, 0, 32, nullptr, KPT_PLACE);
}
#else
KPT_DEVICE unsigned __ballot(int p, KPT_HERE) {
    return (unsigned)kpt_warp(KPT_BALLOT, ~0u, 1, p != 0, 0, 32, nullptr, KPT_PLACE);
}
#endif
KPT_DEVICE int __any(int p, KPT_HERE) { return (int)kpt_warp(KPT_ANY, ~0u, 1, p != 0, 0, 32, nullptr, KPT_PLACE); }
KPT_DEVICE int __all(int p, KPT_HERE) { return (int)kpt_warp(KPT_ALL, ~0u, 1, p != 0, 0, 32, nullptr, KPT_PLACE); }

template <class T> KPT_DEVICE unsigned __match_any_sync(unsigned mask, T value, KPT_HERE) {
    return (unsigned)kpt_warp(KPT_MATCH_ANY, mask, 0, kpt::to_bits(value), 0, 32, nullptr, KPT_PLACE);
}
template <class T> KPT_DEVICE unsigned __match_all_sync(unsigned mask, T value, int *same, KPT_HERE) {
    int equal = 0;
    unsigned lanes = (unsigned)kpt_warp(KPT_MATCH_ALL, mask, 0, kpt::to_bits(value), 0, 32, &equal, KPT_PLACE);
    *same = equal;
    return lanes;
}
#define KPT_REDUCE(name, T, kind)                                                                                      \
    KPT_DEVICE T __reduce_##name##_sync(unsigned mask, T value, KPT_HERE) {                                            \
        return (T)kpt_warp(kind, mask, 0, (unsigned)value, 0, 32, nullptr, KPT_PLACE);                                 \
    }
KPT_REDUCE(add, unsigned, KPT_ADD_U)
KPT_REDUCE(min, unsigned, KPT_MIN_U)
KPT_REDUCE(max, unsigned, KPT_MAX_U)
KPT_REDUCE(add, int, KPT_ADD_U)
KPT_REDUCE(min, int, KPT_MIN_S)
KPT_REDUCE(max, int, KPT_MAX_S)
KPT_REDUCE(and, unsigned, KPT_AND)
KPT_REDUCE(or, unsigned, KPT_OR)
KPT_REDUCE(xor, unsigned, KPT_XOR)
#undef KPT_REDUCE

KPT_DEVICE long long clock64() { return (long long)kpt_clock(); }
KPT_DEVICE long clock32() { return (long)kpt_clock(); }
KPT_DEVICE void __nanosleep(unsigned ns) { kpt_sleep(ns); }
KPT_DEVICE void __trap(KPT_HERE) { kpt_trap("__trap()", KPT_PLACE); }
KPT_DEVICE void __brkpt() {}
KPT_DEVICE void __prof_trigger(int) {}
