/* Loads and stores of 16 lanes at a time.
 *
 * Tiles are read row by row, less than a wave's width each, and at the rim of an array some lanes are off: where those
 * lanes of 16 that are on lie one behind the other, or all read one place, no loop over single lanes is needed.
 * Lanes that are off are not touched, in memory or in registers. Part of memory.h. */
#ifndef KPT_CHUNKS_H
#define KPT_CHUNKS_H

/* How the addresses of the lanes that are on lie; `on` has a bit for each of the 16 from lane `at`, and is not 0. */
KPT_INLINE int kpt_lanes_lie(KptAddress a, uint32_t at, uint32_t on, uint32_t size) {
    const uint32_t first = (uint32_t)__builtin_ctz(on), low = a.lo[at + first], high = a.hi ? a.hi[at + first] : 0u;
#if defined(__AVX512F__)
    const __mmask16 lanes = (__mmask16)on;
    if (a.hi && _mm512_mask_cmpneq_epi32_mask(lanes, _mm512_loadu_si512((const void *)(a.hi + at)),
                                              _mm512_set1_epi32((int)high)))
        return KPT_APART;
    __m512i place = _mm512_loadu_si512((const void *)(a.lo + at)), same = _mm512_set1_epi32((int)low);
    __m512i number = _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
    __m512i start = _mm512_set1_epi32((int)(low - first * size));
    __m512i behind = _mm512_add_epi32(start, _mm512_mullo_epi32(number, _mm512_set1_epi32((int)size)));
    if (!_mm512_mask_cmpneq_epi32_mask(lanes, place, same)) return KPT_SAME;
    if (_mm512_mask_cmpneq_epi32_mask(lanes, place, behind)) return KPT_APART;
#else
    uint32_t other = 0, apart = 0;
    for (uint32_t l = 0; l < KPT_CHUNK; l++) {
        uint32_t here = 0u - (on >> l & 1u);
        other |= here & (a.lo[at + l] ^ low);
        apart |= here & (a.lo[at + l] - low - (l - first) * size);
        if (a.hi && (here & (a.hi[at + l] ^ high))) return KPT_APART;
    }
    if (!other) return KPT_SAME;
    if (apart) return KPT_APART;
#endif
    /* Without a carry out of the low words: a lane behind it would be 4 GiB away. */
    return low <= 0xffffffffu - KPT_CHUNK * size ? KPT_BEHIND : KPT_APART;
}
/* Where lane `at`'s bytes would be, when all that the lanes touch is in one piece of one memory, else NULL. */
KPT_INLINE uint8_t *kpt_chunk_bytes(KptWave *w, KptAddress a, uint32_t at, uint32_t on, uint32_t size, int how,
                                    uint32_t access, const int space) {
    const uint32_t first = (uint32_t)__builtin_ctz(on), last = 31u - (uint32_t)__builtin_clz(on);
    const uint32_t before = how == KPT_SAME ? 0u : first * size;
    const uint32_t all = how == KPT_SAME ? size : (last - first + 1) * size;
    uint64_t place = kpt_lane_address(a, at + first);
    const uint32_t lanes = how == KPT_SAME ? 1u : last - first + 1;
#ifdef KPT_CHECK
    if (how != KPT_SAME && on >> first != (1u << lanes) - 1) return 0; /* lanes that are off lie between */
#endif
    if (space == KPT_LDS) {
        place = (uint32_t)place;
        if (place + all > w->lds_bytes || !kpt_run_is_good(w, at + first, lanes, place, size, access | KPT_IN_LDS))
            return 0;
        return (uint8_t *)((uintptr_t)w->lds + (uintptr_t)place - before);
    }
    if (space == KPT_FLAT && place >> 48) return 0;
    return kpt_run_is_good(w, at + first, lanes, place, size, access) ? (uint8_t *)(uintptr_t)(place - before) : 0;
}
/* Words that lie one behind the other, in memory or in a register. */
KPT_INLINE void kpt_move_words(void *to, const void *from, uint32_t on) {
#if defined(__AVX512F__)
    _mm512_mask_storeu_epi32(to, (__mmask16)on, _mm512_maskz_loadu_epi32((__mmask16)on, from));
#else
    for (uint32_t l = 0; l < KPT_CHUNK; l++)
        if (on >> l & 1) memcpy((uint8_t *)to + 4 * l, (const uint8_t *)from + 4 * l, 4);
#endif
}
KPT_INLINE void kpt_load_chunk(KptWave *w, uint32_t *d, KptAddress a, uint32_t at, uint32_t on, const int kind,
                               const int space) {
    const uint32_t size = kpt_bytes_of(kind);
    const int words = kind - KPT_W1 + 1;
    const int how = on & (on - 1) ? kpt_lanes_lie(a, at, on, size) : KPT_APART;
    const int whole = words == 1 || how == KPT_SAME || on == (1u << KPT_CHUNK) - 1;
    const uint8_t *from = how != KPT_APART && whole ? kpt_chunk_bytes(w, a, at, on, size, how, KPT_READ, space) : 0;
    if (!from) {
        /* Of a few lanes, one by one is faster. */
        if (__builtin_popcount(on) > 4 && kpt_gather(w, d, a, at, on, kind, space)) return;
        KPT_EACH_LANE(l, (uint64_t)on << at)
        kpt_put_lane(d, l, kpt_pointer(w, l, kpt_lane_address(a, l), size, KPT_READ, space), kind);
    } else if (how == KPT_SAME) {
        uint32_t read[4]; /* at once: see kpt_is_whole */
        if (kpt_is_whole(from, kind)) {
            const uint64_t both = __atomic_load_n((const uint64_t *)(const void *)from, __ATOMIC_RELAXED);
            read[0] = (uint32_t)both, read[1] = (uint32_t)(both >> 32);
        } else if (kpt_is_whole_four(from, kind)) {
            const KptFour all = *(const volatile KptFour *)(const void *)from;
            memcpy(read, &all, sizeof all);
        } else {
            memcpy(read, from, size);
        }
        for (int k = 0; k < words; k++) {
            uint32_t copies[KPT_CHUNK];
            for (uint32_t l = 0; l < KPT_CHUNK; l++) copies[l] = read[k];
            kpt_move_words(d + k * WAVE + at, copies, on);
        }
    } else if (words == 1) {
        kpt_move_words(d + at, from, on);
    } else {
        kpt_from_memory(d + at, from, words);
    }
}
/* Lanes that write one place do so in turn: that, as all else, is left to the loop. */
KPT_INLINE void kpt_store_chunk(KptWave *w, const uint32_t *s, KptAddress a, uint32_t at, uint32_t on, const int kind,
                                const int space) {
    const uint32_t size = kpt_bytes_of(kind);
    const int words = kind - KPT_W1 + 1;
    const int behind = (on & (on - 1)) && kpt_lanes_lie(a, at, on, size) == KPT_BEHIND;
    const int whole = words == 1 || on == (1u << KPT_CHUNK) - 1;
    uint8_t *to = behind && whole ? kpt_chunk_bytes(w, a, at, on, size, KPT_BEHIND, KPT_WRITE, space) : 0;
    if (!to) {
        if (__builtin_popcount(on) > 4 && kpt_scatter(w, s, a, at, on, kind, space)) return;
        KPT_EACH_LANE(l, (uint64_t)on << at)
        kpt_take_lane(s, l, kpt_pointer(w, l, kpt_lane_address(a, l), size, KPT_WRITE, space), kind);
    } else if (words == 1) {
        kpt_move_words(to, s + at, on);
    } else {
        kpt_to_memory(to, s + at, words);
    }
}
#endif
