/* gfx950's conversions of 32 numbers at once, between 6-bit floats and wider ones. 32 codes fill 6 registers. */
#ifndef KPT_WIDE_CONVERSIONS_H
#define KPT_WIDE_CONVERSIONS_H

#include "memory.h"
#include "small_floats.h"

enum { KPT_AS_F32, KPT_AS_F16, KPT_AS_BF16 };

KPT_INLINE uint32_t kpt_next_random(uint32_t x) { return x << 1 ^ (x >> 31 ? 197u : 0u); }

/* Number `at` of a lane: one to a register, or two of 16 bits. */
KPT_INLINE float kpt_number_of(const uint32_t *s, uint32_t l, uint32_t at, const int kind) {
    if (kind == KPT_AS_F32) return kpt_f32(s[at * WAVE + l]);
    uint32_t half = s[at / 2 * WAVE + l] >> (16 * (at % 2)) & 0xffffu;
    return kind == KPT_AS_F16 ? kpt_half_to_f32((uint16_t)half) : kpt_bf16_to_f32(half);
}
KPT_INLINE void kpt_put_codes(uint32_t *d, uint32_t l, const uint32_t *code) {
    for (uint32_t word = 0; word < 6; word++) {
        uint32_t packed = 0;
        for (uint32_t bit = 0; bit < 32; bit++) {
            uint32_t at = 32 * word + bit;
            packed |= (code[at / 6] >> (at % 6) & 1u) << bit;
        }
        d[word * WAVE + l] = packed;
    }
}
/* `random` NULL: to nearest even. */
KPT_INLINE void kpt_narrow_32(KptWave *w, uint32_t *d, const uint32_t *s, const uint32_t *random, const uint32_t *scale,
                              uint64_t ex, KptSmall f, const int kind) {
    KPT_EACH_LANE(l, ex) {
        uint32_t code[32], chance = random ? random[l] : 0u;
        const int power = kpt_scale_power(kpt_f32(scale[l]));
        for (uint32_t at = 0; at < 32; at++) {
            code[at] = kpt_small_round(f, kpt_number_of(s, l, at, kind), power, KPT_FP16_OVFL, random != 0, chance);
            chance = kpt_next_random(chance);
        }
        kpt_put_codes(d, l, code);
    }
}
/* The numbers of two sources in turn. */
KPT_INLINE void kpt_narrow_two_16(KptWave *w, uint32_t *d, const uint32_t *s, const uint32_t *t, const uint32_t *scale,
                                  uint64_t ex, KptSmall f) {
    KPT_EACH_LANE(l, ex) {
        uint32_t code[32];
        const int power = kpt_scale_power(kpt_f32(scale[l]));
        for (uint32_t at = 0; at < 32; at++)
            code[at] = kpt_small_round(f, kpt_f32((at % 2 ? t : s)[at / 2 * WAVE + l]), power, KPT_FP16_OVFL, 0, 0);
        kpt_put_codes(d, l, code);
    }
}
KPT_INLINE void kpt_widen_32(uint32_t *d, const uint32_t *s, const uint32_t *scale, uint64_t ex, KptSmall f,
                             const int kind) {
    KPT_EACH_LANE(l, ex) {
        uint32_t wide[32];
        const int power = kpt_scale_power(kpt_f32(scale[l]));
        for (uint32_t at = 0; at < 32; at++) {
            uint32_t bit = 6 * at, word = bit / 32, code = s[word * WAVE + l] >> bit % 32;
            if (bit % 32 > 26) code |= s[(word + 1) * WAVE + l] << (32 - bit % 32);
            float value = kpt_small_to_f32_scaled(f, code & 63u, power);
            wide[at] = kind == KPT_AS_F32   ? kpt_u32(value)
                       : kind == KPT_AS_F16 ? kpt_f32_to_half(value)
                                            : kpt_f32_to_bf16(value);
        }
        for (uint32_t at = 0; at < (kind == KPT_AS_F32 ? 32u : 16u); at++)
            d[at * WAVE + l] = kind == KPT_AS_F32 ? wide[at] : wide[2 * at] | wide[2 * at + 1] << 16;
    }
}
/* gfx1250: eight numbers at once, one behind the other. `power` is the scale's, of every lane. */
KPT_INLINE void kpt_narrow_8(KptWave *w, uint32_t *d, const uint32_t *s, int power, uint64_t ex, KptSmall f,
                             const int kind) {
    KPT_EACH_LANE(l, ex) {
        uint64_t packed = 0;
        for (uint32_t at = 0; at < 8; at++) {
            const float value = kpt_number_of(s, l, at, kind);
            packed |= (uint64_t)kpt_small_round(f, value, power, KPT_FP16_OVFL, 0, 0) << (f.bits * at);
        }
        d[l] = (uint32_t)packed;
        if (f.bits == 8) d[WAVE + l] = (uint32_t)(packed >> 32);
    }
}
/* `scale` is the exponent of a power of two, 255 NaN. */
KPT_INLINE void kpt_widen_8(uint32_t *d, const uint32_t *s, uint32_t scale, uint64_t ex, KptSmall f, const int kind) {
    KPT_EACH_LANE(l, ex) {
        const uint64_t packed = s[l] | (f.bits == 8 ? (uint64_t)s[WAVE + l] << 32 : 0u);
        uint32_t wide[8];
        for (uint32_t at = 0; at < 8; at++) {
            const uint32_t code = (uint32_t)(packed >> (f.bits * at)) & ((1u << f.bits) - 1u);
            float value = kpt_small_to_f32_scaled(f, code, (int)scale - 127);
            if (scale == 255u) value = kpt_f32(0x7fc00000u);
            wide[at] = kind == KPT_AS_F32   ? kpt_u32(value)
                       : kind == KPT_AS_F16 ? kpt_f32_to_half(value)
                                            : kpt_f32_to_bf16(value);
        }
        for (uint32_t at = 0; at < (kind == KPT_AS_F32 ? 8u : 4u); at++)
            d[at * WAVE + l] = kind == KPT_AS_F32 ? wide[at] : wide[2 * at] | wide[2 * at + 1] << 16;
    }
}
/* Four sums of byte differences, each added to a word of `c`; bytes of `b` that are 0 do not count. */
KPT_INLINE void kpt_quad_sums(uint32_t *d, const uint32_t *a, const uint32_t *b, const uint32_t *c, uint64_t ex) {
    KPT_EACH_LANE(l, ex) {
        uint64_t bytes = a[l] | (uint64_t)a[WAVE + l] << 32;
        uint32_t sum[4];
        for (uint32_t k = 0; k < 4; k++) sum[k] = kpt_msad_u8((uint32_t)(bytes >> 8 * k), b[l], c[k * WAVE + l]);
        for (uint32_t k = 0; k < 4; k++) d[k * WAVE + l] = sum[k];
    }
}
#endif
