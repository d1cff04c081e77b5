/* Data-parallel primitives: the first source of a lane comes from another lane. */
#ifndef KPT_DPP_H
#define KPT_DPP_H

#include "bits.h"

/* How codegen/dpp.py writes a control: the hardware's DPP_CTRL, with these bits above it. */
#define KPT_DPP_FETCH_INACTIVE 0x40000000u
#define KPT_DPP8 0x80000000u

/* The lane that `lane` reads, or WAVE where there is none. */
static inline __attribute__((always_inline)) uint32_t kpt_dpp_lane(uint32_t control, uint32_t lane) {
    const uint32_t row = lane & ~15u, place = lane & 15u, amount = control & 15u;
    if (control & KPT_DPP8) return (lane & ~7u) | (control >> (3 * (lane & 7u)) & 7u);
    control &= 0x1ffu;
    if (control < 0x100u) return (lane & ~3u) | (control >> (2 * (lane & 3u)) & 3u);
    switch (control >> 4) {
    case 0x10: return place + amount < 16u ? lane + amount : (uint32_t)WAVE;
    case 0x11: return place >= amount ? lane - amount : (uint32_t)WAVE;
    case 0x12: return row | ((place - amount) & 15u);
    case 0x15: return row | amount;
    case 0x16: return row | (place ^ amount);
    }
    switch (control) {
    case 0x130: return lane + 1u;
    case 0x134: return (lane + 1u) & (WAVE - 1);
    case 0x138: return lane == 0 ? (uint32_t)WAVE : lane - 1u;
    case 0x13c: return (lane - 1u) & (WAVE - 1);
    case 0x140: return row | (15u - place);
    case 0x141: return (lane & ~7u) | (7u - (lane & 7u));
    case 0x142: return lane < 16u ? (uint32_t)WAVE : row - 1u;
    case 0x143: return lane < 32u ? (uint32_t)WAVE : (lane & ~31u) - 1u;
    }
    return WAVE;
}

/* Fills `out` with the first source as each lane sees it and returns the lanes that may write. */
static inline __attribute__((always_inline)) uint64_t kpt_dpp(uint32_t *out, const uint32_t *in, uint32_t control,
                                                              uint32_t row_mask, uint32_t bank_mask,
                                                              uint32_t bound_ctrl, uint64_t ex) {
    const uint64_t readable = control & KPT_DPP_FETCH_INACTIVE ? KPT_FULL : ex & KPT_FULL;
    uint64_t found = 0;
    if (readable == KPT_FULL) {
        for (uint32_t l = 0; l < WAVE; l++) {
            const uint32_t from = kpt_dpp_lane(control, l);
            out[l] = from < WAVE ? in[from & (WAVE - 1)] : 0u;
            found |= (uint64_t)(from < WAVE) << l;
        }
    } else {
        for (uint32_t l = 0; l < WAVE; l++) {
            const uint32_t from = kpt_dpp_lane(control, l);
            const uint64_t good = from < WAVE && (readable >> (from & (WAVE - 1)) & 1);
            out[l] = good ? in[from & (WAVE - 1)] : 0u;
            found |= good << l;
        }
    }
    if (control & KPT_DPP8) return ex & KPT_FULL;
    uint64_t allowed = 0;
    for (uint32_t l = 0; l < WAVE; l++)
        allowed |= (uint64_t)((row_mask >> (l >> 4) & 1u) & (bank_mask >> (l >> 2 & 3u) & 1u)) << l;
    return ex & allowed & (bound_ctrl ? KPT_FULL : found);
}
#endif
