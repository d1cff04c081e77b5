/* Arithmetic on four bytes or two halves of a word. */
#pragma once

#include "warp.h"

#define KPT_SIMD(name, bits, T, value)                                                                                 \
    KPT_DEVICE unsigned name(unsigned first, unsigned second) {                                                        \
        unsigned out = 0;                                                                                              \
        for (int at = 0; at < 32; at += bits) {                                                                        \
            long long a = (T)(first >> at), b = (T)(second >> at);                                                     \
            out |= ((unsigned)(value) & (0xffffffffu >> (32 - bits))) << at;                                           \
        }                                                                                                              \
        return out;                                                                                                    \
    }
#define KPT_CLAMP(x, low, high) ((x) < (low) ? (low) : (x) > (high) ? (high) : (x))
#define KPT_SIMD_BOTH(bits, count, S, U, low, high, all)                                                               \
    KPT_SIMD(__vadd##count, bits, U, a + b)                                                                            \
    KPT_SIMD(__vsub##count, bits, U, a - b)                                                                            \
    KPT_SIMD(__vaddss##count, bits, S, KPT_CLAMP(a + b, low, high))                                                    \
    KPT_SIMD(__vaddus##count, bits, U, KPT_CLAMP(a + b, 0, all))                                                       \
    KPT_SIMD(__vsubss##count, bits, S, KPT_CLAMP(a - b, low, high))                                                    \
    KPT_SIMD(__vsubus##count, bits, U, KPT_CLAMP(a - b, 0, all))                                                       \
    KPT_SIMD(__vmaxs##count, bits, S, a > b ? a : b)                                                                   \
    KPT_SIMD(__vmaxu##count, bits, U, a > b ? a : b)                                                                   \
    KPT_SIMD(__vmins##count, bits, S, a < b ? a : b)                                                                   \
    KPT_SIMD(__vminu##count, bits, U, a < b ? a : b)                                                                   \
    KPT_SIMD(__vabsdiffs##count, bits, S, a > b ? a - b : b - a)                                                       \
    KPT_SIMD(__vabsdiffu##count, bits, U, a > b ? a - b : b - a)                                                       \
    KPT_SIMD(__vavgu##count, bits, U, (a + b + 1) >> 1)                                                                \
    KPT_SIMD(__vhaddu##count, bits, U, (a + b) >> 1)                                                                   \
    KPT_SIMD(__vcmpeq##count, bits, U, a == b ? ~0u : 0u)                                                              \
    KPT_SIMD(__vcmpne##count, bits, U, a != b ? ~0u : 0u)                                                              \
    KPT_SIMD(__vcmpgts##count, bits, S, a > b ? ~0u : 0u)                                                              \
    KPT_SIMD(__vcmpgtu##count, bits, U, a > b ? ~0u : 0u)                                                              \
    KPT_SIMD(__vcmplts##count, bits, S, a < b ? ~0u : 0u)                                                              \
    KPT_SIMD(__vcmpltu##count, bits, U, a < b ? ~0u : 0u)                                                              \
    KPT_SIMD(__vseteq##count, bits, U, a == b)                                                                         \
    KPT_SIMD(__vsetgtu##count, bits, U, a > b)
KPT_SIMD_BOTH(8, 4, signed char, unsigned char, -128, 127, 255)
KPT_SIMD_BOTH(16, 2, short, unsigned short, -32768, 32767, 65535)
#undef KPT_SIMD_BOTH
#undef KPT_SIMD
#undef KPT_CLAMP
