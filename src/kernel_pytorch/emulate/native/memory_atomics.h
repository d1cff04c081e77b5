/* Read-modify-write of a whole wave, lane by lane in lane order.
 *
 * The waves of a workgroup run on one host thread, so LDS needs no host atomics; global memory does. */
#ifndef KPT_MEMORY_ATOMICS_H
#define KPT_MEMORY_ATOMICS_H

#include "floats.h"
#include "memory.h"

enum {
    KPT_ADD,
    KPT_SUB,
    KPT_RSUB,
    KPT_SWAP,
    KPT_CMPSWAP,
    KPT_AND,
    KPT_OR,
    KPT_XOR,
    KPT_UMIN,
    KPT_UMAX,
    KPT_SMIN,
    KPT_SMAX,
    KPT_INC,
    KPT_DEC,
    KPT_FADD,
    KPT_FMIN,
    KPT_FMAX,
    KPT_PKADD_F16,
    KPT_PKADD_BF16,
    KPT_SUBCLAMP,
    KPT_MSKOR,
    KPT_CONDSUB,
    KPT_FCMPSWAP,
    KPT_WRAP,
    KPT_CONDXCHG
};

static inline uint32_t kpt_bf16_round(float x) {
    uint32_t bits = kpt_u32(x);
    uint32_t rounded = (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16;
    return (bits & 0x7fffffffu) > 0x7f800000u ? (bits >> 16) | 0x40u : rounded;
}
/* What atomics of both widths do. */
#define KPT_APPLY_COMMON(integer, number, bits, smaller, larger)                                                       \
    case KPT_ADD: return old + v;                                                                                      \
    case KPT_SUB: return old - v;                                                                                      \
    case KPT_RSUB: return v - old;                                                                                     \
    case KPT_SWAP: return v;                                                                                           \
    case KPT_CMPSWAP: return old == second ? v : old;                                                                  \
    case KPT_AND: return old & v;                                                                                      \
    case KPT_OR: return old | v;                                                                                       \
    case KPT_XOR: return old ^ v;                                                                                      \
    case KPT_UMIN: return old < v ? old : v;                                                                           \
    case KPT_UMAX: return old > v ? old : v;                                                                           \
    case KPT_SMIN: return (integer)old < (integer)v ? old : v;                                                         \
    case KPT_SMAX: return (integer)old > (integer)v ? old : v;                                                         \
    case KPT_INC: return old >= v ? 0 : old + 1;                                                                       \
    case KPT_DEC: return old == 0 || old > v ? v : old - 1;                                                            \
    case KPT_FADD: return bits(number(old) + number(v));                                                               \
    case KPT_FMIN: return bits(smaller(number(old), number(v)));                                                       \
    case KPT_FMAX: return bits(larger(number(old), number(v)));                                                        \
    case KPT_FCMPSWAP: return number(old) == number(second) ? v : old;                                                 \
    case KPT_MSKOR: return (old & ~second) | v;

KPT_INLINE uint32_t kpt_apply32(uint32_t old, uint32_t v, uint32_t second, const int op) {
    switch (op) {
        KPT_APPLY_COMMON(int32_t, kpt_f32, kpt_u32, kpt_min_f32, kpt_max_f32)
    case KPT_SUBCLAMP: return old < v ? 0 : old - v;
    case KPT_CONDSUB: return old >= v ? old - v : old;
    case KPT_WRAP: return old >= v ? old - v : old + second;
    case KPT_PKADD_F16:
        return (uint32_t)kpt_f32_to_half(kpt_half_to_f32((uint16_t)old) + kpt_half_to_f32((uint16_t)v)) |
               (uint32_t)kpt_f32_to_half(kpt_half_to_f32((uint16_t)(old >> 16)) + kpt_half_to_f32((uint16_t)(v >> 16)))
                   << 16;
    case KPT_PKADD_BF16:
        return kpt_bf16_round(kpt_f32(old << 16) + kpt_f32(v << 16)) |
               kpt_bf16_round(kpt_f32(old & 0xffff0000u) + kpt_f32(v & 0xffff0000u)) << 16;
    }
    return old;
}
KPT_INLINE uint64_t kpt_apply64(uint64_t old, uint64_t v, uint64_t second, const int op) {
    switch (op) {
        KPT_APPLY_COMMON(int64_t, kpt_f64, kpt_u64, kpt_min_f64, kpt_max_f64)
    case KPT_CONDXCHG: {
        uint64_t low = v >> 31 & 1 ? v & 0x7fffffffu : old & 0xffffffffu,
                 high = v >> 63 ? v >> 32 & 0x7fffffffu : old >> 32;
        return high << 32 | low;
    }
    }
    return old;
}
/* The hardware refuses atomics that are not aligned to their size. */
KPT_INLINE void kpt_check_alignment(KptWave *w, uint32_t l, uint64_t at, uint32_t bytes) {
#ifdef KPT_CHECK
    if (at & (bytes - 1)) w->services->fault(w, KPT_FAULT_MISALIGNED, l, at, bytes);
#endif
    (void)w, (void)l, (void)at, (void)bytes;
}
/* `d` NULL: nobody wants the old value. `second` is the value to compare with, or the mask of mskor. */
#define KPT_DEFINE_ATOMIC(bits, type, words)                                                                           \
    KPT_INLINE void kpt_atomic##bits(KptWave *w, uint32_t *d, KptAddress a, const uint32_t *data,                      \
                                     const uint32_t *second, uint64_t ex, const int op, const int space) {             \
        KPT_COUNT_ACCESS(w, a, ex, bits / 8, KPT_READ | KPT_WRITE, space);                                             \
        KPT_EACH_LANE(l, ex) {                                                                                         \
            uint64_t at = kpt_lane_address(a, l);                                                                      \
            kpt_check_alignment(w, l, at, bits / 8);                                                                   \
            uint8_t *p = kpt_pointer(w, l, at, bits / 8, KPT_READ | KPT_WRITE | KPT_ATOMIC, space);                    \
            type v = 0, other = 0, old = 0;                                                                            \
            for (int k = 0; k < words; k++) v |= (type)data[k * WAVE + l] << (32 * k % bits);                          \
            if (second)                                                                                                \
                for (int k = 0; k < words; k++) other |= (type)second[k * WAVE + l] << (32 * k % bits);                \
            if (p) {                                                                                                   \
                type *at_host = (type *)(void *)p;                                                                     \
                if (space == KPT_LDS || space == KPT_PRIVATE) {                                                        \
                    memcpy(&old, p, sizeof old);                                                                       \
                    type fresh = kpt_apply##bits(old, v, other, op);                                                   \
                    memcpy(p, &fresh, sizeof fresh);                                                                   \
                } else if (op == KPT_ADD) {                                                                            \
                    old = __atomic_fetch_add(at_host, v, __ATOMIC_SEQ_CST);                                            \
                } else if (op == KPT_SWAP) {                                                                           \
                    old = __atomic_exchange_n(at_host, v, __ATOMIC_SEQ_CST);                                           \
                } else if (op == KPT_CMPSWAP) {                                                                        \
                    old = other;                                                                                       \
                    __atomic_compare_exchange_n(at_host, &old, v, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);              \
                } else {                                                                                               \
                    old = __atomic_load_n(at_host, __ATOMIC_RELAXED);                                                  \
                    while (!__atomic_compare_exchange_n(at_host, &old, kpt_apply##bits(old, v, other, op), 1,          \
                                                        __ATOMIC_SEQ_CST, __ATOMIC_RELAXED)) {}                        \
                }                                                                                                      \
            }                                                                                                          \
            if (d)                                                                                                     \
                for (int k = 0; k < words; k++) d[k * WAVE + l] = (uint32_t)(old >> (32 * k % bits));                  \
        }                                                                                                              \
    }
KPT_DEFINE_ATOMIC(32, uint32_t, 1)
KPT_DEFINE_ATOMIC(64, uint64_t, 2)

/* Through a buffer resource: lane by lane, each with the address the resource gives. */
#define KPT_DEFINE_BUFFER_ATOMIC(bits, words)                                                                          \
    KPT_INLINE void kpt_buffer_atomic##bits(KptWave *w, uint32_t *d, const KptBuffer *b, const uint32_t *data,         \
                                            const uint32_t *second, uint64_t ex, const int op) {                       \
        KPT_EACH_LANE(lane, ex) {                                                                                      \
            uint8_t *p = kpt_buffer_pointer(w, b, lane, bits / 8, KPT_READ | KPT_WRITE | KPT_ATOMIC);                  \
            if (p) {                                                                                                   \
                KptAddress a = {0, 0, (uint64_t)(uintptr_t)p};                                                         \
                kpt_atomic##bits(w, d, a, data, second, UINT64_C(1) << lane, op, KPT_GLOBAL);                          \
            } else if (d) {                                                                                            \
                for (int k = 0; k < words; k++) d[k * WAVE + lane] = 0;                                                \
            }                                                                                                          \
        }                                                                                                              \
    }
KPT_DEFINE_BUFFER_ATOMIC(32, 1)
KPT_DEFINE_BUFFER_ATOMIC(64, 2)

#define KPT_DEFINE_ATOMIC_OP(op, bits, space)                                                                          \
    KPT_OUTLINE void kpt_atomic_##op##_##bits##_##space(KptWave *w, uint32_t *d, const uint32_t *lo,                   \
                                                        const uint32_t *hi, uint64_t base, const uint32_t *data,       \
                                                        const uint32_t *second, uint64_t ex) {                         \
        kpt_atomic##bits(w, d, (KptAddress){lo, hi, base}, data, second, ex, KPT_##op, KPT_##space);                   \
    }
#define KPT_DEFINE_ATOMIC_SPACES(op, bits)                                                                             \
    KPT_OUTLINE void kpt_buffer_atomic_##op##_##bits(KptWave *w, uint32_t *d, const KptBuffer *b,                      \
                                                     const uint32_t *data, const uint32_t *second, uint64_t ex) {      \
        kpt_buffer_atomic##bits(w, d, b, data, second, ex, KPT_##op);                                                  \
    }                                                                                                                  \
    KPT_DEFINE_ATOMIC_OP(op, bits, GLOBAL)                                                                             \
    KPT_DEFINE_ATOMIC_OP(op, bits, FLAT)                                                                               \
    KPT_DEFINE_ATOMIC_OP(op, bits, LDS)
#define KPT_DEFINE_ATOMIC_BOTH(op) KPT_DEFINE_ATOMIC_SPACES(op, 32) KPT_DEFINE_ATOMIC_SPACES(op, 64)
KPT_DEFINE_ATOMIC_BOTH(ADD)
KPT_DEFINE_ATOMIC_BOTH(SUB)
KPT_DEFINE_ATOMIC_BOTH(RSUB)
KPT_DEFINE_ATOMIC_BOTH(SWAP)
KPT_DEFINE_ATOMIC_BOTH(CMPSWAP)
KPT_DEFINE_ATOMIC_BOTH(AND)
KPT_DEFINE_ATOMIC_BOTH(OR)
KPT_DEFINE_ATOMIC_BOTH(XOR)
KPT_DEFINE_ATOMIC_BOTH(UMIN)
KPT_DEFINE_ATOMIC_BOTH(UMAX)
KPT_DEFINE_ATOMIC_BOTH(SMIN)
KPT_DEFINE_ATOMIC_BOTH(SMAX)
KPT_DEFINE_ATOMIC_BOTH(INC)
KPT_DEFINE_ATOMIC_BOTH(DEC)
KPT_DEFINE_ATOMIC_BOTH(FADD)
KPT_DEFINE_ATOMIC_BOTH(FMIN)
KPT_DEFINE_ATOMIC_BOTH(FMAX)
KPT_DEFINE_ATOMIC_BOTH(MSKOR)
KPT_DEFINE_ATOMIC_SPACES(PKADD_F16, 32)
KPT_DEFINE_ATOMIC_SPACES(PKADD_BF16, 32)
KPT_DEFINE_ATOMIC_SPACES(SUBCLAMP, 32)
KPT_DEFINE_ATOMIC_SPACES(CONDSUB, 32)
KPT_DEFINE_ATOMIC_BOTH(FCMPSWAP)
KPT_DEFINE_ATOMIC_OP(WRAP, 32, LDS)
KPT_DEFINE_ATOMIC_OP(CONDXCHG, 64, LDS)

/* ds_append and ds_consume: one word for the whole wave, changed by the number of active lanes. */
KPT_OUTLINE void kpt_lds_count(KptWave *w, uint32_t *d, uint32_t at, uint64_t ex, uint32_t sign) {
    if (!ex) return;
    uint32_t old = 0, first = (uint32_t)__builtin_ctzll(ex);
    uint8_t *p = kpt_pointer(w, first, at, 4, KPT_READ | KPT_WRITE | KPT_ATOMIC, KPT_LDS);
    if (p) {
        memcpy(&old, p, 4);
        uint32_t fresh = old + sign * (uint32_t)__builtin_popcountll(ex);
        memcpy(p, &fresh, 4);
    }
    KPT_EACH_LANE(l, ex) d[l] = old;
}
/* Two exchanges of one lane: both old values are read before either is replaced. */
KPT_INLINE void kpt_lds_exchange2(KptWave *w, uint32_t *d, const uint32_t *lo, const uint32_t *x, const uint32_t *y,
                                  uint32_t off0, uint32_t off1, uint64_t ex, const uint32_t words) {
    KPT_EACH_LANE(l, ex) {
        uint32_t fresh[2][2], old[2][2] = {{0}};
        uint8_t *p[2];
        for (int k = 0; k < 2; k++) {
            uint32_t at = lo[l] + (k ? off1 : off0);
            kpt_check_alignment(w, l, at, 4 * words);
            p[k] = kpt_pointer(w, l, at, 4 * words, KPT_READ | KPT_WRITE | KPT_ATOMIC, KPT_LDS);
            for (uint32_t i = 0; i < words; i++) fresh[k][i] = (k ? y : x)[i * WAVE + l];
            if (p[k]) memcpy(old[k], p[k], 4 * words);
        }
        for (int k = 0; k < 2; k++) {
            if (p[k]) memcpy(p[k], fresh[k], 4 * words);
            for (uint32_t i = 0; i < words; i++) d[(k * words + i) * WAVE + l] = old[k][i];
        }
    }
}
KPT_OUTLINE void kpt_lds_exchange2_1(KptWave *w, uint32_t *d, const uint32_t *lo, const uint32_t *x, const uint32_t *y,
                                     uint32_t off0, uint32_t off1, uint64_t ex) {
    kpt_lds_exchange2(w, d, lo, x, y, off0, off1, ex, 1);
}
KPT_OUTLINE void kpt_lds_exchange2_2(KptWave *w, uint32_t *d, const uint32_t *lo, const uint32_t *x, const uint32_t *y,
                                     uint32_t off0, uint32_t off1, uint64_t ex) {
    kpt_lds_exchange2(w, d, lo, x, y, off0, off1, ex, 2);
}
#endif
