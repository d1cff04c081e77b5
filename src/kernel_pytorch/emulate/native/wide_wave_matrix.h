/* WMMA of gfx1250: depths of 4 to 128, sources of 32 to 4 bits, scales. */
#ifndef KPT_WIDE_WAVE_MATRIX_H
#define KPT_WIDE_WAVE_MATRIX_H

#include "wave_matrix.h"

#if WAVE == 32 && KPT_IS_GFX125
enum { KPT_WW_F16, KPT_WW_BF16, KPT_WW_F32, KPT_WW_FP8, KPT_WW_BF8, KPT_WW_FP4 };

KPT_INLINE int kpt_ww_bits(int kind) {
    return kind == KPT_WW_F32 ? 32 : kind <= KPT_WW_BF16 ? 16 : kind <= KPT_WW_BF8 ? 8 : 4;
}
/* The formats of *_f8f6f4, as matrix_a_fmt and matrix_b_fmt number them. */
KPT_INLINE int kpt_ww_format(uint32_t code) { return code == 0 ? KPT_WW_FP8 : code == 1 ? KPT_WW_BF8 : KPT_WW_FP4; }
KPT_INLINE uint32_t kpt_ww_raw(const uint32_t *in, int bits, int e, int lane) {
    const int at = e * bits;
    const uint32_t raw = in[at / 32 * 32 + lane] >> (at % 32);
    return bits == 32 ? raw : raw & ((1u << bits) - 1u);
}
KPT_INLINE float kpt_ww_value(const uint32_t *in, int kind, int e, int lane) {
    const uint32_t raw = kpt_ww_raw(in, kpt_ww_bits(kind), e, lane);
    switch (kind) {
    case KPT_WW_F32: return kpt_f32(raw);
    case KPT_WW_F16: return kpt_half_to_f32((uint16_t)raw);
    case KPT_WW_BF16: return kpt_bf16_to_f32(raw);
    case KPT_WW_FP8: return kpt_small_to_f32(kpt_fp8_ocp, raw);
    case KPT_WW_BF8: return kpt_small_to_f32(kpt_bf8_ocp, raw);
    default: return kpt_small_to_f32(kpt_fp4, raw);
    }
}
/* Lanes 0 to 15 have `run` elements of their row, lanes 16 to 31 the next, and so on in turn. */
KPT_INLINE int kpt_ww_lane(int k, int run) { return k / run % 2 * 16; }
KPT_INLINE int kpt_ww_element(int k, int run) { return k / (2 * run) * run + k % run; }
KPT_INLINE void kpt_ww_spread(float (*out)[16], const uint32_t *in, int kind, int depth, int run) {
    for (int k = 0; k < depth; k++)
        for (int j = 0; j < 16; j++)
            out[k][j] = kpt_ww_value(in, kind, kpt_ww_element(k, run), kpt_ww_lane(k, run) + j);
}
KPT_INLINE float kpt_ww_signed(float value, uint32_t negative, uint32_t positive) {
    const uint32_t bits = positive ? kpt_u32(value) & 0x7fffffffu : kpt_u32(value);
    return kpt_f32(negative ? bits ^ 0x80000000u : bits);
}
/* Rows of D: register i % 8, lanes 16 on for the upper eight. */
KPT_INLINE void kpt_ww_products(uint32_t *d, const uint32_t *c, float (*left)[16], float (*right)[16], int depth,
                                uint32_t neg_lo, uint32_t neg_hi) {
    for (int i = 0; i < 16; i++) {
        const int at = (i & 7) * 32 + 16 * (i >> 3);
        float sum[16];
        for (int j = 0; j < 16; j++) sum[j] = kpt_ww_signed(kpt_f32(c[at + j]), neg_lo & 4u, neg_hi & 4u);
        for (int k = 0; k < depth; k++)
            for (int j = 0; j < 16; j++) sum[j] = __builtin_fmaf(left[k][i], right[k][j], sum[j]);
        for (int j = 0; j < 16; j++) d[at + j] = kpt_u32(sum[j]);
    }
}
KPT_OUTLINE void kpt_ww_f32(uint32_t *d, const uint32_t *a, const uint32_t *b, const uint32_t *c, int kind_a,
                            int kind_b, int depth, int run, uint32_t neg_lo, uint32_t neg_hi) {
    float left[128][16], right[128][16];
    kpt_ww_spread(left, a, kind_a, depth, run);
    kpt_ww_spread(right, b, kind_b, depth, run);
    kpt_ww_products(d, c, left, right, depth, neg_lo, neg_hi);
}
/* Sums of single precision, rounded to bfloat16 at the end. */
KPT_OUTLINE void kpt_ww_bf16f32(uint32_t *d, const uint32_t *a, const uint32_t *b, const uint32_t *c, uint32_t neg_lo,
                                uint32_t neg_hi) {
    float left[32][16], right[32][16];
    uint32_t sums[8 * 32];
    kpt_ww_spread(left, a, KPT_WW_BF16, 32, 8);
    kpt_ww_spread(right, b, KPT_WW_BF16, 32, 8);
    kpt_ww_products(sums, c, left, right, 32, neg_lo, neg_hi);
    for (int r = 0; r < 4; r++)
        for (int l = 0; l < 32; l++)
            d[r * 32 + l] = kpt_f32_to_bf16(kpt_f32(sums[2 * r * 32 + l])) |
                            (uint32_t)kpt_f32_to_bf16(kpt_f32(sums[(2 * r + 1) * 32 + l])) << 16;
}
/* A half or bfloat16 accumulator, rounded at every step. */
KPT_OUTLINE void kpt_ww_half(uint32_t *d, const uint32_t *a, const uint32_t *b, const uint32_t *c, int kind, int kind_a,
                             int kind_b, int depth, uint32_t neg_lo, uint32_t neg_hi) {
    float left[128][16], right[128][16];
    uint32_t sum[16][16];
    kpt_ww_spread(left, a, kind_a, depth, 8);
    kpt_ww_spread(right, b, kind_b, depth, 8);
    for (int i = 0; i < 16; i++)
        for (int j = 0; j < 16; j++) {
            uint32_t total = kpt_wm_half_at(c, i, j, 0);
            if (neg_hi & 4u) total &= 0x7fffu;
            if (neg_lo & 4u) total ^= 0x8000u;
            for (int k = 0; k < depth; k++) total = kpt_wm_step(kind, left[k][i], right[k][j], total);
            sum[i][j] = total;
        }
    for (int i = 0; i < 16; i++)
        for (int j = 0; j < 16; j++) kpt_wm_half_put(d, i, j, 0, sum[i][j]);
}
KPT_OUTLINE void kpt_ww_i32(uint32_t *d, const uint32_t *a, const uint32_t *b, const uint32_t *c, int depth,
                            uint32_t neg_lo, uint32_t clamp) {
    int32_t left[64][16], right[64][16];
    for (int k = 0; k < depth; k++)
        for (int j = 0; j < 16; j++) {
            const int e = kpt_ww_element(k, 8), lane = kpt_ww_lane(k, 8) + j;
            left[k][j] = kpt_wm_integer(a, 8, e, lane, neg_lo & 1u);
            right[k][j] = kpt_wm_integer(b, 8, e, lane, neg_lo >> 1 & 1u);
        }
    for (int i = 0; i < 16; i++) {
        const int at = (i & 7) * 32 + 16 * (i >> 3);
        int64_t sum[16];
        for (int j = 0; j < 16; j++) sum[j] = (int32_t)c[at + j];
        for (int k = 0; k < depth; k++)
            for (int j = 0; j < 16; j++) sum[j] += left[k][i] * right[k][j];
        for (int j = 0; j < 16; j++) d[at + j] = kpt_wm_total(sum[j], clamp);
    }
}
/* Every `block` elements of a row times 2^(byte - 127); 255 is NaN. Byte b is of block b; a row's bytes are in one lane,
 * eight of them in two registers. */
KPT_INLINE void kpt_ww_scale(float (*values)[16], const uint32_t *scales, int first_lane, int block) {
    for (int k = 0; k < 128; k++) {
        const int byte = k / block;
        for (int j = 0; j < 16; j++) {
            const uint32_t power = scales[byte / 4 * 32 + first_lane + j] >> (8 * (byte % 4)) & 255u;
            values[k][j] *= kpt_f32(power == 255u ? 0x7fc00000u : power == 0 ? 0x00400000u : power << 23);
        }
    }
}
/* 16 or 32 rows of A; `scale_a` is 0 where there are none. `row_a` and `row_b`: the scales are in lanes 16 to 31. */
KPT_OUTLINE void kpt_ww_narrow(uint32_t *d, const uint32_t *a, const uint32_t *b, const uint32_t *c, int rows,
                               uint32_t of_a, uint32_t of_b, const uint32_t *scale_a, const uint32_t *scale_b,
                               uint32_t row_a, uint32_t row_b, int block, uint32_t neg_lo, uint32_t neg_hi) {
    float left[128][16], right[128][16];
    uint32_t found[16 * 32];
    const int kind_a = kpt_ww_format(of_a), kind_b = kpt_ww_format(of_b);
    const int bits = kpt_ww_bits(kind_a), registers = 2 * bits;
    /* Four registers of one lane, then those of the other. */
    kpt_ww_spread(right, b, kind_b, 128, 128 / kpt_ww_bits(kind_b));
    if (scale_b) kpt_ww_scale(right, scale_b, row_b ? 16 : 0, block);
    for (int part = 0; part < rows / 16; part++) {
        kpt_ww_spread(left, a + part * registers * 32, kind_a, 128, 128 / bits);
        if (scale_a) kpt_ww_scale(left, scale_a, rows == 32 ? 16 * part : row_a ? 16 : 0, block);
        kpt_ww_products(found + part * 8 * 32, c + part * 8 * 32, left, right, 128, neg_lo, neg_hi);
    }
    memcpy(d, found, sizeof(uint32_t) * (size_t)rows / 2 * 32);
}
#endif
#endif
