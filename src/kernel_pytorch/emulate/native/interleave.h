/* Between registers, where a lane's words lie WAVE apart, and memory, where they lie one behind the other: 16 lanes of two
 * to four words. Part of memory.h.
 *
 * A vector access of aligned memory reads and writes every 8 and 16 bytes whole, as the lane's own access would
 * (kpt_is_whole). */
#ifndef KPT_INTERLEAVE_H
#define KPT_INTERLEAVE_H

#if defined(__AVX512F__)
#define KPT_AT16(words) _mm512_loadu_si512((const void *)(words))
#define KPT_PUT16(at, words) _mm512_storeu_si512((void *)(at), words)
/* Word i of the result is word place[i] of `a`, or place[i] - 16 of `b`. */
KPT_INLINE __m512i kpt_pick(__m512i a, __m512i b, const uint32_t *place) {
    return _mm512_permutex2var_epi32(a, KPT_AT16(place), b);
}
#define KPT_PLACES(name, of)                                                                                           \
    static const uint32_t name[16] = {of(0), of(1), of(2),  of(3),  of(4),  of(5),  of(6),  of(7),                     \
                                      of(8), of(9), of(10), of(11), of(12), of(13), of(14), of(15)}
/* Every second word of two vectors; and words of two vectors in turn. */
#define KPT_EVEN(i) 2 * (i)
#define KPT_ODD(i) 2 * (i) + 1
#define KPT_TURN_LOW(i) ((i) % 2 * 16 + (i) / 2)
#define KPT_TURN_HIGH(i) ((i) % 2 * 16 + (i) / 2 + 8)
KPT_PLACES(kpt_even, KPT_EVEN);
KPT_PLACES(kpt_odd, KPT_ODD);
KPT_PLACES(kpt_turn_low, KPT_TURN_LOW);
KPT_PLACES(kpt_turn_high, KPT_TURN_HIGH);
/* `d`: lane 0's place in the first register. */
KPT_INLINE void kpt_from_memory(uint32_t *d, const uint8_t *from, const int words) {
    const __m512i a = KPT_AT16(from), b = KPT_AT16(from + 64);
    if (words == 2) {
        KPT_PUT16(d, kpt_pick(a, b, kpt_even));
        KPT_PUT16(d + WAVE, kpt_pick(a, b, kpt_odd));
    } else if (words == 4) {
        const __m512i c = KPT_AT16(from + 128), e = KPT_AT16(from + 192);
        const __m512i even = kpt_pick(a, b, kpt_even), odd = kpt_pick(a, b, kpt_odd);
        const __m512i even2 = kpt_pick(c, e, kpt_even), odd2 = kpt_pick(c, e, kpt_odd);
        KPT_PUT16(d, kpt_pick(even, even2, kpt_even));
        KPT_PUT16(d + WAVE, kpt_pick(odd, odd2, kpt_even));
        KPT_PUT16(d + 2 * WAVE, kpt_pick(even, even2, kpt_odd));
        KPT_PUT16(d + 3 * WAVE, kpt_pick(odd, odd2, kpt_odd));
    } else {
        uint32_t held[3 * KPT_CHUNK];
        memcpy(held, from, sizeof held);
        for (int k = 0; k < 3; k++)
            for (uint32_t l = 0; l < KPT_CHUNK; l++) d[k * WAVE + l] = held[3 * l + k];
    }
}
KPT_INLINE void kpt_to_memory(uint8_t *to, const uint32_t *s, const int words) {
    const __m512i a = KPT_AT16(s), b = KPT_AT16(s + WAVE);
    if (words == 2) {
        KPT_PUT16(to, kpt_pick(a, b, kpt_turn_low));
        KPT_PUT16(to + 64, kpt_pick(a, b, kpt_turn_high));
    } else if (words == 4) {
        const __m512i c = KPT_AT16(s + 2 * WAVE), e = KPT_AT16(s + 3 * WAVE);
        const __m512i even = kpt_pick(a, c, kpt_turn_low), even2 = kpt_pick(a, c, kpt_turn_high);
        const __m512i odd = kpt_pick(b, e, kpt_turn_low), odd2 = kpt_pick(b, e, kpt_turn_high);
        KPT_PUT16(to, kpt_pick(even, odd, kpt_turn_low));
        KPT_PUT16(to + 64, kpt_pick(even, odd, kpt_turn_high));
        KPT_PUT16(to + 128, kpt_pick(even2, odd2, kpt_turn_low));
        KPT_PUT16(to + 192, kpt_pick(even2, odd2, kpt_turn_high));
    } else {
        uint32_t held[3 * KPT_CHUNK];
        for (int k = 0; k < 3; k++)
            for (uint32_t l = 0; l < KPT_CHUNK; l++) held[3 * l + k] = s[k * WAVE + l];
        memcpy(to, held, sizeof held);
    }
}
#else
KPT_INLINE void kpt_from_memory(uint32_t *d, const uint8_t *from, const int words) {
    for (uint32_t l = 0; l < KPT_CHUNK; l++) kpt_put_lane(d, l, from + 4 * words * l, KPT_W1 + words - 1);
}
KPT_INLINE void kpt_to_memory(uint8_t *to, const uint32_t *s, const int words) {
    for (uint32_t l = 0; l < KPT_CHUNK; l++) kpt_take_lane(s, l, to + 4 * words * l, KPT_W1 + words - 1);
}
#endif
#endif
