/* What clang's host code asks its run-time library for. GCC's libgcc lacks the conversions to bfloat16 before version 13,
 * and does those of halves step by step, raising every exception as it goes: 60 ns for a number that overflows. Programs
 * that check themselves convert thousands of millions. These round to nearest and raise nothing, as clang's own library.
 *
 * Sixteen bits travel in the low half of a floating-point register, so a function that takes or returns them in a float
 * has the same calling convention. Weak: another object that has them wins. */
#include <stdint.h>
#include <string.h>

static float in_register(uint32_t bits) {
    float result;
    memcpy(&result, &bits, sizeof result);
    return result;
}

static uint32_t bits_of(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* To single precision; where bits are lost the last one becomes 1, so that a second rounding sees that they were there. */
static float to_odd(double value) {
    const float near = (float)value;
    const uint32_t bits = bits_of(near);
    const double magnitude = value < 0 ? -value : value, rounded = near < 0 ? -(double)near : (double)near;
    if (rounded == magnitude || value != value || rounded - rounded != 0) return near;
    return in_register(rounded > magnitude ? (bits - 1u) | 1u : bits | 1u);
}

__attribute__((weak)) float __truncsfhf2(float value) {
    const uint32_t bits = bits_of(value), magnitude = bits & 0x7fffffffu, sign = bits >> 16 & 0x8000u;
    if (magnitude >= 0x477ff000u) /* rounds to infinity, is infinite, or no number: that stays one */
        return in_register(sign | (magnitude > 0x7f800000u ? 0x7e00u | (magnitude >> 13 & 0x3ffu) : 0x7c00u));
    if (magnitude < 0x38800000u) /* a denormal half: the sum with 1/2 rounds to its last place */
        return in_register(sign | (bits_of(in_register(magnitude) + 0.5f) - 0x3f000000u));
    return in_register(sign | (magnitude + 0xfffu + (magnitude >> 13 & 1u) - 0x38000000u) >> 13);
}

__attribute__((weak)) float __truncdfhf2(double value) { return __truncsfhf2(to_odd(value)); }

__attribute__((weak)) float __extendhfsf2(float half) {
    const uint32_t bits = bits_of(half), sign = (bits & 0x8000u) << 16, magnitude = (bits & 0x7fffu) << 13;
    if (magnitude > 0x0f800000u) return in_register(sign | magnitude | 0x7fc00000u);
    if (magnitude == 0x0f800000u) return in_register(sign | 0x7f800000u);
    return in_register(sign | bits_of(in_register(magnitude) * 0x1p112f));
}

__attribute__((weak)) double __extendhfdf2(float half) { return __extendhfsf2(half); }

__attribute__((weak)) float __truncsfbf2(float value) {
    const uint32_t bits = bits_of(value);
    if ((bits & 0x7fffffffu) > 0x7f800000u) return in_register(bits >> 16 | 0x40u); /* NaN stays NaN */
    return in_register((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

__attribute__((weak)) float __truncdfbf2(double value) { return __truncsfbf2(to_odd(value)); }
