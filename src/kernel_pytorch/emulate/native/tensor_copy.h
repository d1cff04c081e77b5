/* Copies of whole tiles between memory and LDS (gfx1250): one for a wave, described by twelve scalar registers.
 *
 * The fields are those that Triton's TDMUtility.cpp documents. Known are tiles of one and two dimensions. A descriptor
 * that asks for more (gathers, multicasts, barriers, iteration) ends as a trap, at its instruction. */
#ifndef KPT_TENSOR_COPY_H
#define KPT_TENSOR_COPY_H

#include "memory_places.h"

typedef struct KptTile {
    uint64_t memory, stride; /* of rows, in bytes */
    uint32_t lds, size;      /* of an element */
    uint32_t width, height;  /* of the tile, in elements */
    uint32_t inside, rows;   /* elements of a row, and rows, that the tensor has from here on */
    uint32_t interval, pad;  /* in LDS: so many bytes left out behind so many */
} KptTile;

KPT_OUTLINE int kpt_tile(KptWave *w, const uint32_t *g, const uint32_t *h, KptTile *t) {
    if (!(g[0] & 3u)) return 0; /* not wanted */
    const uint32_t unknown = (g[0] & 0xfffffffcu) | (h[0] & 0xcffffu) | (h[4] >> 16 > 1 ? 1u : 0u);
    if (unknown || g[3] >> 30 != 2u) {
        w->services->fault(w, KPT_FAULT_TRAP, 0, h[0], 0);
        return 0;
    }
    const uint32_t bytes = 1u << (h[0] >> 16 & 3u), tensor_rows = h[2] >> 16 | h[3] << 16;
    t->memory = (uint64_t)(g[3] & 0x1ffffffu) << 32 | g[2];
    t->stride = ((uint64_t)(h[6] & 0xffffu) << 32 | h[5]) * bytes;
    t->lds = g[1], t->size = bytes;
    t->width = h[3] >> 16;
    t->height = h[4] & 0xffffu;
    t->inside = h[1] >> 16 | h[2] << 16;
    if (t->inside > t->width) t->inside = t->width;
    t->rows = t->height ? tensor_rows : 1u; /* without a second dimension: one row */
    if (!t->height) t->height = 1;
    if (t->rows > t->height) t->rows = t->height;
    t->interval = 8u << (h[0] >> 22 & 7u);
    t->pad = h[0] >> 20 & 1u ? 4u * ((h[0] >> 25) + 1u) : 0u;
    return 1;
}
/* Elements outside the tensor are zero in LDS. */
KPT_OUTLINE void kpt_tensor_load(KptWave *w, const uint32_t *group0, const uint32_t *group1) {
    KptTile t;
    if (!kpt_tile(w, group0, group1, &t)) return;
    for (uint32_t row = 0; row < t.height; row++) {
        const uint8_t *from = 0;
        if (row < t.rows && t.inside)
            from = kpt_pointer(w, 0, t.memory + row * t.stride, t.inside * t.size, KPT_READ, KPT_GLOBAL);
        for (uint32_t x = 0; x < t.width; x++) {
            const uint32_t at = (row * t.width + x) * t.size;
            uint8_t *to = kpt_pointer(w, 0, t.lds + at + at / t.interval * t.pad, t.size, KPT_WRITE, KPT_LDS);
            if (!to) return;
            if (from && x < t.inside)
                memcpy(to, from + (size_t)x * t.size, t.size);
            else
                memset(to, 0, t.size);
        }
    }
}
/* Elements outside the tensor are not written. Stores know no padding. */
KPT_OUTLINE void kpt_tensor_store(KptWave *w, const uint32_t *group0, const uint32_t *group1) {
    KptTile t;
    if (!kpt_tile(w, group0, group1, &t)) return;
    for (uint32_t row = 0; row < t.rows && t.inside; row++) {
        const uint32_t bytes = t.inside * t.size;
        const uint8_t *from = kpt_pointer(w, 0, t.lds + row * t.width * t.size, bytes, KPT_READ, KPT_LDS);
        uint8_t *to = kpt_pointer(w, 0, t.memory + row * t.stride, bytes, KPT_WRITE, KPT_GLOBAL);
        if (from && to) memcpy(to, from, bytes);
    }
}
#endif
