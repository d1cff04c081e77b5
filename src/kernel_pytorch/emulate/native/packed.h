/* Packed and mixed-precision arithmetic and dot products of one lane. */
#ifndef KPT_PACKED_H
#define KPT_PACKED_H

#include "floats.h"
#include "small_floats.h"

/* A source of v_fma_mix: a half where op_sel_hi says so, else single precision; then |x| and -x. */
KPT_INLINE float kpt_mix(uint32_t bits, uint32_t is_half, uint32_t high, uint32_t absolute, uint32_t negate) {
    uint32_t wide = kpt_u32(kpt_half_to_f32((uint16_t)(high ? bits >> 16 : bits)));
    uint32_t value = is_half ? wide : bits;
    value = absolute ? value & 0x7fffffffu : value;
    return kpt_f32(negate ? value ^ 0x80000000u : value);
}
KPT_INLINE float kpt_fma_mix(uint32_t a, uint32_t b, uint32_t c, uint32_t halves, uint32_t high, uint32_t absolute,
                             uint32_t negate) {
    float x = kpt_mix(a, halves & 1u, high & 1u, absolute & 1u, negate & 1u);
    float y = kpt_mix(b, halves >> 1 & 1u, high >> 1 & 1u, absolute >> 1 & 1u, negate >> 1 & 1u);
    float z = kpt_mix(c, halves >> 2 & 1u, high >> 2 & 1u, absolute >> 2 & 1u, negate >> 2 & 1u);
    return __builtin_fmaf(x, y, z);
}
KPT_INLINE float kpt_magnitude(float x) { return kpt_f32(kpt_u32(x) & 0x7fffffffu); }
/* Sum of products of the elements of two words; `width` bits each. */
KPT_INLINE int64_t kpt_dot_integer(uint32_t a, uint32_t b, int width, uint32_t signed_a, uint32_t signed_b) {
    int64_t sum = 0;
    for (int at = 0; at < 32; at += width) {
        uint32_t x = a >> at << (32 - width), y = b >> at << (32 - width);
        int32_t left = signed_a ? (int32_t)x >> (32 - width) : (int32_t)(x >> (32 - width));
        int32_t right = signed_b ? (int32_t)y >> (32 - width) : (int32_t)(y >> (32 - width));
        sum += (int64_t)left * right;
    }
    return sum;
}
KPT_INLINE uint32_t kpt_saturate_u32(int64_t x) { return x < 0 ? 0u : x > 0xffffffffll ? ~0u : (uint32_t)x; }
/* The halves of a word, by the op_sel and neg bits of source `i`. */
KPT_INLINE uint32_t kpt_packed_source(uint32_t bits, int i, uint32_t op_sel, uint32_t op_sel_hi, uint32_t neg_lo,
                                      uint32_t neg_hi) {
    uint32_t low = op_sel >> i & 1u ? bits >> 16 : bits & 0xffffu;
    uint32_t high = op_sel_hi >> i & 1u ? bits >> 16 : bits & 0xffffu;
    return (low ^ (neg_lo >> i & 1u) << 15) | (high ^ (neg_hi >> i & 1u) << 15) << 16;
}
KPT_INLINE float kpt_signed_source(uint32_t bits, int i, uint32_t neg_lo, uint32_t neg_hi) {
    bits = neg_hi >> i & 1u ? bits & 0x7fffffffu : bits;
    return kpt_f32(neg_lo >> i & 1u ? bits ^ 0x80000000u : bits);
}
KPT_INLINE float kpt_low_f16(uint32_t x) { return kpt_half_to_f32((uint16_t)x); }
KPT_INLINE float kpt_high_f16(uint32_t x) { return kpt_half_to_f32((uint16_t)(x >> 16)); }
KPT_INLINE float kpt_low_bf16(uint32_t x) { return kpt_f32(x << 16); }
KPT_INLINE float kpt_high_bf16(uint32_t x) { return kpt_f32(x & 0xffff0000u); }
KPT_INLINE float kpt_dot2_f16(uint32_t a, uint32_t b, float c) {
    return __builtin_fmaf(kpt_high_f16(a), kpt_high_f16(b), __builtin_fmaf(kpt_low_f16(a), kpt_low_f16(b), c));
}
KPT_INLINE float kpt_dot2_bf16(uint32_t a, uint32_t b, float c) {
    return __builtin_fmaf(kpt_high_bf16(a), kpt_high_bf16(b), __builtin_fmaf(kpt_low_bf16(a), kpt_low_bf16(b), c));
}
/* gfx950 adds the two products first. */
KPT_INLINE float kpt_dot2_bf16_products_first(uint32_t a, uint32_t b, float c) {
    return __builtin_fmaf(kpt_high_bf16(a), kpt_high_bf16(b), kpt_low_bf16(a) * kpt_low_bf16(b)) + c;
}
/* gfx90a: denormals are lost on the way in and out. */
KPT_INLINE uint32_t kpt_flush_halves(uint32_t x) {
    return kpt_flush_half((uint16_t)x) | (uint32_t)kpt_flush_half((uint16_t)(x >> 16)) << 16;
}
KPT_INLINE float kpt_dot2_f16_flushed(uint32_t a, uint32_t b, float c) {
    return kpt_flush_f32(kpt_dot2_f16(kpt_flush_halves(a), kpt_flush_halves(b), kpt_flush_f32(c)));
}
KPT_INLINE uint16_t kpt_dot2_f16_f16(uint32_t a, uint32_t b, uint32_t c) {
    uint16_t first = kpt_fma_half(kpt_low_f16(a), kpt_low_f16(b), kpt_half_to_f32((uint16_t)c));
    return kpt_fma_half(kpt_high_f16(a), kpt_high_f16(b), kpt_half_to_f32(first));
}
KPT_INLINE uint16_t kpt_fma_bf16(float a, float b, float c) {
    return kpt_f32_to_bf16(kpt_f64_to_f32_odd(kpt_fma_odd((double)a * (double)b, (double)c)));
}
KPT_INLINE uint16_t kpt_dot2_bf16_bf16(uint32_t a, uint32_t b, uint32_t c) {
    uint16_t first = kpt_fma_bf16(kpt_low_bf16(a), kpt_low_bf16(b), kpt_low_bf16(c));
    return kpt_fma_bf16(kpt_high_bf16(a), kpt_high_bf16(b), kpt_low_bf16(first));
}
KPT_INLINE float kpt_dot4_small(KptSmall f, KptSmall g, uint32_t a, uint32_t b, float c) {
    for (uint32_t at = 0; at < 32; at += 8) c = __builtin_fmaf(kpt_small_wide(f, a, at), kpt_small_wide(g, b, at), c);
    return c;
}
#endif
