/* WMMA and SWMMAC: 16 x 16 matrices on a wave of 32. gfx11 gives every lane a whole row of A (column of B) and lanes
 * 16 to 31 the same again; gfx12 gives it half of the row. */
#ifndef KPT_WAVE_MATRIX_H
#define KPT_WAVE_MATRIX_H

#include "floats.h"
#include "small_floats.h"

#if WAVE == 32 && GFX >= 11
enum { KPT_WM_F16, KPT_WM_BF16, KPT_WM_FP8, KPT_WM_BF8, KPT_WM_U8, KPT_WM_I8, KPT_WM_U4, KPT_WM_I4 };

KPT_INLINE int kpt_wm_bits(int kind) { return kind <= KPT_WM_BF16 ? 16 : kind <= KPT_WM_I8 ? 8 : 4; }

/* Element e of a lane: with k = e (gfx11) or e + half the depth in the upper lanes (gfx12). */
KPT_INLINE uint32_t kpt_wm_raw(const uint32_t *in, int bits, int e, int lane) {
    const int at = e * bits;
    return in[at / 32 * 32 + lane] >> (at % 32) & ((1u << bits) - 1u);
}
KPT_INLINE float kpt_wm_value(const uint32_t *in, int kind, int e, int lane, uint32_t neg_lo, uint32_t neg_hi) {
    uint32_t raw = kpt_wm_raw(in, kpt_wm_bits(kind), e, lane);
    if (kind <= KPT_WM_BF16) {
        raw ^= (e & 1 ? neg_hi : neg_lo) << 15;
        return kind == KPT_WM_F16 ? kpt_half_to_f32((uint16_t)raw) : kpt_bf16_to_f32(raw);
    }
    return kpt_small_to_f32(kind == KPT_WM_FP8 ? kpt_fp8_ocp : kpt_bf8_ocp, raw);
}
KPT_INLINE int32_t kpt_wm_integer(const uint32_t *in, int bits, int e, int lane, uint32_t is_signed) {
    uint32_t raw = kpt_wm_raw(in, bits, e, lane);
    return is_signed ? (int32_t)(raw << (32 - bits)) >> (32 - bits) : (int32_t)raw;
}
/* Lane and register (or half register) of D[i][j]. */
KPT_INLINE int kpt_wm_lane(int i) { return GFX == 11 ? 16 * (i & 1) : 16 * (i >> 3); }
KPT_INLINE int kpt_wm_element(int i) { return GFX == 11 ? i >> 1 : i & 7; }

KPT_INLINE void kpt_wm_spread(float (*out)[16], const uint32_t *in, int kind, int depth, uint32_t neg_lo,
                              uint32_t neg_hi) {
    for (int k = 0; k < depth; k++) {
        const int lanes = GFX == 11 ? 0 : 16 * (k / (depth / 2)), e = GFX == 11 ? k : k % (depth / 2);
        for (int j = 0; j < 16; j++) out[k][j] = kpt_wm_value(in, kind, e, lanes + j, neg_lo, neg_hi);
    }
}
KPT_INLINE void kpt_wmma_f32(uint32_t *d, const uint32_t *a, const uint32_t *b, const uint32_t *c, int kind_a,
                             int kind_b, uint32_t neg_lo, uint32_t neg_hi) {
    float left[16][16], right[16][16];
    kpt_wm_spread(left, a, kind_a, 16, neg_lo & 1u, neg_hi & 1u);
    kpt_wm_spread(right, b, kind_b, 16, neg_lo >> 1 & 1u, neg_hi >> 1 & 1u);
    for (int i = 0; i < 16; i++) {
        const int at = kpt_wm_element(i) * 32 + kpt_wm_lane(i);
        float sum[16];
        for (int j = 0; j < 16; j++) {
            uint32_t bits = neg_hi & 4u ? c[at + j] & 0x7fffffffu : c[at + j];
            sum[j] = kpt_f32(neg_lo & 4u ? bits ^ 0x80000000u : bits);
        }
        for (int k = 0; k < 16; k++)
            for (int j = 0; j < 16; j++) sum[j] = __builtin_fmaf(left[k][i], right[k][j], sum[j]);
        for (int j = 0; j < 16; j++) d[at + j] = kpt_u32(sum[j]);
    }
}
/* A half or bfloat16 accumulator, rounded at every step. */
KPT_INLINE uint32_t kpt_wm_step(int kind, float a, float b, uint32_t sum) {
    if (kind == KPT_WM_F16) return kpt_fma_half(a, b, kpt_half_to_f32((uint16_t)sum));
    double exact = kpt_fma_odd((double)a * (double)b, (double)kpt_bf16_to_f32(sum));
    return kpt_f32_to_bf16(kpt_f64_to_f32_odd(exact));
}
KPT_INLINE uint32_t kpt_wm_half_at(const uint32_t *c, int i, int j, uint32_t high) {
    const int element = kpt_wm_element(i), lane = kpt_wm_lane(i) + j;
    if (GFX == 11) return c[element * 32 + lane] >> (16 * high) & 0xffffu;
    return c[element / 2 * 32 + lane] >> (16 * (element & 1)) & 0xffffu;
}
KPT_INLINE void kpt_wm_half_put(uint32_t *d, int i, int j, uint32_t high, uint32_t value) {
    const int element = kpt_wm_element(i), lane = kpt_wm_lane(i) + j;
    uint32_t *word = GFX == 11 ? &d[element * 32 + lane] : &d[element / 2 * 32 + lane];
    const uint32_t upper = GFX == 11 ? high : (uint32_t)(element & 1);
    *word = upper ? (*word & 0xffffu) | value << 16 : (*word & 0xffff0000u) | value;
}
KPT_INLINE void kpt_wmma_half(uint32_t *d, const uint32_t *a, const uint32_t *b, const uint32_t *c, int kind,
                              uint32_t op_sel, uint32_t neg_lo, uint32_t neg_hi) {
    float left[16][16], right[16][16];
    uint32_t sum[16][16];
    const uint32_t high = op_sel >> 2 & 1u;
    kpt_wm_spread(left, a, kind, 16, neg_lo & 1u, neg_hi & 1u);
    kpt_wm_spread(right, b, kind, 16, neg_lo >> 1 & 1u, neg_hi >> 1 & 1u);
    for (int i = 0; i < 16; i++)
        for (int j = 0; j < 16; j++) {
            uint32_t total = kpt_wm_half_at(c, i, j, high);
            if (neg_hi & 4u) total &= 0x7fffu;
            if (neg_lo & 4u) total ^= 0x8000u;
            for (int k = 0; k < 16; k++) total = kpt_wm_step(kind, left[k][i], right[k][j], total);
            sum[i][j] = total;
        }
    for (int i = 0; i < 16; i++)
        for (int j = 0; j < 16; j++) kpt_wm_half_put(d, i, j, high, sum[i][j]);
}
KPT_INLINE uint32_t kpt_wm_total(int64_t total, uint32_t clamp) {
    return (uint32_t)(clamp ? (int64_t)kpt_clamp_i64_to_i32(total) : total);
}
KPT_INLINE void kpt_wmma_i32(uint32_t *d, const uint32_t *a, const uint32_t *b, const uint32_t *c, int bits, int depth,
                             uint32_t neg_lo, uint32_t clamp) {
    int32_t left[32][16], right[32][16];
    for (int k = 0; k < depth; k++) {
        const int lanes = GFX == 11 ? 0 : 16 * (k / (depth / 2)), e = GFX == 11 ? k : k % (depth / 2);
        for (int j = 0; j < 16; j++) {
            left[k][j] = kpt_wm_integer(a, bits, e, lanes + j, neg_lo & 1u);
            right[k][j] = kpt_wm_integer(b, bits, e, lanes + j, neg_lo >> 1 & 1u);
        }
    }
    for (int i = 0; i < 16; i++) {
        const int at = kpt_wm_element(i) * 32 + kpt_wm_lane(i);
        int64_t sum[16];
        for (int j = 0; j < 16; j++) sum[j] = (int32_t)c[at + j];
        for (int k = 0; k < depth; k++)
            for (int j = 0; j < 16; j++) sum[j] += left[k][i] * right[k][j];
        for (int j = 0; j < 16; j++) d[at + j] = kpt_wm_total(sum[j], clamp);
    }
}
/* Sparse A (gfx12): a lane holds depth / 4 elements of its row, and 2 bits of `index` for each. */
KPT_INLINE int kpt_wm_column(const uint32_t *index, int lane, int stored, uint32_t key, int e) {
    return 4 * (e / 2) + (int)(index[lane] >> (2u * (uint32_t)stored * key + 2u * (uint32_t)e) & 3u);
}
KPT_INLINE void kpt_swmmac_f32(uint32_t *d, const uint32_t *a, const uint32_t *b, const uint32_t *index, int kind_a,
                               int kind_b, uint32_t key, uint32_t neg_lo, uint32_t neg_hi) {
    for (int i = 0; i < 16; i++) {
        const int at = kpt_wm_element(i) * 32 + kpt_wm_lane(i);
        for (int half = 0; half < 2; half++)
            for (int e = 0; e < 8; e++) {
                const int lane = i + 16 * half, column = kpt_wm_column(index, lane, 8, key, e);
                const float x = kpt_wm_value(a, kind_a, e, lane, neg_lo & 1u, neg_hi & 1u);
                for (int j = 0; j < 16; j++) {
                    const float y = kpt_wm_value(b, kind_b, column, j + 16 * half, neg_lo >> 1 & 1u, neg_hi >> 1 & 1u);
                    d[at + j] = kpt_u32(__builtin_fmaf(x, y, kpt_f32(d[at + j])));
                }
            }
    }
}
KPT_INLINE void kpt_swmmac_half(uint32_t *d, const uint32_t *a, const uint32_t *b, const uint32_t *index, int kind,
                                uint32_t key, uint32_t neg_lo, uint32_t neg_hi) {
    for (int i = 0; i < 16; i++)
        for (int j = 0; j < 16; j++) {
            uint32_t total = kpt_wm_half_at(d, i, j, 0);
            for (int half = 0; half < 2; half++)
                for (int e = 0; e < 8; e++) {
                    const int lane = i + 16 * half, column = kpt_wm_column(index, lane, 8, key, e);
                    const float x = kpt_wm_value(a, kind, e, lane, neg_lo & 1u, neg_hi & 1u);
                    const float y = kpt_wm_value(b, kind, column, j + 16 * half, neg_lo >> 1 & 1u, neg_hi >> 1 & 1u);
                    total = kpt_wm_step(kind, x, y, total);
                }
            kpt_wm_half_put(d, i, j, 0, total);
        }
}
KPT_INLINE void kpt_swmmac_i32(uint32_t *d, const uint32_t *a, const uint32_t *b, const uint32_t *index, int bits,
                               int depth, uint32_t key, uint32_t neg_lo, uint32_t clamp) {
    const int stored = depth / 4;
    for (int i = 0; i < 16; i++) {
        const int at = kpt_wm_element(i) * 32 + kpt_wm_lane(i);
        int64_t sum[16];
        for (int j = 0; j < 16; j++) sum[j] = (int32_t)d[at + j];
        for (int half = 0; half < 2; half++)
            for (int e = 0; e < stored; e++) {
                const int lane = i + 16 * half, column = kpt_wm_column(index, lane, stored, key, e);
                const int32_t x = kpt_wm_integer(a, bits, e, lane, neg_lo & 1u);
                for (int j = 0; j < 16; j++)
                    sum[j] += x * kpt_wm_integer(b, bits, column, j + 16 * half, neg_lo >> 1 & 1u);
            }
        for (int j = 0; j < 16; j++) d[at + j] = kpt_wm_total(sum[j], clamp);
    }
}
#endif
#endif
