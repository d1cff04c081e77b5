/* Accesses of LDS in checked builds: most of them are settled here, in the kernel, by the notes that the runtime keeps
 * of a workgroup's LDS. What is not is shown to the runtime, which asks the same questions of every cell and reports.
 *
 * A cell says who wrote a word last, or who read it last. It is in order with an access when it is from before the last
 * barrier, when it is the wave's own and no other wave read before it, or when both are atomic. */
#ifndef KPT_LDS_CHECK_H
#define KPT_LDS_CHECK_H

#include "engine.h"
#if defined(__AVX512F__)
#include <immintrin.h>
#endif

#if defined(KPT_CHECK)
KPT_INLINE int kpt_lds_all_written(const uint8_t *written, uint32_t bytes) {
#if defined(__AVX512BW__)
    __mmask64 missing = 0;
    for (uint32_t i = 0; i < bytes; i += 64) {
        const __mmask64 here = bytes - i < 64 ? (UINT64_C(1) << (bytes - i)) - 1 : ~UINT64_C(0);
        const __m512i some = _mm512_maskz_loadu_epi8(here, written + i);
        missing |= _mm512_mask_testn_epi8_mask(here, some, some);
    }
#else
    uint32_t missing = 0;
    for (uint32_t i = 0; i < bytes; i++) missing |= !written[i];
#endif
    return !missing;
}

#if defined(__AVX512F__)
KPT_INLINE __mmask16 kpt_cells_left(uint32_t left) { return (__mmask16)(left < 16 ? (1u << left) - 1 : 0xffffu); }
/* Those of 16 cells that somebody left whom nothing orders before this wave. */
KPT_INLINE __mmask16 kpt_cells_unordered(__mmask16 lanes, __m512i cells, const KptWave *w, uint32_t how) {
    const __m512i ordered = _mm512_set1_epi32((int)w->lds_notes->ordered);
    const __m512i own = _mm512_xor_si512(cells, _mm512_set1_epi32((int)w->race_cell));
    __mmask16 wrong = _mm512_mask_cmpge_epu32_mask(lanes, cells, ordered);
    wrong = _mm512_mask_cmpge_epu32_mask(wrong, own, _mm512_set1_epi32(KPT_CELL_WAVE)) |
            _mm512_mask_test_epi32_mask(wrong, cells, _mm512_set1_epi32(KPT_CELL_SEVERAL));
    if (how & KPT_ATOMIC) wrong = _mm512_mask_testn_epi32_mask(wrong, cells, _mm512_set1_epi32(KPT_CELL_ATOMIC));
    return wrong;
}
#endif
KPT_INLINE int kpt_cell_is_unordered(uint32_t cell, const KptWave *w, uint32_t how) {
    if (cell < w->lds_notes->ordered) return 0;
    if ((cell ^ w->race_cell) < KPT_CELL_WAVE && !(cell & KPT_CELL_SEVERAL)) return 0;
    return !(how & KPT_ATOMIC) || !(cell & KPT_CELL_ATOMIC);
}
/* Whether the cells are in order, and what is read was written by somebody. */
KPT_INLINE int kpt_lds_in_order(const KptWave *w, const uint32_t *writer, const uint32_t *reader, uint32_t cells,
                                uint32_t how) {
    uint32_t wrong = 0;
#if defined(__AVX512F__)
    for (uint32_t i = 0; i < cells; i += 16) {
        const __mmask16 lanes = kpt_cells_left(cells - i);
        const __m512i wrote = _mm512_maskz_loadu_epi32(lanes, writer + i);
        wrong |= kpt_cells_unordered(lanes, wrote, w, how);
        if (how & (KPT_READ | KPT_ATOMIC)) wrong |= _mm512_mask_testn_epi32_mask(lanes, wrote, wrote);
        if (how & (KPT_WRITE | KPT_ATOMIC))
            wrong |= kpt_cells_unordered(lanes, _mm512_maskz_loadu_epi32(lanes, reader + i), w, how);
    }
#else
    for (uint32_t i = 0; i < cells; i++) {
        wrong |= (uint32_t)kpt_cell_is_unordered(writer[i], w, how);
        if (how & (KPT_READ | KPT_ATOMIC)) wrong |= !writer[i];
        if (how & (KPT_WRITE | KPT_ATOMIC)) wrong |= (uint32_t)kpt_cell_is_unordered(reader[i], w, how);
    }
#endif
    return !wrong;
}
/* What a plain read leaves of the cell before it: that there was a plain read by another wave, not in order with this. */
KPT_INLINE uint32_t kpt_cell_several(uint32_t cell, const KptWave *w) {
    if (cell < w->lds_notes->ordered) return 0;
    if ((cell ^ w->race_cell) < KPT_CELL_WAVE) return cell & KPT_CELL_SEVERAL;
    return cell & KPT_CELL_ATOMIC ? 0 : KPT_CELL_SEVERAL;
}
/* Cells of lanes one behind the other, 1 << shift cells to a lane. */
KPT_INLINE void kpt_lds_note_readers(const KptWave *w, uint32_t *cell, uint32_t cells, uint32_t first, uint32_t shift) {
#if defined(__AVX512F__)
    const __m512i number = _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
    const __m512i several = _mm512_set1_epi32(KPT_CELL_SEVERAL),
                  ordered = _mm512_set1_epi32((int)w->lds_notes->ordered);
    const __m512i whole = _mm512_set1_epi32(KPT_CELL_WAVE), wave = _mm512_set1_epi32((int)w->race_cell);
    for (uint32_t i = 0; i < cells; i += 16) {
        const __mmask16 here = kpt_cells_left(cells - i);
        const __m512i before = _mm512_maskz_loadu_epi32(here, cell + i);
        const __mmask16 late = _mm512_mask_cmpge_epu32_mask(here, before, ordered);
        const __mmask16 other = _mm512_mask_cmpge_epu32_mask(late, _mm512_xor_si512(before, wave), whole);
        const __mmask16 plain = _mm512_mask_testn_epi32_mask(other, before, _mm512_set1_epi32(KPT_CELL_ATOMIC));
        const __mmask16 kept = _mm512_mask_test_epi32_mask((__mmask16)(late & ~other), before, several);
        const __m512i at = _mm512_add_epi32(number, _mm512_set1_epi32((int)i));
        const __m512i lane = _mm512_srl_epi32(at, _mm_cvtsi32_si128((int)shift));
        const __m512i mine = _mm512_add_epi32(lane, _mm512_set1_epi32((int)first));
        _mm512_mask_storeu_epi32(cell + i, here, _mm512_mask_or_epi32(mine, plain | kept, mine, several));
    }
#else
    for (uint32_t i = 0; i < cells; i++) cell[i] = (first + (i >> shift)) | kpt_cell_several(cell[i], w);
#endif
}
KPT_INLINE void kpt_lds_note(uint32_t *cell, uint32_t cells, uint32_t first, uint32_t shift) {
#if defined(__AVX512F__)
    const __m512i number = _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
    for (uint32_t i = 0; i < cells; i += 16) {
        const __m512i lane =
            _mm512_srl_epi32(_mm512_add_epi32(number, _mm512_set1_epi32((int)i)), _mm_cvtsi32_si128((int)shift));
        _mm512_mask_storeu_epi32(cell + i, kpt_cells_left(cells - i),
                                 _mm512_add_epi32(lane, _mm512_set1_epi32((int)first)));
    }
#else
    for (uint32_t i = 0; i < cells; i++) cell[i] = first + (i >> shift);
#endif
}
/* Without races only what is read has to have been written. */
KPT_INLINE int kpt_lds_is_written(const KptLdsNotes *notes, uint32_t at, uint32_t bytes, uint32_t how) {
    if (how & (KPT_READ | KPT_ATOMIC)) return kpt_lds_all_written(notes->written + at, bytes);
    __builtin_memset(notes->written + at, 1, bytes);
    return 1;
}
/* Whether nothing is wrong with an access by `lanes` lanes from `lane` on, each `size` bytes wide, one behind the other;
 * then it was noted. The bytes are inside LDS. */
KPT_OUTLINE int kpt_lds_is_good(KptWave *w, uint32_t lane, uint32_t lanes, uint32_t at, uint32_t size, uint32_t how) {
    KptLdsNotes *notes = w->lds_notes;
    if (!notes) return 0;
    if (!notes->writers) return kpt_lds_is_written(notes, at, lanes * size, how);
    const uint32_t by = notes->cell_shift, to_lane = size >> by, cells = lanes * to_lane;
    if ((at | size) & ((1u << by) - 1) || to_lane & (to_lane - 1)) return 0;
    if (!w->race_cell && !w->services->race_cell(w)) return 0;
    uint32_t *writer = notes->writers + (at >> by), *reader = notes->readers + (at >> by);
    if (!kpt_lds_in_order(w, writer, reader, cells, how)) return 0;
    const uint32_t shift = (uint32_t)__builtin_ctz(to_lane);
    const uint32_t mine = (w->race_cell | (how & KPT_ATOMIC ? KPT_CELL_ATOMIC : 0u)) + lane;
    if (!(how & (KPT_WRITE | KPT_ATOMIC))) kpt_lds_note_readers(w, reader, cells, mine, shift);
    if (how & KPT_ATOMIC) kpt_lds_note(reader, cells, mine, shift);
    if (how & (KPT_WRITE | KPT_ATOMIC)) {
        kpt_lds_note(writer, cells, mine, shift);
        __builtin_memset(notes->written + at, 1, lanes * size);
    }
    if (!(how & KPT_ATOMIC)) notes->plain = 1;
    return 1;
}
/* The same for one lane. */
KPT_OUTLINE int kpt_lds_lane_is_good(KptWave *w, uint32_t lane, uint32_t at, uint32_t size, uint32_t how) {
    KptLdsNotes *notes = w->lds_notes;
    if (!notes) return 0;
    if (!notes->writers) return kpt_lds_is_written(notes, at, size, how);
    const uint32_t by = notes->cell_shift, mine = w->race_cell | (how & KPT_ATOMIC ? KPT_CELL_ATOMIC : 0u) | lane;
    if ((at | size) & ((1u << by) - 1)) return 0;
    if (!w->race_cell) return kpt_lds_is_good(w, lane, 1, at, size, how);
    uint32_t *writer = notes->writers + (at >> by), *reader = notes->readers + (at >> by);
    for (uint32_t i = 0; i < size >> by; i++) {
        if (kpt_cell_is_unordered(writer[i], w, how)) return 0;
        if ((how & (KPT_READ | KPT_ATOMIC)) && !writer[i]) return 0;
        if ((how & (KPT_WRITE | KPT_ATOMIC)) && kpt_cell_is_unordered(reader[i], w, how)) return 0;
    }
    for (uint32_t i = 0; i < size >> by; i++) {
        if (how & KPT_ATOMIC)
            reader[i] = mine;
        else if (how & KPT_READ)
            reader[i] = mine | kpt_cell_several(reader[i], w);
        if (how & (KPT_WRITE | KPT_ATOMIC)) writer[i] = mine;
    }
    if (how & KPT_WRITE)
        for (uint32_t i = 0; i < size; i++) notes->written[at + i] = 1;
    if (!(how & KPT_ATOMIC)) notes->plain = 1;
    return 1;
}
#endif
#endif
