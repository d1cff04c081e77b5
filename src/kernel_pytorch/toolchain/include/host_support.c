/* What clang's host code asks its run-time library for and GCC's libgcc lacks before version 13: conversions to
 * bfloat16. The result travels in the low half of a floating-point register, so a function that returns those bits in a
 * float has the same calling convention. Weak: a library that has them wins. */
#include <stdint.h>
#include <string.h>

static float in_register(uint32_t bits) {
    float result;
    memcpy(&result, &bits, sizeof result);
    return result;
}

__attribute__((weak)) float __truncsfbf2(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    if ((bits & 0x7fffffffu) > 0x7f800000u) return in_register(bits >> 16 | 0x40u); /* NaN stays NaN */
    return in_register((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

__attribute__((weak)) float __truncdfbf2(double value) {
    /* Rounding twice could round a tie the wrong way: the float keeps a sticky last bit instead. */
    float narrow = (float)value;
    uint32_t bits;
    memcpy(&bits, &narrow, sizeof bits);
    if ((double)narrow != value && value == value && !(bits & 1u)) {
        double magnitude = value < 0 ? -value : value, rounded = narrow < 0 ? -narrow : narrow;
        bits = rounded > magnitude ? (bits - 1u) | 1u : bits | 1u;
        memcpy(&narrow, &bits, sizeof narrow);
    }
    return __truncsfbf2(narrow);
}
