/* Floating point as the vector units do it. Approximating instructions of the hardware (rcp, rsq, exp, log, sin,
 * cos: within 1 ulp there) are computed in double precision and rounded once. */
#ifndef KPT_FLOATS_H
#define KPT_FLOATS_H

#include <math.h>

#include "bits.h"

/* ---- half ---- */
static inline float kpt_half_to_f32(uint16_t half) {
    uint32_t magnitude = (uint32_t)(half & 0x7fffu) << 13;
    uint32_t scaled = kpt_u32(kpt_f32(magnitude) * 0x1p112f);
    uint32_t special = magnitude | 0x7f800000u;
    return kpt_f32((magnitude >= 0x0f800000u ? special : scaled) | (uint32_t)(half & 0x8000u) << 16);
}
static inline uint16_t kpt_f32_to_half(float value) {
    uint32_t bits = kpt_u32(value), magnitude = bits & 0x7fffffffu;
    uint32_t small = kpt_u32(kpt_f32(magnitude) + 0.5f) - 0x3f000000u;
    uint32_t normal = (magnitude + 0xfffu + (magnitude >> 13 & 1u) - 0x38000000u) >> 13;
    uint32_t finite = magnitude < 0x38800000u ? small : normal;
    uint32_t special = magnitude > 0x7f800000u ? 0x7e00u | (magnitude >> 13 & 0x3ffu) : 0x7c00u;
    return (uint16_t)((magnitude >= 0x477ff000u ? special : finite) | (bits >> 16 & 0x8000u));
}
static inline uint16_t kpt_f32_to_half_rtz(float value) {
    uint32_t bits = kpt_u32(value), magnitude = bits & 0x7fffffffu;
    uint32_t small = (uint32_t)(int32_t)(kpt_f32(magnitude < 0x38800000u ? magnitude : 0) * 0x1p24f);
    uint32_t normal = (magnitude - 0x38000000u) >> 13;
    uint32_t finite = magnitude < 0x38800000u ? small : magnitude >= 0x47800000u ? 0x7bffu : normal;
    uint32_t special = magnitude > 0x7f800000u ? 0x7e00u | (magnitude >> 13 & 0x3ffu) : 0x7c00u;
    return (uint16_t)((magnitude >= 0x7f800000u ? special : finite) | (bits >> 16 & 0x8000u));
}
/* MODE.FP16_OVFL (bit 23): what overflows becomes the largest finite half. */
static inline uint16_t kpt_f32_to_half_in_mode(float value, uint32_t mode) {
    uint16_t half = kpt_f32_to_half(value);
    uint32_t overflowed = (half & 0x7fffu) == 0x7c00u && (kpt_u32(value) & 0x7fffffffu) != 0x7f800000u;
    return overflowed && (mode >> 23 & 1u) ? (uint16_t)(half - 1u) : half;
}
/* To single precision, to odd: what was lost stays visible in the last bit, so a second rounding is right. */
static inline float kpt_f64_to_f32_odd(double value) {
    float near = (float)value;
    uint32_t bits = kpt_u32(near);
    uint32_t lost = (double)near != value && value == value && near - near == 0;
    uint32_t away = lost && fabs((double)near) > fabs(value);
    return kpt_f32((bits - away) | lost);
}
static inline uint16_t kpt_f64_to_half(double value) { return kpt_f32_to_half(kpt_f64_to_f32_odd(value)); }
/* The fused sum with one rounding, to half or single, through a sum that is odd in double precision. */
static inline double kpt_fma_odd(double product, double c) {
    double sum = product + c, of_product = sum - c, of_c = sum - of_product;
    double error = (product - of_product) + (c - of_c);
    uint64_t bits = kpt_u64(sum);
    uint64_t lost = error != 0 && error == error;
    uint64_t away = lost && (error < 0) != (sum < 0);
    return kpt_f64((bits - away) | lost);
}
static inline uint16_t kpt_fma_half(float a, float b, float c) {
    return kpt_f64_to_half(kpt_fma_odd((double)a * (double)b, (double)c));
}

/* ---- output modifiers, denormals ---- */
static inline float kpt_clamp_f32(float x) { return x > 0.0f ? (x < 1.0f ? x : 1.0f) : 0.0f; }
static inline double kpt_clamp_f64(double x) { return x > 0.0 ? (x < 1.0 ? x : 1.0) : 0.0; }
static inline float kpt_flush_f32(float x) {
    uint32_t bits = kpt_u32(x);
    return kpt_f32((bits & 0x7f800000u) == 0 ? bits & 0x80000000u : bits);
}
static inline double kpt_flush_f64(double x) {
    uint64_t bits = kpt_u64(x);
    return kpt_f64((bits & UINT64_C(0x7ff0000000000000)) == 0 ? bits & (UINT64_C(1) << 63) : bits);
}
/* As MODE says while the kernel runs: bits 4 and 6 let denormal inputs pass, bits 5 and 7 denormal results. */
static inline float kpt_flush_f32_if(float x, uint32_t flush) { return flush ? kpt_flush_f32(x) : x; }
static inline double kpt_flush_f64_if(double x, uint32_t flush) { return flush ? kpt_flush_f64(x) : x; }
static inline uint16_t kpt_flush_half(uint16_t x) { return (x & 0x7c00u) == 0 ? x & 0x8000u : x; }
static inline uint16_t kpt_flush_half_if(uint16_t x, uint32_t flush) { return flush ? kpt_flush_half(x) : x; }

/* ---- minimum and maximum: a NaN loses, minus zero is less than zero ---- */
/* Before gfx12 a signalling NaN wins (kernels run in IEEE mode there), and comes out quiet. */
#if GFX >= 12
#define KPT_UNLESS_NAN(a, b, found, bits_of, value_of, quiet) ((a) != (a) ? (b) : (b) != (b) ? (a) : (found))
#else
#define KPT_UNLESS_NAN(a, b, found, bits_of, value_of, quiet)                                                          \
    ((a) != (a) && !(bits_of(a) & (quiet))   ? value_of(bits_of(a) | (quiet))                                          \
     : (b) != (b) && !(bits_of(b) & (quiet)) ? value_of(bits_of(b) | (quiet))                                          \
     : (a) != (a)                            ? (b)                                                                     \
     : (b) != (b)                            ? (a)                                                                     \
                                             : (found))
#endif
static inline float kpt_min_f32(float a, float b) {
    float less = a < b ? a : b;
    float zero = kpt_f32(kpt_u32(a) | kpt_u32(b));
    float found = a == b ? zero : less;
    return KPT_UNLESS_NAN(a, b, found, kpt_u32, kpt_f32, 0x00400000u);
}
static inline float kpt_max_f32(float a, float b) {
    float more = a > b ? a : b;
    float zero = kpt_f32(kpt_u32(a) & kpt_u32(b));
    float found = a == b ? zero : more;
    return KPT_UNLESS_NAN(a, b, found, kpt_u32, kpt_f32, 0x00400000u);
}
static inline double kpt_min_f64(double a, double b) {
    double less = a < b ? a : b;
    double zero = kpt_f64(kpt_u64(a) | kpt_u64(b));
    double found = a == b ? zero : less;
    return KPT_UNLESS_NAN(a, b, found, kpt_u64, kpt_f64, UINT64_C(0x0008000000000000));
}
static inline double kpt_max_f64(double a, double b) {
    double more = a > b ? a : b;
    double zero = kpt_f64(kpt_u64(a) & kpt_u64(b));
    double found = a == b ? zero : more;
    return KPT_UNLESS_NAN(a, b, found, kpt_u64, kpt_f64, UINT64_C(0x0008000000000000));
}
/* IEEE 754-2019 minimum and maximum: a NaN wins. */
static inline float kpt_minimum_f32(float a, float b) { return a != a ? a : b != b ? b : kpt_min_f32(a, b); }
static inline float kpt_maximum_f32(float a, float b) { return a != a ? a : b != b ? b : kpt_max_f32(a, b); }
static inline double kpt_minimum_f64(double a, double b) { return a != a ? a : b != b ? b : kpt_min_f64(a, b); }
static inline double kpt_maximum_f64(double a, double b) { return a != a ? a : b != b ? b : kpt_max_f64(a, b); }
static inline float kpt_med3_f32(float a, float b, float c) {
    float least = kpt_min_f32(kpt_min_f32(a, b), c), top = kpt_max_f32(kpt_max_f32(a, b), c);
    /* Of equal zeros the document takes the larger of the other two. */
    float middle = top == a ? kpt_max_f32(b, c) : top == b ? kpt_max_f32(a, c) : kpt_max_f32(a, b);
    return a != a || b != b || c != c ? least : middle;
}

/* ---- conversions: out of range saturates, a NaN is 0 ---- */
static inline int32_t kpt_to_i32(double x) {
    double held = x > -2147483648.0 ? (x < 2147483647.0 ? x : 2147483647.0) : -2147483648.0;
    return (int32_t)(x != x ? 0.0 : held);
}
static inline uint32_t kpt_to_u32(double x) {
    double held = x > 0.0 ? (x < 4294967295.0 ? x : 4294967295.0) : 0.0;
    return (uint32_t)(int64_t)held;
}
static inline int32_t kpt_f32_to_i32(float x) {
    float held = x > -2147483648.0f ? x : -2147483648.0f;
    int32_t found = (int32_t)(held < 2147483648.0f ? held : 0.0f);
    return x != x ? 0 : held >= 2147483648.0f ? INT32_MAX : found;
}
static inline uint32_t kpt_f32_to_u32(float x) {
    float held = x > 0.0f ? x : 0.0f;
    float low = held >= 2147483648.0f ? held - 2147483648.0f : held;
    uint32_t found = (uint32_t)(int32_t)(low < 2147483648.0f ? low : 0.0f) + (held >= 2147483648.0f ? 0x80000000u : 0u);
    return held >= 4294967296.0f ? ~0u : found;
}
static inline int16_t kpt_to_i16(float x) {
    float held = x > -32768.0f ? (x < 32767.0f ? x : 32767.0f) : -32768.0f;
    return (int16_t)(int32_t)(x != x ? 0.0f : held);
}
static inline uint16_t kpt_to_u16(float x) {
    float held = x > 0.0f ? (x < 65535.0f ? x : 65535.0f) : 0.0f;
    return (uint16_t)(int32_t)held;
}
/* [-1, 1] and [0, 1] as steps of 16 bits, to nearest even; the product is exact in double precision. */
static inline uint16_t kpt_to_snorm(float x) {
    float held = x > -1.0f ? (x < 1.0f ? x : 1.0f) : -1.0f;
    return (uint16_t)(int32_t)__builtin_roundeven((double)(x != x ? 0.0f : held) * 32767.0);
}
static inline uint16_t kpt_to_unorm(float x) {
    float held = x > 0.0f ? (x < 1.0f ? x : 1.0f) : 0.0f;
    return (uint16_t)(int32_t)__builtin_roundeven((double)held * 65535.0);
}
static inline float kpt_rint_f32(float x) { return __builtin_rintf(x); }

/* ---- parts ---- */
static inline int32_t kpt_frexp_exp_f32(float x) {
    uint32_t bits = kpt_u32(x) & 0x7fffffffu;
    uint32_t scaled = kpt_u32(kpt_f32(bits) * 0x1p32f);
    int32_t normal = (int32_t)(bits >> 23) - 126, denormal = (int32_t)(scaled >> 23) - 126 - 32;
    return bits == 0 || bits >= 0x7f800000u ? 0 : bits < 0x00800000u ? denormal : normal;
}
static inline float kpt_frexp_mant_f32(float x) {
    uint32_t bits = kpt_u32(x), magnitude = bits & 0x7fffffffu;
    uint32_t scaled = kpt_u32(kpt_f32(magnitude) * 0x1p32f);
    uint32_t from = magnitude < 0x00800000u ? scaled : magnitude;
    uint32_t mantissa = (from & 0x007fffffu) | 0x3f000000u | (bits & 0x80000000u);
    return magnitude == 0 || magnitude >= 0x7f800000u ? x : kpt_f32(mantissa);
}
static inline int32_t kpt_frexp_exp_f64(double x) {
    uint64_t bits = kpt_u64(x) & UINT64_C(0x7fffffffffffffff);
    uint64_t scaled = kpt_u64(kpt_f64(bits) * 0x1p64);
    int32_t normal = (int32_t)(bits >> 52) - 1022, denormal = (int32_t)(scaled >> 52) - 1022 - 64;
    return bits == 0 || bits >= UINT64_C(0x7ff0000000000000) ? 0 : bits < UINT64_C(1) << 52 ? denormal : normal;
}
static inline double kpt_frexp_mant_f64(double x) {
    uint64_t bits = kpt_u64(x), magnitude = bits & UINT64_C(0x7fffffffffffffff);
    uint64_t scaled = kpt_u64(kpt_f64(magnitude) * 0x1p64);
    uint64_t from = magnitude < UINT64_C(1) << 52 ? scaled : magnitude;
    uint64_t mantissa =
        (from & UINT64_C(0x000fffffffffffff)) | UINT64_C(0x3fe0000000000000) | (bits & UINT64_C(1) << 63);
    return magnitude == 0 || magnitude >= UINT64_C(0x7ff0000000000000) ? x : kpt_f64(mantissa);
}
/* x * 2^exponent, rounded once: three exact steps and one that rounds. */
static inline double kpt_power_of_two(int32_t exponent) { return kpt_f64((uint64_t)(uint32_t)(exponent + 1023) << 52); }
static inline float kpt_ldexp_f32(float x, int32_t exponent) {
    int32_t held = exponent > 300 ? 300 : exponent < -300 ? -300 : exponent;
    return (float)((double)x * kpt_power_of_two(held));
}
static inline double kpt_ldexp_f64(double x, int32_t exponent) {
    int32_t e = exponent > 2200 ? 2200 : exponent < -2200 ? -2200 : exponent;
    /* Only the last factor may reach the denormals. Growing, no factor overflows unless the whole does. */
    double grown = x;
    int32_t first = e < -1000 ? -1000 : e > 1000 ? 1000 : e;
    int32_t second = e - first < -1000 ? -1000 : e - first > 1000 ? 1000 : e - first;
    int32_t third = e - first - second;
    /* Scaling down in steps could round twice: keep a normal number until the last step. */
    int32_t exponent_of_x = kpt_frexp_exp_f64(x);
    double mantissa = kpt_frexp_mant_f64(x);
    int32_t total = exponent_of_x + e;
    double tiny = mantissa * kpt_power_of_two(total < -1076 ? -1000 : total < -500 ? total + 76 : 0) * 0x1p-76;
    grown = grown * kpt_power_of_two(first) * kpt_power_of_two(second) * kpt_power_of_two(third);
    return total < -500 && x - x == 0 && x != 0 ? (total < -1076 ? mantissa * 0.0 : tiny) : grown;
}
static inline float kpt_fract_f32(float x) {
    float part = x - __builtin_floorf(x);
    float held = part < 0x1.fffffep-1f ? part : 0x1.fffffep-1f;
    return x - x != 0 ? kpt_f32(0x7fc00000u) : held;
}
static inline double kpt_fract_f64(double x) {
    double part = x - __builtin_floor(x);
    double held = part < 0x1.fffffffffffffp-1 ? part : 0x1.fffffffffffffp-1;
    return x - x != 0 ? kpt_f64(UINT64_C(0x7ff8000000000000)) : held;
}
/* v_cmp_class: the number of the bit for a kind of number. Zeros are among the `denormal` too. Sums, not branches:
 * one branch would keep a whole run of instructions from the vector units. */
static inline uint32_t kpt_class_bit(uint32_t negative, uint32_t nan, uint32_t quiet, uint32_t infinite, uint32_t zero,
                                     uint32_t denormal) {
    uint32_t of_negative = 3u - infinite + denormal + zero, of_positive = 11u - of_negative;
    uint32_t of_number = of_positive + negative * (of_negative - of_positive);
    return of_number + nan * (quiet - of_number);
}
static inline uint32_t kpt_class_f32(float x, uint32_t mask) {
    uint32_t bits = kpt_u32(x), m = bits & 0x7fffffffu;
    return mask >> kpt_class_bit(bits >> 31, m > 0x7f800000u, m >> 22 & 1u, m == 0x7f800000u, m == 0, m < 0x00800000u) &
           1u;
}
static inline uint32_t kpt_class_f64(double x, uint32_t mask) {
    uint32_t low = (uint32_t)kpt_u64(x), high = (uint32_t)(kpt_u64(x) >> 32), m = high & 0x7fffffffu;
    uint32_t infinite = (m == 0x7ff00000u) & (low == 0), nan = (m >= 0x7ff00000u) & !infinite, zero = (m | low) == 0;
    return mask >> kpt_class_bit(high >> 31, nan, m >> 19 & 1u, infinite, zero, m < 0x00100000u) & 1u;
}
static inline uint32_t kpt_class_half(uint16_t x, uint32_t mask) {
    uint32_t m = x & 0x7fffu;
    return mask >> kpt_class_bit(x >> 15, m > 0x7c00u, m >> 9 & 1u, m == 0x7c00u, m == 0, m < 0x0400u) & 1u;
}

/* ---- functions the hardware approximates ---- */
static inline double kpt_exp2_wide(double x) {
    double held = x > 1100.0 ? 1100.0 : x < -1100.0 ? -1100.0 : x;
    double whole = __builtin_rint(held);
    double t = (held - whole) * 0.69314718055994530942;
    /* Taylor's series is exact to 1e-16 on |t| <= ln(2)/2 with fourteen terms. */
    double p = 1.0 / 87178291200.0;
    p = p * t + 1.0 / 6227020800.0;
    p = p * t + 1.0 / 479001600.0;
    p = p * t + 1.0 / 39916800.0;
    p = p * t + 1.0 / 3628800.0;
    p = p * t + 1.0 / 362880.0;
    p = p * t + 1.0 / 40320.0;
    p = p * t + 1.0 / 5040.0;
    p = p * t + 1.0 / 720.0;
    p = p * t + 1.0 / 120.0;
    p = p * t + 1.0 / 24.0;
    p = p * t + 1.0 / 6.0;
    p = p * t + 0.5;
    p = p * t + 1.0;
    p = p * t + 1.0;
    int32_t e = (int32_t)whole, half = e / 2;
    double found = p * kpt_power_of_two(half) * kpt_power_of_two(e - half);
    return x != x ? x : found;
}
static inline float kpt_exp2_f32(float x) { return (float)kpt_exp2_wide((double)x); }
static inline double kpt_log2_wide(double x) {
    uint64_t bits = kpt_u64(x);
    int32_t e = (int32_t)(bits >> 52 & 0x7ff) - 1023;
    double m = kpt_f64((bits & UINT64_C(0x000fffffffffffff)) | UINT64_C(0x3ff0000000000000));
    int32_t high = m > 1.4142135623730951;
    m = high ? m * 0.5 : m;
    e += high;
    /* log(m) = 2 artanh((m - 1) / (m + 1)); |z| <= 0.1716, so z^25 is below 1e-19. */
    double z = (m - 1.0) / (m + 1.0), q = z * z;
    double p = 1.0 / 23.0;
    p = p * q + 1.0 / 21.0;
    p = p * q + 1.0 / 19.0;
    p = p * q + 1.0 / 17.0;
    p = p * q + 1.0 / 15.0;
    p = p * q + 1.0 / 13.0;
    p = p * q + 1.0 / 11.0;
    p = p * q + 1.0 / 9.0;
    p = p * q + 1.0 / 7.0;
    p = p * q + 1.0 / 5.0;
    p = p * q + 1.0 / 3.0;
    p = p * q + 1.0;
    return (double)e + 2.0 * z * p * 1.4426950408889634074;
}
static inline float kpt_log2_f32(float x) {
    const float infinite = kpt_f32(0x7f800000u);
    uint32_t found = kpt_u32((float)kpt_log2_wide((double)x));
    found = x == infinite ? 0x7f800000u : found;
    found = x == 0.0f ? 0xff800000u : found;
    found = x < 0.0f ? 0x7fc00000u : found;
    found = x != x ? kpt_u32(x) : found;
    return kpt_f32(found);
}
/* sin(2 pi x): exact reduction first, so whole and half turns give exact zeros. */
static inline double kpt_sin_turns(double x) {
    double part = x - __builtin_rint(x); /* [-1/2, 1/2] */
    double folded = part > 0.25 ? 0.5 - part : part < -0.25 ? -0.5 - part : part;
    double t = folded * 6.2831853071795864769, q = t * t;
    double p = -1.0 / 25852016738884976640000.0;
    p = p * q + 1.0 / 51090942171709440000.0;
    p = p * q - 1.0 / 121645100408832000.0;
    p = p * q + 1.0 / 355687428096000.0;
    p = p * q - 1.0 / 1307674368000.0;
    p = p * q + 1.0 / 6227020800.0;
    p = p * q - 1.0 / 39916800.0;
    p = p * q + 1.0 / 362880.0;
    p = p * q - 1.0 / 5040.0;
    p = p * q + 1.0 / 120.0;
    p = p * q - 1.0 / 6.0;
    p = p * q + 1.0;
    return t * p;
}
static inline float kpt_sin_f32(float turns) {
    float found = (float)kpt_sin_turns((double)turns);
    return turns - turns != 0 ? kpt_f32(0x7fc00000u) : found;
}
static inline float kpt_cos_f32(float turns) {
    double x = (double)turns - __builtin_rint((double)turns);
    float found = (float)kpt_sin_turns(0.25 - fabs(x));
    return turns - turns != 0 ? kpt_f32(0x7fc00000u) : found;
}
static inline float kpt_rsq_f32(float x) { return (float)(1.0 / __builtin_sqrt((double)x)); }
#endif
