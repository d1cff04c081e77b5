/* atomicAdd and its kin, for the types that CUDA has them for. */
#pragma once

#include "warp.h"

#define KPT_ATOMIC(name, T, operation)                                                                                 \
    KPT_DEVICE T name(T *at, T value, KPT_HERE) {                                                                      \
        return kpt::from_bits<T>(kpt_atomic(operation, sizeof(T), (void *)at, kpt::to_bits(value), 0, 0, KPT_PLACE));  \
    }                                                                                                                  \
    KPT_DEVICE T name##_block(T *at, T value, KPT_HERE) {                                                              \
        return kpt::from_bits<T>(kpt_atomic(operation, sizeof(T), (void *)at, kpt::to_bits(value), 0, 1, KPT_PLACE));  \
    }                                                                                                                  \
    KPT_DEVICE T name##_system(T *at, T value, KPT_HERE) {                                                             \
        return kpt::from_bits<T>(kpt_atomic(operation, sizeof(T), (void *)at, kpt::to_bits(value), 0, 0, KPT_PLACE));  \
    }
#define KPT_INTEGERS(name, with_sign, without_sign)                                                                    \
    KPT_ATOMIC(name, int, with_sign)                                                                                   \
    KPT_ATOMIC(name, unsigned, without_sign)                                                                           \
    KPT_ATOMIC(name, unsigned long, without_sign)                                                                      \
    KPT_ATOMIC(name, unsigned long long, without_sign)                                                                 \
    KPT_ATOMIC(name, long long, with_sign)

KPT_INTEGERS(atomicAdd, KPT_ATOMIC_ADD, KPT_ATOMIC_ADD)
KPT_ATOMIC(atomicAdd, float, KPT_ATOMIC_ADD_F)
KPT_ATOMIC(atomicAdd, double, KPT_ATOMIC_ADD_F)
KPT_INTEGERS(atomicSub, KPT_ATOMIC_SUB, KPT_ATOMIC_SUB)
KPT_INTEGERS(atomicExch, KPT_ATOMIC_EXCHANGE, KPT_ATOMIC_EXCHANGE)
KPT_ATOMIC(atomicExch, float, KPT_ATOMIC_EXCHANGE)
KPT_INTEGERS(atomicMin, KPT_ATOMIC_MIN_S, KPT_ATOMIC_MIN_U)
KPT_INTEGERS(atomicMax, KPT_ATOMIC_MAX_S, KPT_ATOMIC_MAX_U)
KPT_INTEGERS(atomicAnd, KPT_ATOMIC_AND, KPT_ATOMIC_AND)
KPT_INTEGERS(atomicOr, KPT_ATOMIC_OR, KPT_ATOMIC_OR)
KPT_INTEGERS(atomicXor, KPT_ATOMIC_XOR, KPT_ATOMIC_XOR)
KPT_ATOMIC(atomicInc, unsigned, KPT_ATOMIC_INC)
KPT_ATOMIC(atomicDec, unsigned, KPT_ATOMIC_DEC)
#ifdef KPT_HIP
KPT_ATOMIC(atomicMin, float, KPT_ATOMIC_MIN_F)
KPT_ATOMIC(atomicMin, double, KPT_ATOMIC_MIN_F)
KPT_ATOMIC(atomicMax, float, KPT_ATOMIC_MAX_F)
KPT_ATOMIC(atomicMax, double, KPT_ATOMIC_MAX_F)
KPT_ATOMIC(unsafeAtomicAdd, float, KPT_ATOMIC_ADD_F)
KPT_ATOMIC(unsafeAtomicAdd, double, KPT_ATOMIC_ADD_F)
#endif
#undef KPT_INTEGERS
#undef KPT_ATOMIC

#define KPT_CAS_NAMED(name, T)                                                                                         \
    KPT_DEVICE T name(T *at, T compare, T value, KPT_HERE) {                                                           \
        return kpt::from_bits<T>(kpt_atomic(KPT_ATOMIC_CAS, sizeof(T), (void *)at, kpt::to_bits(value),                \
                                            kpt::to_bits(compare), 0, KPT_PLACE));                                     \
    }
#define KPT_CAS(T) KPT_CAS_NAMED(atomicCAS, T) KPT_CAS_NAMED(atomicCAS_block, T) KPT_CAS_NAMED(atomicCAS_system, T)
KPT_CAS(int)
KPT_CAS(unsigned)
KPT_CAS(unsigned short)
KPT_CAS(unsigned long)
KPT_CAS(unsigned long long)
KPT_CAS(long long)
#undef KPT_CAS
#undef KPT_CAS_NAMED
