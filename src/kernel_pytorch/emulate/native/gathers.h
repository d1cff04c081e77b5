/* Loads and stores of 16 lanes whose addresses lie apart, with AVX-512. Part of memory.h.
 *
 * Lanes are looked at one by one in checked builds, where the runtime wants to see each. An address outside global
 * memory's allocations faults as it does lane by lane. */
#ifndef KPT_GATHERS_H
#define KPT_GATHERS_H

#if defined(__AVX512F__) && !defined(KPT_CHECK) && !defined(KPT_WAITS)

/* Where each lane's bytes are on the host; lanes that are off lie where the first one that is on does.
 * 0: one of them is outside LDS, or not in global memory. */
KPT_INLINE int kpt_places(KptWave *w, KptAddress a, uint32_t at, uint32_t on, uint32_t size, const int space,
                          uint64_t *each) {
    __m512i place[2];
    const __mmask16 lanes = (__mmask16)on;
    const __m512i low = _mm512_loadu_si512((const void *)(a.lo + at));
    if (space == KPT_LDS) {
        if (w->lds_bytes < size) return 0;
        const __m512i offset = _mm512_add_epi32(low, _mm512_set1_epi32((int)(uint32_t)a.base));
        if (_mm512_mask_cmpgt_epu32_mask(lanes, offset, _mm512_set1_epi32((int)(w->lds_bytes - size)))) return 0;
        const __m512i start = _mm512_set1_epi64((long long)(uintptr_t)w->lds);
        place[0] = _mm512_add_epi64(start, _mm512_cvtepu32_epi64(_mm512_castsi512_si256(offset)));
        place[1] = _mm512_add_epi64(start, _mm512_cvtepu32_epi64(_mm512_extracti64x4_epi64(offset, 1)));
    } else {
        const __m512i base = _mm512_set1_epi64((long long)a.base);
        place[0] = _mm512_add_epi64(base, _mm512_cvtepu32_epi64(_mm512_castsi512_si256(low)));
        place[1] = _mm512_add_epi64(base, _mm512_cvtepu32_epi64(_mm512_extracti64x4_epi64(low, 1)));
        if (a.hi) {
            const __m512i high = _mm512_loadu_si512((const void *)(a.hi + at));
            const __m512i first = _mm512_cvtepu32_epi64(_mm512_castsi512_si256(high));
            const __m512i second = _mm512_cvtepu32_epi64(_mm512_extracti64x4_epi64(high, 1));
            place[0] = _mm512_add_epi64(place[0], _mm512_slli_epi64(first, 32));
            place[1] = _mm512_add_epi64(place[1], _mm512_slli_epi64(second, 32));
        }
        const __m512i far = _mm512_set1_epi64((long long)~((UINT64_C(1) << 48) - 1));
        if (space == KPT_FLAT && (_mm512_mask_test_epi64_mask((__mmask8)on, place[0], far) |
                                  _mm512_mask_test_epi64_mask((__mmask8)(on >> 8), place[1], far)))
            return 0;
    }
    _mm512_storeu_si512((void *)each, place[0]);
    _mm512_storeu_si512((void *)(each + 8), place[1]);
    if (on != 0xffffu) {
        const __m512i first = _mm512_set1_epi64((long long)each[__builtin_ctz(on)]);
        _mm512_storeu_si512((void *)each, _mm512_mask_mov_epi64(first, (__mmask8)on, place[0]));
        _mm512_storeu_si512((void *)(each + 8), _mm512_mask_mov_epi64(first, (__mmask8)(on >> 8), place[1]));
    }
    return 1;
}
#define KPT_WORD(l) *(const int *)(uintptr_t)(from[l] + at)
#define KPT_PAIR(l) *(const long long *)(uintptr_t)from[l]
/* One word of each lane, `at` bytes behind its place. A gather is faster where all is in the cache, as LDS is, and slower
 * where it is not. */
KPT_INLINE __m512i kpt_gather_ones(const uint64_t *from, uint64_t at, const int space) {
    if (space == KPT_LDS) {
        const void *base = (const void *)(uintptr_t)at;
        const __m256i low = _mm512_i64gather_epi32(_mm512_loadu_si512((const void *)from), base, 1);
        const __m256i high = _mm512_i64gather_epi32(_mm512_loadu_si512((const void *)(from + 8)), base, 1);
        return _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
    }
    __m128i four[4];
    for (int k = 0; k < 4; k++) {
        four[k] = _mm_cvtsi32_si128(KPT_WORD(4 * k));
        four[k] = _mm_insert_epi32(four[k], KPT_WORD(4 * k + 1), 1);
        four[k] = _mm_insert_epi32(four[k], KPT_WORD(4 * k + 2), 2);
        four[k] = _mm_insert_epi32(four[k], KPT_WORD(4 * k + 3), 3);
    }
    const __m512i first = _mm512_inserti32x4(_mm512_castsi128_si512(four[0]), four[1], 1);
    return _mm512_inserti32x4(_mm512_inserti32x4(first, four[2], 2), four[3], 3);
}
/* Eight lanes' pairs of words, each read at once: see kpt_is_whole. */
KPT_INLINE __m512i kpt_gather_pairs(const uint64_t *from, const int space) {
    if (space == KPT_LDS) return _mm512_i64gather_epi64(_mm512_loadu_si512((const void *)from), 0, 1);
    __m128i two[4];
    for (int k = 0; k < 4; k++) two[k] = _mm_insert_epi64(_mm_cvtsi64_si128(KPT_PAIR(2 * k)), KPT_PAIR(2 * k + 1), 1);
    const __m512i first = _mm512_inserti32x4(_mm512_castsi128_si512(two[0]), two[1], 1);
    return _mm512_inserti32x4(_mm512_inserti32x4(first, two[2], 2), two[3], 3);
}
/* Four words of each lane: 16 loads, turned. */
KPT_INLINE void kpt_gather_fours(uint32_t *d, const uint64_t *from, uint32_t on) {
    __m512i row[4];
#define KPT_FOUR(l) _mm_loadu_si128((const __m128i *)(uintptr_t)from[l])
    for (int k = 0; k < 4; k++) {
        row[k] = _mm512_castsi128_si512(KPT_FOUR(k));
        row[k] = _mm512_inserti32x4(row[k], KPT_FOUR(4 + k), 1);
        row[k] = _mm512_inserti32x4(row[k], KPT_FOUR(8 + k), 2);
        row[k] = _mm512_inserti32x4(row[k], KPT_FOUR(12 + k), 3);
    }
#undef KPT_FOUR
    const __m512i low = _mm512_unpacklo_epi32(row[0], row[1]), high = _mm512_unpackhi_epi32(row[0], row[1]);
    const __m512i low2 = _mm512_unpacklo_epi32(row[2], row[3]), high2 = _mm512_unpackhi_epi32(row[2], row[3]);
    const __mmask16 lanes = (__mmask16)on;
    _mm512_mask_storeu_epi32((void *)d, lanes, _mm512_unpacklo_epi64(low, low2));
    _mm512_mask_storeu_epi32((void *)(d + WAVE), lanes, _mm512_unpackhi_epi64(low, low2));
    _mm512_mask_storeu_epi32((void *)(d + 2 * WAVE), lanes, _mm512_unpacklo_epi64(high, high2));
    _mm512_mask_storeu_epi32((void *)(d + 3 * WAVE), lanes, _mm512_unpackhi_epi64(high, high2));
}
/* Whether it was done: lanes `at` to `at` + 15 of `d`, those that are on. */
KPT_INLINE int kpt_gather(KptWave *w, uint32_t *d, KptAddress a, uint32_t at, uint32_t on, const int kind,
                          const int space) {
    const uint32_t size = 4u * (uint32_t)(kind - KPT_W1 + 1);
    const __mmask16 lanes = (__mmask16)on;
    uint64_t from[KPT_CHUNK];
    if (!kpt_places(w, a, at, on, size, space, from)) return 0;
    if (kind == KPT_W4) {
        kpt_gather_fours(d + at, from, on);
    } else if (kind == KPT_W2) {
        const __m512i first = kpt_gather_pairs(from, space), second = kpt_gather_pairs(from + 8, space);
        _mm512_mask_storeu_epi32((void *)(d + at), lanes, kpt_pick(first, second, kpt_even));
        _mm512_mask_storeu_epi32((void *)(d + WAVE + at), lanes, kpt_pick(first, second, kpt_odd));
    } else {
        __m512i words[3];
        for (int k = 0; k <= kind - KPT_W1; k++) words[k] = kpt_gather_ones(from, 4 * (uint64_t)k, space);
        for (int k = 0; k <= kind - KPT_W1; k++) _mm512_mask_storeu_epi32((void *)(d + k * WAVE + at), lanes, words[k]);
    }
    return 1;
}
/* The same for a store. Lanes that write one place do so in turn. */
KPT_INLINE int kpt_scatter(KptWave *w, const uint32_t *s, KptAddress a, uint32_t at, uint32_t on, const int kind,
                           const int space) {
    const int words = kind - KPT_W1 + 1;
    uint64_t to[KPT_CHUNK];
    uint32_t held[4 * KPT_CHUNK];
    if (words == 3 || !kpt_places(w, a, at, on, 4u * (uint32_t)words, space, to)) return 0;
    if (words == 1)
        memcpy(held, s + at, sizeof(uint32_t) * KPT_CHUNK);
    else
        kpt_to_memory((uint8_t *)held, s + at, words);
    for (uint32_t l = 0; l < KPT_CHUNK; l++)
        if (on >> l & 1) memcpy((void *)(uintptr_t)to[l], held + l * words, 4 * (size_t)words);
    return 1;
}
#else
KPT_INLINE int kpt_gather(KptWave *w, uint32_t *d, KptAddress a, uint32_t at, uint32_t on, const int kind,
                          const int space) {
    (void)w, (void)d, (void)a, (void)at, (void)on, (void)kind, (void)space;
    return 0;
}
KPT_INLINE int kpt_scatter(KptWave *w, const uint32_t *s, KptAddress a, uint32_t at, uint32_t on, const int kind,
                           const int space) {
    (void)w, (void)s, (void)a, (void)at, (void)on, (void)kind, (void)space;
    return 0;
}
#endif
#endif
