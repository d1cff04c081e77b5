/* 8-, 6- and 4-bit floats and bfloat16, between single precision and their bits. */
#ifndef KPT_SMALL_FLOATS_H
#define KPT_SMALL_FLOATS_H

#include "bits.h"
#include "floats.h"

/* A format: bits of mantissa, bias, largest code; what follows the largest code. */
enum { KPT_NO_NAN, KPT_ONE_NAN, KPT_INF_AND_NAN, KPT_FNUZ };
typedef struct KptSmall {
    int bits, mantissa, bias;
    uint32_t largest;
    int special;
} KptSmall;

static const KptSmall kpt_fp8_fnuz = {8, 3, 8, 0x7f, KPT_FNUZ};
static const KptSmall kpt_bf8_fnuz = {8, 2, 16, 0x7f, KPT_FNUZ};
static const KptSmall kpt_fp8_ocp = {8, 3, 7, 0x7e, KPT_ONE_NAN};
static const KptSmall kpt_bf8_ocp = {8, 2, 15, 0x7b, KPT_INF_AND_NAN};
static const KptSmall kpt_fp6 = {6, 3, 1, 0x1f, KPT_NO_NAN};
static const KptSmall kpt_bf6 = {6, 2, 3, 0x1f, KPT_NO_NAN};
static const KptSmall kpt_fp4 = {4, 1, 1, 0x07, KPT_NO_NAN};
/* Of the two 16-bit formats only kpt_small_round is used. */
static const KptSmall kpt_as_f16 = {16, 10, 15, 0x7bff, KPT_INF_AND_NAN};
static const KptSmall kpt_as_bf16 = {16, 7, 127, 0x7f7f, KPT_INF_AND_NAN};

#define KPT_INLINE static inline __attribute__((always_inline))

KPT_INLINE float kpt_bf16_to_f32(uint32_t bits) { return kpt_f32(bits << 16); }
KPT_INLINE uint16_t kpt_f32_to_bf16(float value) {
    uint32_t bits = kpt_u32(value);
    uint32_t rounded = (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16;
    uint32_t nan = bits >> 16 | 0x40u;
    return (uint16_t)(value != value ? nan : rounded);
}

/* Exact, for every code. */
KPT_INLINE float kpt_small_to_f32(KptSmall f, uint32_t code) {
    const uint32_t top = 1u << (f.bits - 1);
    uint32_t sign = (code & top) << (32 - f.bits), magnitude = code & (top - 1);
    /* The code as the high bits of a float with a bias of 127, then moved to its own bias: denormals come out right. */
    float moved = kpt_f32(magnitude << (23 - f.mantissa)) * kpt_f32((uint32_t)(254 - f.bias) << 23);
    uint32_t found = kpt_u32(moved) | sign;
    if (f.special == KPT_FNUZ) return kpt_f32(code == 0x80u ? 0x7fc00000u : found);
    if (f.special == KPT_ONE_NAN) return kpt_f32(magnitude > f.largest ? 0x7fc00000u : found);
    if (f.special == KPT_INF_AND_NAN) {
        uint32_t beyond = magnitude == f.largest + 1 ? 0x7f800000u | sign : 0x7fc00000u;
        return kpt_f32(magnitude > f.largest ? beyond : found);
    }
    return kpt_f32(found);
}

/* What a number too large becomes. */
KPT_INLINE uint32_t kpt_small_overflow(KptSmall f, uint32_t sign, uint32_t saturate, uint32_t infinite) {
    uint32_t held = sign | f.largest;
    if (f.special == KPT_NO_NAN) return held;
    uint32_t lost = f.special == KPT_FNUZ ? 0x80u : f.special == KPT_ONE_NAN ? sign | 0x7fu : sign | (f.largest + 1);
    return saturate && !infinite ? held : lost;
}
KPT_INLINE uint32_t kpt_small_nan(KptSmall f, uint32_t sign) {
    if (f.special == KPT_NO_NAN) return sign | f.largest;
    if (f.bits == 16) return sign | (f.largest + 1) | 1u << (f.mantissa - 1);
    return f.special == KPT_FNUZ ? 0x80u : sign | 0x7fu;
}

/* To nearest even, or with `random` (its top bits) added to the part cut off when `stochastic`. The value is
 * divided by 2^power first. */
KPT_INLINE uint32_t kpt_small_round(KptSmall f, float value, int power, uint32_t saturate, int stochastic,
                                    uint32_t random) {
    const int cut = 23 - f.mantissa;
    uint32_t bits = kpt_u32(value), magnitude = bits & 0x7fffffffu;
    uint32_t sign = (bits >> 31) << (f.bits - 1);
    if (magnitude > 0x7f800000u) return kpt_small_nan(f, sign);
    if (magnitude == 0x7f800000u) return kpt_small_overflow(f, sign, saturate, 1);
    int exponent = (int)(magnitude >> 23);
    uint64_t mantissa = magnitude & 0x7fffffu;
    if (exponent)
        mantissa |= 0x800000u;
    else
        exponent = 1;
    if (mantissa == 0) return f.special == KPT_FNUZ ? 0u : sign;
    int shift_up = __builtin_clzll(mantissa) - 40;
    mantissa <<= shift_up, exponent -= shift_up;
    /* Now 1.xxx with 23 bits after the point. In the small format its exponent field would be: */
    int field = exponent - 127 - power + f.bias;
    int extra = field < 1 ? 1 - field : 0;
    if (extra > 38) extra = 38;
    uint64_t whole = (mantissa << 38) >> extra; /* room above for the carry of a random number */
    int drop = 38 + cut;
    uint64_t kept = whole >> drop, lost = whole & ((UINT64_C(1) << drop) - 1), half = UINT64_C(1) << (drop - 1);
    if (stochastic)
        kept = (whole + ((uint64_t)(random >> (32 - cut)) << 38)) >> drop;
    else
        kept += lost > half || (lost == half && (kept & 1));
    /* A carry out of the mantissa raises the exponent field by itself. */
    int64_t code = field < 1 ? (int64_t)kept : ((int64_t)(field - 1) << f.mantissa) + (int64_t)kept;
    if (code > (int64_t)f.largest) return kpt_small_overflow(f, sign, saturate, 0);
    return code == 0 && f.special == KPT_FNUZ ? 0u : sign | (uint32_t)code;
}
#define KPT_FP16_OVFL (w->mode >> 23 & 1u)

KPT_INLINE uint32_t kpt_insert(uint32_t old, uint32_t part, uint32_t bits, uint32_t position) {
    uint32_t mask = (bits == 32 ? ~0u : (1u << bits) - 1u) << (bits * position);
    return (old & ~mask) | (part << (bits * position) & mask);
}
/* A scale operand counts by its exponent only. */
KPT_INLINE int kpt_scale_power(float scale) { return (int)(kpt_u32(scale) >> 23 & 255u) - 127; }
KPT_INLINE float kpt_small_to_f32_scaled(KptSmall f, uint32_t code, int power) {
    return (float)((double)kpt_small_to_f32(f, code) * kpt_power_of_two(power));
}
KPT_INLINE float kpt_small_wide(KptSmall f, uint32_t word, uint32_t at) {
    return kpt_small_to_f32(f, word >> at & ((1u << f.bits) - 1u));
}
#endif
