/* Row permutations of gfx10 and later, and the row swaps of gfx950. */
#ifndef KPT_CROSS_LANE_H
#define KPT_CROSS_LANE_H

#include "lanes.h"
#include "memory_places.h"
#include "small_floats.h"

/* A lane takes lane `select` of its own row of 16, or of the row beside it. op_sel bit 0: inactive lanes are read too,
 * bit 1: where none is read the result is 0 instead of what was there. */
KPT_INLINE void kpt_permlane(uint32_t *d, const uint32_t *a, const uint32_t *selects, uint32_t crossed, uint32_t op_sel,
                             uint64_t ex) {
    uint32_t found[WAVE];
    uint64_t readable = op_sel & 1u ? KPT_FULL : ex;
    for (uint32_t l = 0; l < WAVE; l++) {
        const uint32_t from = ((l & ~15u) ^ (crossed ? 16u : 0u)) | (selects[l] & 15u);
        const uint32_t missing = op_sel & 2u ? 0u : d[l];
        found[l] = readable >> from & 1 ? a[from] : missing;
    }
    for (uint32_t l = 0; l < WAVE; l++)
        if (ex >> l & 1) d[l] = found[l];
}
KPT_INLINE void kpt_permlane_fixed(uint32_t *d, const uint32_t *a, uint32_t low, uint32_t high, uint32_t crossed,
                                   uint32_t op_sel, uint64_t ex) {
    const uint64_t packed = (uint64_t)high << 32 | low;
    uint32_t selects[WAVE];
    for (uint32_t l = 0; l < WAVE; l++) selects[l] = (uint32_t)(packed >> (4 * (l & 15u)));
    kpt_permlane(d, a, selects, crossed, op_sel, ex);
}
/* ds_bpermute_fi: lanes that are off are read as well. */
KPT_INLINE void kpt_bpermute_any(uint32_t *d, const uint32_t *address, const uint32_t *value, uint32_t offset,
                                 uint64_t ex) {
    uint32_t found[WAVE];
    for (uint32_t l = 0; l < WAVE; l++) found[l] = value[(address[l] + offset) >> 2 & (WAVE - 1)];
    for (uint32_t l = 0; l < WAVE; l++)
        if (ex >> l & 1) d[l] = found[l];
}
KPT_INLINE void kpt_permlane64(uint32_t *d, const uint32_t *a, uint64_t ex) {
#if WAVE == 64
    uint32_t found[64];
    for (uint32_t l = 0; l < 64; l++) found[l] = a[l ^ 32u];
    for (uint32_t l = 0; l < 64; l++)
        if (ex >> l & 1) d[l] = found[l];
#else
    (void)d, (void)a, (void)ex;
#endif
}
/* Odd rows (width 16) or the upper half (width 32) of `first` change places with even rows or the lower half of
 * `second`. */
KPT_INLINE void kpt_permlane_swap(uint32_t *first, uint32_t *second, uint32_t width, uint64_t ex) {
    for (uint32_t l = 0; l < WAVE; l++) {
        if (l & width || !(ex >> l & 1) || !(ex >> (l + width) & 1)) continue;
        const uint32_t low = second[l];
        second[l] = first[l + width];
        first[l + width] = low;
    }
}
/* gfx950's transposing reads of LDS. Of every 16 lanes each reads 64 bits (96 of 6-bit elements); together that is 16
 * columns of as many rows as an element number has values, row after row, and lane i gets column i. */
KPT_INLINE uint32_t kpt_tr_bits(const uint32_t *words, uint32_t at, uint32_t bits) {
    const uint64_t pair = words[at / 32] | (uint64_t)(at % 32 + bits > 32 ? words[at / 32 + 1] : 0u) << 32;
    return (uint32_t)(pair >> (at % 32)) & ((1u << bits) - 1u);
}
KPT_OUTLINE void kpt_lds_transposed(KptWave *w, uint32_t *d, const uint32_t *address, uint32_t offset, uint32_t bits,
                                    uint64_t ex) {
    const uint32_t bytes = bits == 6 ? 12u : 8u, count = bytes * 8u / bits;
    uint32_t loaded[WAVE][3], found[3][WAVE];
    memset(loaded, 0, sizeof loaded);
    for (uint32_t l = 0; l < WAVE; l++) {
        if (!(ex >> l & 1)) continue;
        const uint8_t *from = kpt_pointer(w, l, (uint64_t)address[l] + offset, bytes, KPT_READ, KPT_LDS);
        if (from) memcpy(loaded[l], from, bytes);
    }
    memset(found, 0, sizeof found);
    for (uint32_t l = 0; l < WAVE; l++)
        for (uint32_t row = 0; row < count; row++) {
            /* Element `column` of a row of 16 is in the lane that read that part of the row. */
            const uint32_t place = row * 16u + (l & 15u), lane = (l & ~15u) + place / count;
            const uint32_t value = kpt_tr_bits(loaded[lane], place % count * bits, bits), at = row * bits;
            found[at / 32][l] |= value << (at % 32);
            if (at % 32 + bits > 32) found[at / 32 + 1][l] |= value >> (32 - at % 32);
        }
    for (uint32_t r = 0; r < bytes / 4; r++)
        for (uint32_t l = 0; l < WAVE; l++)
            if (ex >> l & 1) d[r * WAVE + l] = found[r][l];
}
/* gfx1250: every lane reads eight elements, and gets one of each of eight lanes: element l % 8 of lanes that lie one
 * behind the other (16 bits), or of two runs of four lanes (8 bits). */
KPT_OUTLINE void kpt_lds_eight_by_eight(KptWave *w, uint32_t *d, const uint32_t *address, uint32_t offset,
                                        uint32_t bits, uint64_t ex) {
    uint32_t loaded[WAVE][4], found[4][WAVE];
    memset(loaded, 0, sizeof loaded);
    memset(found, 0, sizeof found);
    for (uint32_t l = 0; l < WAVE; l++) {
        if (!(ex >> l & 1)) continue;
        const uint8_t *from = kpt_pointer(w, l, (uint64_t)address[l] + offset, bits, KPT_READ, KPT_LDS);
        if (from) memcpy(loaded[l], from, bits);
    }
    for (uint32_t l = 0; l < WAVE; l++)
        for (uint32_t e = 0; e < 8; e++) {
            const uint32_t lane = bits == 16 ? (l & 24u) + e : (l & 16u) + (l & 8u) / 2 + (e & 3u) + (e & 4u) * 2;
            found[e * bits / 32][l] |= kpt_tr_bits(loaded[lane], (l & 7u) * bits, bits) << (e * bits % 32);
        }
    for (uint32_t r = 0; r < bits / 4; r++)
        for (uint32_t l = 0; l < WAVE; l++)
            if (ex >> l & 1) d[r * WAVE + l] = found[r][l];
}
#endif
