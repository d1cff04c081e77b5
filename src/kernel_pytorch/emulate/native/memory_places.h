/* Where the lanes of a wave find their bytes on the host. */
#ifndef KPT_MEMORY_PLACES_H
#define KPT_MEMORY_PLACES_H

#include "bits.h"
#include "counting.h"
#include "engine.h"
#if defined(__AVX512F__)
#include <immintrin.h>
#endif

#define KPT_INLINE static inline __attribute__((always_inline))
/* `inline` only so that the ones a kernel does not use are dropped at -O0 too. */
#define KPT_OUTLINE static inline __attribute__((noinline))
#include "lds_check.h"

enum { KPT_GLOBAL, KPT_FLAT, KPT_LDS, KPT_PRIVATE };
/* What one lane moves. D16 kinds fill or store one half of a register. */
enum {
    KPT_U8,
    KPT_I8,
    KPT_U16,
    KPT_I16,
    KPT_W1,
    KPT_W2,
    KPT_W3,
    KPT_W4,
    KPT_U8_LOW,
    KPT_I8_LOW,
    KPT_16_LOW,
    KPT_U8_HIGH,
    KPT_I8_HIGH,
    KPT_16_HIGH
};

/* Lane l's address is base + lo[l] + (hi[l] << 32); either pointer may be NULL. */
typedef struct KptAddress {
    const uint32_t *lo, *hi;
    uint64_t base;
} KptAddress;

#define KPT_EACH_LANE(l, ex)                                                                                           \
    for (uint64_t kpt_left = (ex); kpt_left; kpt_left &= kpt_left - 1)                                                 \
        for (uint32_t l = (uint32_t)__builtin_ctzll(kpt_left), kpt_once = 1; kpt_once; kpt_once = 0)

KPT_INLINE uint64_t kpt_lane_address(KptAddress a, uint32_t l) {
    return a.base + (a.lo ? a.lo[l] : 0u) + (a.hi ? (uint64_t)a.hi[l] << 32 : 0u);
}
KPT_INLINE uint32_t kpt_bytes_of(const int kind) {
    switch (kind) {
    case KPT_U8:
    case KPT_I8:
    case KPT_U8_LOW:
    case KPT_I8_LOW:
    case KPT_U8_HIGH:
    case KPT_I8_HIGH: return 1;
    case KPT_U16:
    case KPT_I16:
    case KPT_16_LOW:
    case KPT_16_HIGH: return 2;
    default: return 4u * (uint32_t)(kind - KPT_W1 + 1);
    }
}
/* How 16 lanes' addresses lie: one behind the other, all the same, or neither. */
enum { KPT_APART, KPT_BEHIND, KPT_SAME };
#define KPT_CHUNK 16
KPT_INLINE int kpt_chunk(const uint32_t *lo, uint32_t size) {
#if defined(__AVX512F__)
    __m512i at = _mm512_loadu_si512((const void *)lo), first = _mm512_set1_epi32((int)lo[0]);
    __m512i number = _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
    __m512i wanted = _mm512_add_epi32(first, _mm512_mullo_epi32(number, _mm512_set1_epi32((int)size)));
    if (!_mm512_cmpneq_epi32_mask(at, wanted)) return KPT_BEHIND;
    return _mm512_cmpneq_epi32_mask(at, first) ? KPT_APART : KPT_SAME;
#else
    uint32_t first = lo[0], behind = 0, same = 0;
    for (uint32_t l = 0; l < KPT_CHUNK; l++) {
        behind |= lo[l] - first - l * size;
        same |= lo[l] ^ first;
    }
    return !behind ? KPT_BEHIND : !same ? KPT_SAME : KPT_APART;
#endif
}
/* Whether lane l's address is lane 0's plus l * size, with no carry into the high words. */
KPT_INLINE int kpt_consecutive(KptAddress a, uint32_t size) {
    if (!a.lo || a.lo[WAVE - 1] - a.lo[0] != (WAVE - 1) * size) return 0;
    for (uint32_t at = 0; at < WAVE; at += KPT_CHUNK)
        if (a.lo[at] - a.lo[0] != at * size || kpt_chunk(a.lo + at, size) != KPT_BEHIND) return 0;
    if (a.hi) {
        uint32_t high = a.hi[0], off = 0;
        for (uint32_t l = 0; l < WAVE; l++) off |= a.hi[l] ^ high;
        if (off) return 0;
    }
    return a.lo[0] <= 0xffffffffu - WAVE * size;
}
KPT_OUTLINE uint8_t *kpt_lds_fault(KptWave *w, uint32_t l, uint64_t at, uint32_t bytes) {
    w->services->fault(w, KPT_FAULT_LDS_BOUNDS, l, at, bytes);
    return 0;
}
KPT_OUTLINE uint8_t *kpt_scratch_fault(KptWave *w, uint32_t l, uint64_t at, uint32_t bytes) {
    w->services->fault(w, KPT_FAULT_SCRATCH_BOUNDS, l, at, bytes);
    return 0;
}
/* gfx1250 gives every lane's private memory an address of its own: the lane in bits 52 to 56, and the six bits above
 * them tell compiled code that it is private memory. No address on the host has those. */
#define KPT_FLAT_SCRATCH_BASE (UINT64_C(1) << 58)
/* Triton turns a lane off by an address behind every LDS (0x7fffffff, plus an instruction's offset): what it writes is
 * dropped and what it reads is 0, with intent. Other addresses outside are faults, as everywhere. */
KPT_INLINE int kpt_is_switched_off(uint32_t place) { return place - 0x7fffffffu < 0x20000u; }
/* Where lane l's bytes are on the host. NULL: outside LDS or private memory, and the runtime chose to go on; as on
 * the hardware a read is then 0 and a write is lost. */
KPT_INLINE uint8_t *kpt_pointer(KptWave *w, uint32_t l, uint64_t at, uint32_t bytes, uint32_t how, const int space) {
    int in_lds = space == KPT_LDS, in_private = space == KPT_PRIVATE;
    if (in_lds | in_private) at = (uint32_t)at;
    if (space == KPT_FLAT) {
        in_lds = at >> 32 == KPT_SHARED_APERTURE;
#if KPT_IS_GFX125
        in_private = at >> 58 == KPT_FLAT_SCRATCH_BASE >> 58;
        if (in_private) l = (uint32_t)(at >> 52) % WAVE;
#else
        in_private = at >> 32 == KPT_PRIVATE_APERTURE;
#endif
        if (in_lds | in_private) at = (uint32_t)at;
    }
    if (in_lds) {
#if KPT_IS_GFX125
        if (kpt_is_switched_off((uint32_t)at)) return 0;
#endif
        if (at + bytes > w->lds_bytes) return kpt_lds_fault(w, l, at, bytes);
#ifdef KPT_WAITS
        w->services->lds_used(w, l, 1, at, bytes, how);
#endif
#ifdef KPT_CHECK
        /* A flat access may be volatile: the runtime knows by its text. */
        if (space == KPT_FLAT || !kpt_lds_lane_is_good(w, l, (uint32_t)at, bytes, how))
            w->services->access(w, l, at, bytes, how | KPT_IN_LDS);
#endif
        return w->lds + at;
    }
    if (in_private) {
        if (at + bytes > w->scratch_lane_bytes) return kpt_scratch_fault(w, l, at, bytes);
        return w->scratch + (size_t)l * w->scratch_lane_bytes + at;
    }
#ifdef KPT_CHECK
    w->services->access(w, l, at, bytes, how);
#endif
    (void)how;
    return (uint8_t *)(uintptr_t)at;
}
/* In checked builds: whether the runtime agrees with an access of `lanes` lanes that lie one behind the other. */
KPT_INLINE int kpt_run_is_good(KptWave *w, uint32_t lane, uint32_t lanes, uint64_t at, uint32_t size, uint32_t how) {
#if defined(KPT_WAITS)
    if (how & KPT_IN_LDS) w->services->lds_used(w, lane, lanes, at, size, how);
#endif
#if defined(KPT_CHECK)
    if ((how & KPT_IN_LDS) && kpt_lds_is_good(w, lane, lanes, (uint32_t)at, size, how)) return 1;
    return w->services->run(w, lane, lanes, at, size, how);
#else
    (void)w, (void)lane, (void)lanes, (void)at, (void)size, (void)how;
    return 1;
#endif
}
/* The first lane's bytes when one copy will do, else NULL. `how`: KPT_READ or KPT_WRITE. */
KPT_INLINE uint8_t *kpt_run_of_bytes(KptWave *w, KptAddress a, uint64_t ex, uint32_t size, uint32_t how,
                                     const int space) {
    if (space == KPT_PRIVATE || ex != KPT_FULL || !kpt_consecutive(a, size)) return 0;
    uint64_t at = kpt_lane_address(a, 0);
    if (space == KPT_LDS) {
        at = (uint32_t)at;
        if (at + (uint64_t)WAVE * size > w->lds_bytes) return 0;
        return kpt_run_is_good(w, 0, WAVE, at, size, how | KPT_IN_LDS) ? w->lds + at : 0;
    }
    if (space == KPT_FLAT && at >> 48) return 0;
    return kpt_run_is_good(w, 0, WAVE, at, size, how) ? (uint8_t *)(uintptr_t)at : 0;
}
#endif
