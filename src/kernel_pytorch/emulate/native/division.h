/* The steps of a division (v_div_scale, v_div_fmas, v_div_fixup) and of large-argument trigonometry (v_trig_preop). */
#ifndef KPT_DIVISION_H
#define KPT_DIVISION_H

#include "floats.h"
#include "small_floats.h"

#define KPT_EXPONENT32(x) ((int32_t)(kpt_u32(x) >> 23 & 0xffu))
#define KPT_EXPONENT64(x) ((int32_t)(kpt_u64(x) >> 52 & 0x7ffu))

KPT_INLINE uint32_t kpt_denormal_f32(float x) { return (KPT_EXPONENT32(x) == 0) & (x != 0.0f); }
KPT_INLINE uint32_t kpt_denormal_f64(double x) { return (KPT_EXPONENT64(x) == 0) & (x != 0.0); }

/* Bits of one value or the other, without a branch: a branch would keep a whole run from the vector units. */
#define KPT_EITHER(yes, x, y) ((0 - (__typeof__(x))((yes) != 0) & (x)) | ~(0 - (__typeof__(x))((yes) != 0)) & (y))

/* The operand `a` (which is the denominator `b` or the numerator `c`), moved by 2^64 (2^128) where the plain steps
 * would overflow or lose bits. *post: v_div_fmas has to move the quotient back. */
#define KPT_DIV_SCALE(name, type, word, bits_of, value_of, exponent, denormal, distance, lowest, raise, lower, nan)    \
    KPT_INLINE type name(type a, type b, type c, uint32_t *post) {                                                     \
        const uint32_t is_b = bits_of(a) == bits_of(b), is_c = bits_of(a) == bits_of(c);                               \
        const uint32_t far = exponent(c) - exponent(b) >= distance;                                                    \
        const uint32_t tiny_reciprocal = denormal((type)1 / b), tiny_quotient = denormal(c / b);                       \
        const uint32_t none = (b == 0) | (c == 0), tiny_b = denormal(b);                                               \
        *post = !none & (far | (!tiny_b & tiny_quotient));                                                             \
        const word same = bits_of(a), raised = bits_of(raise), lowered = bits_of(lower);                               \
        /* What counts most comes last. */                                                                             \
        word found = KPT_EITHER(exponent(c) <= lowest, raised, same);                                                  \
        found = KPT_EITHER(tiny_quotient, KPT_EITHER(is_c, raised, same), found);                                      \
        found = KPT_EITHER(tiny_reciprocal, lowered, found);                                                           \
        found = KPT_EITHER(tiny_reciprocal & tiny_quotient, KPT_EITHER(is_b, lowered, same), found);                   \
        found = KPT_EITHER(tiny_b, raised, found);                                                                     \
        found = KPT_EITHER(far, KPT_EITHER(is_b, raised, same), found);                                                \
        found = KPT_EITHER(none, nan, found);                                                                          \
        return value_of(found);                                                                                        \
    }
KPT_DIV_SCALE(kpt_div_scale_f32, float, uint32_t, kpt_u32, kpt_f32, KPT_EXPONENT32, kpt_denormal_f32, 96, 23,
              kpt_ldexp_f32(a, 64), kpt_ldexp_f32(a, -64), 0x7fc00000u)
KPT_DIV_SCALE(kpt_div_scale_f64, double, uint64_t, kpt_u64, kpt_f64, KPT_EXPONENT64, kpt_denormal_f64, 768, 53,
              a * 0x1p128, a * 0x1p-128, UINT64_C(0x7ff8000000000000))
/* a * b + c; where the operands were moved, the sum goes back by 2^64 or 2^-64, whichever brings it towards 1. */
KPT_INLINE float kpt_div_fmas_f32(float a, float b, float c, uint32_t moved) {
    float plain = __builtin_fmaf(a, b, c);
    /* The sum is rounded to odd in double precision so that the second rounding is the only one that counts. */
    double exact = kpt_fma_odd((double)a * (double)b, (double)c);
    float back = (float)(exact * (KPT_EXPONENT32(c) > 127 ? 0x1p64 : 0x1p-64));
    return moved && exact - exact == 0 ? back : plain;
}
KPT_INLINE double kpt_div_fmas_f64(double a, double b, double c, uint32_t moved) {
    const double plain = __builtin_fma(a, b, c);
    const uint32_t whole = (a - a) + (b - b) + (c - c) == 0;
    /* Only the sum overflows, not what it comes down to. */
    const uint32_t over_the_top = plain - plain != 0, large = fabs(a) > 1.0;
    const uint64_t shrunk = kpt_u64(__builtin_fma(a * 0x1p-128, b, c * 0x1p-128));
    /* The result is denormal: round the exact sum (sum + rest) to its last place, 2^-946 before the move, at once. */
    const double product = a * b, low = __builtin_fma(a, b, -product);
    const double sum = product + c, of_product = sum - c, error = (product - of_product) + (c - (sum - of_product));
    const double rest = sum < 0 ? -(error + low) : error + low, size = fabs(sum);
    const double held = (size + 0x1p-894) - 0x1p-894, over = size - held;
    /* `rest` is too small to matter except where `size` lay in the middle. */
    const uint32_t more = (over == 0x1p-947) & (rest > 0), less = (over == -0x1p-947) & (rest < 0);
    const double rounded = held + (double)(int32_t)(more - less) * 0x1p-946;
    uint64_t found = kpt_u64(__builtin_copysign(rounded * 0x1p-128, sum));
    found = KPT_EITHER(KPT_EXPONENT64(plain) > 128, kpt_u64(plain * 0x1p-128), found);
    found = KPT_EITHER(over_the_top, KPT_EITHER(large, shrunk, kpt_u64(plain)), found);
    found = KPT_EITHER(KPT_EXPONENT64(c) > 1023, kpt_u64(plain * 0x1p128), found);
    /* One after the other: gcc does not vectorise a mask of 32-bit words joined with one of doubles. */
    found = KPT_EITHER(whole, found, kpt_u64(plain));
    found = KPT_EITHER(moved, found, kpt_u64(plain));
    return kpt_f64(found);
}
#define KPT_DIV_FIXUP(name, type, bits_of, value_of, quiet, infinity, nan, top, exponent, lowest)                      \
    KPT_INLINE type name(type a, type b, type c) {                                                                     \
        const type positive = value_of(bits_of(a) & ~(quiet - quiet + 1 << top));                                      \
        const uint32_t negative = (uint32_t)((bits_of(b) ^ bits_of(c)) >> top & 1u);                                   \
        const type infinite = value_of(infinity);                                                                      \
        const uint32_t b_infinite = b == infinite || b == -infinite, c_infinite = c == infinite || c == -infinite;     \
        type found = positive;                                                                                         \
        /* Only a quotient that overflowed on the way is no number here. */                                            \
        if (a != a) found = infinite;                                                                                  \
        if (exponent(c) - exponent(b) < lowest) found = 0;                                                             \
        if (b_infinite || c == 0) found = 0;                                                                           \
        if (b == 0 || c_infinite) found = infinite;                                                                    \
        found = negative ? -found : found;                                                                             \
        if ((b == 0 && c == 0) || (b_infinite && c_infinite)) found = value_of(nan);                                   \
        if (b != b) found = value_of(bits_of(b) | quiet);                                                              \
        if (c != c) found = value_of(bits_of(c) | quiet);                                                              \
        return found;                                                                                                  \
    }
KPT_DIV_FIXUP(kpt_div_fixup_f32, float, kpt_u32, kpt_f32, 0x400000u, 0x7f800000u, 0xffc00000u, 31, KPT_EXPONENT32, -150)
KPT_DIV_FIXUP(kpt_div_fixup_f64, double, kpt_u64, kpt_f64, UINT64_C(0x8000000000000), UINT64_C(0x7ff0000000000000),
              UINT64_C(0xfff8000000000000), 63, KPT_EXPONENT64, -1075)
/* Halves are exact as floats, whose exponents never are that far apart; their quotient is single precision's and
 * cannot have overflowed, so a NaN stays one. */
KPT_INLINE float kpt_div_fixup_f16(float a, float b, float c) {
    const uint32_t kept = (b - b == 0) & (c - c == 0) & (b != 0) & (c != 0) & (a != a);
    return kpt_f32(KPT_EITHER(kept, kpt_u32(a), kpt_u32(kpt_div_fixup_f32(a, b, c))));
}

/* 1216 bits of 2/pi behind the point, first word first. */
static const uint32_t kpt_two_over_pi[38] = {
    0xa2f9836eu, 0x4e441529u, 0xfc2757d1u, 0xf534ddc0u, 0xdb629599u, 0x3c439041u, 0xfe5163abu, 0xdebbc561u,
    0xb7246e3au, 0x424dd2e0u, 0x06492eeau, 0x09d1921cu, 0xfe1deb1cu, 0xb129a73eu, 0xe88235f5u, 0x2ebb4484u,
    0xe99c7026u, 0xb45f7e41u, 0x3991d639u, 0x835339f4u, 0x9c845f8bu, 0xbdf9283bu, 0x1ff897ffu, 0xde05980fu,
    0xef2f118bu, 0x5a0a6d1fu, 0x6d367ecfu, 0x27cb09b7u, 0x4f463f66u, 0x9e5fea2du, 0x7527bac7u, 0xebe5f17bu,
    0x3d0739f7u, 0x8a5292eau, 0x6bfb5fb1u, 0x1f8d5d08u, 0x56033046u, 0xfc7b6babu,
};
KPT_INLINE uint64_t kpt_two_over_pi_at(uint32_t bit) {
    uint64_t found = 0;
    for (uint32_t at = 0; at < 53; at++) { /* bit by bit: this is the rare path of a rare instruction */
        uint32_t position = bit + at;
        uint32_t one = position < 1201 ? kpt_two_over_pi[position >> 5] >> (31 - (position & 31u)) & 1u : 0u;
        found = found << 1 | one;
    }
    return found;
}
/* 53 bits of 2/pi that matter for a number of this size, as a double. */
KPT_INLINE double kpt_trig_preop(double x, uint32_t segment) {
    const int32_t exponent = KPT_EXPONENT64(x);
    const int32_t shift = (int32_t)(segment & 31u) * 53 + (exponent > 1077 ? exponent - 1077 : 0);
    const int32_t scale = -53 - shift + (exponent >= 1968 ? 128 : 0);
    return kpt_ldexp_f64((double)kpt_two_over_pi_at((uint32_t)shift), scale);
}
#endif
