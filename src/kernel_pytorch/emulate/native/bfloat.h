/* Arithmetic of bfloat16, alone and in pairs (gfx1250). */
#ifndef KPT_BFLOAT_H
#define KPT_BFLOAT_H

#include "packed.h"
#include "small_floats.h"

KPT_INLINE float kpt_bf16_low(uint32_t pair) { return kpt_bf16_to_f32(pair & 0xffffu); }
KPT_INLINE float kpt_bf16_high(uint32_t pair) { return kpt_bf16_to_f32(pair >> 16); }
/* v_fma_mix_*_bf16: a source is single precision, or one of a register's two bfloat16. */
KPT_INLINE float kpt_mix_bf16(uint32_t bits, uint32_t is_half, uint32_t high, uint32_t absolute, uint32_t negate) {
    uint32_t value = is_half ? (high ? bits & 0xffff0000u : bits << 16) : bits;
    value = absolute ? value & 0x7fffffffu : value;
    return kpt_f32(negate ? value ^ 0x80000000u : value);
}
KPT_INLINE float kpt_fma_mix_bf16(uint32_t a, uint32_t b, uint32_t c, uint32_t halves, uint32_t high, uint32_t absolute,
                                  uint32_t negate) {
    float x = kpt_mix_bf16(a, halves & 1u, high & 1u, absolute & 1u, negate & 1u);
    float y = kpt_mix_bf16(b, halves >> 1 & 1u, high >> 1 & 1u, absolute >> 1 & 1u, negate >> 1 & 1u);
    float z = kpt_mix_bf16(c, halves >> 2 & 1u, high >> 2 & 1u, absolute >> 2 & 1u, negate >> 2 & 1u);
    return __builtin_fmaf(x, y, z);
}
#endif
