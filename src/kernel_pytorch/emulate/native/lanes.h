/* Lane masks between bits in scalar registers and one word per lane, and what looks across lanes. */
#ifndef KPT_LANES_H
#define KPT_LANES_H

#include "bits.h"
#include "engine.h"
#if defined(__AVX512F__) || defined(__AVX2__)
#include <immintrin.h>
#endif

/* A loop whose rounds do not depend on each other: lane l touches only its own places. gcc turns every branch of such a
 * loop into selects (`omp simd`, which needs -fopenmp-simd); after `ivdep` it left a minimum of floats to scalar code. */
#if defined(__clang__)
#define KPT_LANES(l) _Pragma("clang loop vectorize(assume_safety)") for (uint32_t l = 0; l < WAVE; l++)
#else
#define KPT_LANES(l) _Pragma("omp simd") for (uint32_t l = 0; l < WAVE; l++)
#endif

/* The same where only some lanes are on: 16 at a time, from lane `at`. A group that is off as a whole is skipped. */
#define KPT_ROWS_ON(at, on)                                                                                            \
    for (uint32_t at = 0; at < WAVE; at += 16)                                                                         \
        if ((on) >> at & 0xffffu)
#if defined(__clang__)
#define KPT_ROW(k) _Pragma("clang loop vectorize(assume_safety)") for (uint32_t k = 0; k < 16; k++)
#else
#define KPT_ROW(k) _Pragma("omp simd") for (uint32_t k = 0; k < 16; k++)
#endif

/* One word per lane: all ones where the bit is set. */
static inline void kpt_spread(uint32_t *lanes, uint64_t bits) {
    for (int half = 0; half < WAVE / 32; half++) {
        uint32_t word = (uint32_t)(bits >> (32 * half));
        for (uint32_t l = 0; l < 32; l++) lanes[32 * half + l] = 0u - (word >> l & 1u);
    }
}
/* The other way: a bit for every word that is not 0. */
static inline uint64_t kpt_collect(const uint32_t *lanes) {
    uint64_t bits = 0;
#if defined(__AVX512F__)
    for (int at = 0; at < WAVE; at += 16) {
        __m512i word = _mm512_loadu_si512((const void *)(lanes + at));
        bits |= (uint64_t)_mm512_test_epi32_mask(word, word) << at;
    }
#elif defined(__AVX2__)
    for (int at = 0; at < WAVE; at += 8) {
        __m256i word = _mm256_loadu_si256((const __m256i *)(lanes + at));
        __m256i zero = _mm256_cmpeq_epi32(word, _mm256_setzero_si256());
        bits |= (uint64_t)(~(uint32_t)_mm256_movemask_ps(_mm256_castsi256_ps(zero)) & 255u) << at;
    }
#else
    for (int l = 0; l < WAVE; l++) bits |= (uint64_t)(lanes[l] != 0) << l;
#endif
    return bits;
}
static inline uint32_t kpt_first_lane(uint64_t ex) { return ex ? (uint32_t)__builtin_ctzll(ex) : 0u; }

static inline void kpt_inactive(KptWave *w, uint64_t ex, uint32_t lane, uint32_t source) {
#ifdef KPT_CHECK
    if (!(ex >> source & 1)) w->services->fault(w, KPT_FAULT_INACTIVE_LANE, lane, source, 4);
#else
    (void)w, (void)ex, (void)lane, (void)source;
#endif
}
/* A lane read by number. Registers that keep spilled scalars have values in lanes that are off: that is meant. */
static inline void kpt_read_from_lane(KptWave *w, uint64_t ex, uint32_t lane, int spilled) {
    if (!spilled) kpt_inactive(w, ex, lane, lane);
}
/* found[l] = table[index[l] % WAVE] */
static inline void kpt_look_up(uint32_t *found, const uint32_t *table, const uint32_t *index) {
#if defined(__AVX512F__)
    __m512i part[WAVE / 16];
    for (int at = 0; at < WAVE / 16; at++) part[at] = _mm512_loadu_si512((const void *)(table + 16 * at));
    for (int at = 0; at < WAVE; at += 16) {
        __m512i which = _mm512_loadu_si512((const void *)(index + at));
        __m512i low = _mm512_permutex2var_epi32(part[0], which, part[1]);
#if WAVE == 64
        __m512i high = _mm512_permutex2var_epi32(part[2], which, part[3]);
        low = _mm512_mask_mov_epi32(low, _mm512_test_epi32_mask(which, _mm512_set1_epi32(32)), high);
#endif
        _mm512_storeu_si512((void *)(found + at), low);
    }
#else
    for (uint32_t l = 0; l < WAVE; l++) found[l] = table[index[l] & (WAVE - 1)];
#endif
}
static inline void kpt_bpermute(KptWave *w, uint32_t *d, const uint32_t *address, const uint32_t *value,
                                uint32_t offset, uint64_t ex) {
    uint32_t from[WAVE], found[WAVE];
    for (uint32_t l = 0; l < WAVE; l++) from[l] = (address[l] + offset) >> 2;
    if (ex == KPT_FULL) {
        kpt_look_up(found, value, from);
        memcpy(d, found, sizeof found);
        return;
    }
    /* A lane that is off gives 0. */
    uint32_t on[WAVE], kept[WAVE];
    kpt_spread(on, ex);
    for (uint32_t l = 0; l < WAVE; l++) kept[l] = value[l] & on[l];
    kpt_look_up(found, kept, from);
#ifdef KPT_CHECK
    for (uint32_t l = 0; l < WAVE; l++)
        if (ex >> l & 1) kpt_inactive(w, ex, l, from[l] & (WAVE - 1));
#endif
    (void)w;
    for (uint32_t l = 0; l < WAVE; l++) d[l] = kpt_select(on[l], found[l], d[l]);
}
static inline void kpt_permute(uint32_t *d, const uint32_t *address, const uint32_t *value, uint32_t offset,
                               uint64_t ex) {
    uint32_t found[WAVE] = {0};
    for (uint32_t l = 0; l < WAVE; l++)
        if (ex >> l & 1) found[(address[l] + offset) >> 2 & (WAVE - 1)] = value[l];
    for (uint32_t l = 0; l < WAVE; l++)
        if (ex >> l & 1) d[l] = found[l];
}
/* ds_swizzle_b32: butterflies of an FFT (from 0xe000), rotation of 32 (from 0xc000), quad permutation (from 0x8000),
 * or and/or/xor masks within 32. */
static inline void kpt_swizzle(KptWave *w, uint32_t *d, const uint32_t *value, uint32_t pattern, uint64_t ex) {
    uint32_t found[WAVE];
    for (uint32_t l = 0; l < WAVE; l++) {
        uint32_t from;
        if (pattern >= 0xe000u) {
            uint32_t keep = pattern & 31u, turned = kpt_bitreverse(l & 31u) >> 27;
            from = turned >> __builtin_popcount(keep) | (l & keep) | (l & 32u);
        } else if (pattern >= 0xc000u) {
            uint32_t by = pattern >> 5 & 31u, keep = pattern & 31u;
            uint32_t turned = pattern >> 10 & 1u ? l - by : l + by;
            from = (l & ~31u) | (l & keep) | (turned & 31u & ~keep);
        } else if (pattern >> 15 & 1u) {
            from = (l & ~3u) | (pattern >> (2 * (l & 3u)) & 3u);
        } else {
            uint32_t in_32 = (((l & 31u) & (pattern & 31u)) | (pattern >> 5 & 31u)) ^ (pattern >> 10 & 31u);
            from = (l & ~31u) | in_32;
        }
        found[l] = ex >> from & 1 ? value[from] : 0u;
        if (ex >> l & 1) kpt_inactive(w, ex, l, from);
    }
    for (uint32_t l = 0; l < WAVE; l++)
        if (ex >> l & 1) d[l] = found[l];
}
#endif
