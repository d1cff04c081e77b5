// 8-bit floating formats: bits out of floats and back, on any target and on the host.
#ifndef KPT_FP8_BITS_H
#define KPT_FP8_BITS_H

namespace kpt {

// Exponent bits, mantissa bits, exponent bias and largest finite value of a format. FNUZ formats have one zero and
// one NaN, 0x80, and neither infinities nor a negative zero.
template <bool E4M3, bool FNUZ> struct fp8_format {
    static constexpr int mantissa = E4M3 ? 3 : 2;
    static constexpr int bias = (E4M3 ? 7 : 15) + (FNUZ ? 1 : 0);
    static constexpr bool has_infinity = !E4M3 && !FNUZ;
    static constexpr unsigned largest = E4M3 ? (FNUZ ? 0x7f : 0x7e) : (FNUZ ? 0x7f : 0x7b);
    static constexpr unsigned quiet_nan = FNUZ ? 0x80 : 0x7f;
    static constexpr float largest_value = E4M3 ? (FNUZ ? 240.0f : 448.0f) : 57344.0f;
};

template <bool E4M3, bool FNUZ> __host__ __device__ inline unsigned char fp8_encode(float x, bool saturate) {
    typedef fp8_format<E4M3, FNUZ> __F;
    unsigned bits;
    __builtin_memcpy(&bits, &x, sizeof(bits));
    const unsigned sign = (bits >> 31) << 7;
    const unsigned magnitude = bits & 0x7fffffffu;
    if (magnitude > 0x7f800000u) return (unsigned char)(FNUZ ? __F::quiet_nan : (sign | __F::quiet_nan));
    const float absolute = x < 0 ? -x : x;
    unsigned result;
    const int exponent = int(magnitude >> 23) - 127;
    if (magnitude == 0x7f800000u) {
        result = 0x100;
    } else if (exponent < 1 - __F::bias) {
        // Subnormal: a multiple of the smallest step.
        const float step = __builtin_ldexpf(1.0f, 1 - __F::bias - __F::mantissa);
        result = unsigned(__builtin_rintf(absolute / step));
    } else {
        const int dropped = 23 - __F::mantissa;
        const unsigned rounded = magnitude + (1u << (dropped - 1)) - 1u + ((magnitude >> dropped) & 1u);
        result = unsigned((int(rounded >> 23) - 127 + __F::bias) << __F::mantissa) |
                 ((rounded >> dropped) & ((1u << __F::mantissa) - 1u));
    }
    if (result > __F::largest) {
        if (saturate) return (unsigned char)(sign | __F::largest);
        if (__F::has_infinity) return (unsigned char)(sign | 0x7c);
        return (unsigned char)(FNUZ ? __F::quiet_nan : (sign | __F::quiet_nan));
    }
    if (FNUZ && result == 0) return 0;
    return (unsigned char)(sign | result);
}

template <bool E4M3, bool FNUZ> __host__ __device__ inline float fp8_decode(unsigned char x) {
    typedef fp8_format<E4M3, FNUZ> __F;
    const unsigned magnitude = x & 0x7fu;
    const bool negative = x & 0x80u;
    if (FNUZ ? x == 0x80 : magnitude > (E4M3 ? 0x7eu : 0x7cu)) return __builtin_nanf("");
    if (__F::has_infinity && magnitude == 0x7cu) return negative ? -__builtin_inff() : __builtin_inff();
    const int exponent = int(magnitude >> __F::mantissa);
    const int fraction = int(magnitude & ((1u << __F::mantissa) - 1u));
    const int significand = exponent == 0 ? fraction : fraction + (1 << __F::mantissa);
    const float value =
        __builtin_ldexpf(float(significand), (exponent == 0 ? 1 : exponent) - __F::bias - __F::mantissa);
    return negative ? -value : value;
}

} // namespace kpt

#endif // KPT_FP8_BITS_H
