/* Half precision in software: two conversions that compilers call, and that texels need. */
#include "half.h"

#include <cstring>

KPT_API float __gnu_h2f_ieee(unsigned short half) {
    uint32_t sign = uint32_t(half & 0x8000) << 16, exponent = half >> 10 & 31, fraction = half & 0x3ff, bits;
    if (exponent == 31) {
        bits = sign | 0x7f800000 | fraction << 13;
    } else if (exponent) {
        bits = sign | (exponent + 112) << 23 | fraction << 13;
    } else {
        float value = float(fraction) * 0x1p-24f;
        return sign ? -value : value;
    }
    float out;
    memcpy(&out, &bits, sizeof out);
    return out;
}

KPT_API unsigned short __gnu_f2h_ieee(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    uint32_t sign = bits >> 16 & 0x8000, magnitude = bits & 0x7fffffff;
    if (magnitude > 0x7f800000) return uint16_t(sign | 0x7e00 | (magnitude >> 13 & 0x3ff));
    if (magnitude >= 0x477ff000) return uint16_t(sign | 0x7c00); /* rounds to infinity */
    if (magnitude < 0x33000001) return uint16_t(sign);           /* rounds to zero */
    uint32_t exponent = magnitude >> 23, fraction = (magnitude & 0x7fffff) | 0x800000;
    unsigned drop = exponent > 112 ? 13 : 126 - exponent; /* a subnormal half loses more bits */
    uint32_t kept = fraction >> drop, rest = fraction & ((1u << drop) - 1), tie = 1u << (drop - 1);
    if (rest > tie || (rest == tie && (kept & 1))) kept++;
    uint32_t base = exponent > 112 ? (exponent - 113) << 10 : 0;
    return uint16_t(sign | (base + kept));
}
