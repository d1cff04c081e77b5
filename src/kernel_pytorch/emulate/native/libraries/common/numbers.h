// Number formats that C++17 has no type for, and what the algorithms need to know of each type.
#pragma once

#include <array>
#include <cmath>
#include <complex>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

namespace kpt {

using Int = int64_t;
using Complex = std::complex<float>;
using DoubleComplex = std::complex<double>;

inline uint32_t bits_of(float value) {
    uint32_t bits;
    std::memcpy(&bits, &value, 4);
    return bits;
}

inline float float_of(uint32_t bits) {
    float value;
    std::memcpy(&value, &bits, 4);
    return value;
}

// An eight-bit format of `Exponent` and `Mantissa` bits, rounded to nearest even; conversions to it saturate.
// Finite: the all-ones exponent is an ordinary one (OCP e4m3). Fnuz: no infinities, no negative zero, NaN is 0x80.
template <int Exponent, int Mantissa, bool Finite, bool Fnuz> struct SmallFloat {
    uint8_t bits;

    static constexpr int bias = (1 << (Exponent - 1)) - 1 + (Fnuz ? 1 : 0);
    static constexpr uint32_t sign_bit = 1u << (Exponent + Mantissa);
    static constexpr uint32_t nan_bits = Fnuz     ? sign_bit
                                         : Finite ? sign_bit - 1
                                                  : ((sign_bit - 1) ^ ((1u << (Mantissa - 1)) - 1));
    static constexpr uint32_t infinity_bits = ((1u << Exponent) - 1) << Mantissa;
    static constexpr uint32_t largest_bits = Fnuz ? sign_bit - 1 : Finite ? sign_bit - 2 : infinity_bits - 1;

    SmallFloat() = default;
    SmallFloat(float value) : bits(static_cast<uint8_t>(encode(value))) {}
    operator float() const { return table()[bits]; }

    static uint32_t encode(float value) {
        const uint32_t whole = bits_of(value), sign = whole >> 31 ? sign_bit : 0, magnitude = whole & 0x7fffffffu;
        if (magnitude > 0x7f800000u) return Fnuz ? nan_bits : sign | nan_bits;
        if (magnitude == 0x7f800000u) return Fnuz ? nan_bits : Finite ? sign | nan_bits : sign | infinity_bits;
        // The float's mantissa with its hidden bit, shifted down to this format's grid and rounded to nearest even.
        const int exponent = static_cast<int>(magnitude >> 23) - 127, smallest = 1 - bias;
        const int shift = 23 - Mantissa + (exponent < smallest ? smallest - exponent : 0);
        uint32_t result = 0;
        if (magnitude >= 0x00800000u && shift <= 25) {
            const uint32_t mantissa = (magnitude & 0x7fffffu) | 0x800000u;
            const uint32_t half = 1u << (shift - 1), odd = (mantissa >> shift) & 1;
            const uint32_t steps = (mantissa + half - 1 + odd) >> shift;
            result = exponent < smallest ? steps : (static_cast<uint32_t>(exponent + bias - 1) << Mantissa) + steps;
        }
        if (result == 0) return Fnuz ? 0 : sign;
        return sign | (result > largest_bits ? largest_bits : result);
    }

    static const float *table() {
        static const std::array<float, 256> values = [] {
            std::array<float, 256> all{};
            for (uint32_t code = 0; code < 256; ++code) all[code] = decode(code);
            return all;
        }();
        return values.data();
    }

    static float decode(uint32_t bits) {
        const uint32_t magnitude = bits & (sign_bit - 1);
        const float sign = bits & sign_bit ? -1.0f : 1.0f;
        if (Fnuz ? bits == nan_bits : Finite ? magnitude == nan_bits : magnitude > infinity_bits)
            return std::numeric_limits<float>::quiet_NaN();
        if (!Fnuz && !Finite && magnitude == infinity_bits) return sign * std::numeric_limits<float>::infinity();
        const int exponent = static_cast<int>(magnitude >> Mantissa);
        const uint32_t fraction = magnitude & ((1u << Mantissa) - 1);
        if (exponent == 0) return sign * std::ldexp(static_cast<float>(fraction), 1 - bias - Mantissa);
        return sign * std::ldexp(static_cast<float>(fraction | (1u << Mantissa)), exponent - bias - Mantissa);
    }
};

using Fp8 = SmallFloat<4, 3, true, false>;
using Bf8 = SmallFloat<5, 2, false, false>;
using Fp8Fnuz = SmallFloat<4, 3, false, true>;
using Bf8Fnuz = SmallFloat<5, 2, false, true>;

// Sixteen-bit formats are common enough to be worth bit tricks instead of frexp.
struct Half {
    uint16_t bits;
    Half() = default;
    Half(float value) {
        const uint32_t f = bits_of(value), sign = (f >> 16) & 0x8000u, magnitude = f & 0x7fffffffu;
        if (magnitude >= 0x47800000u) // 65536 and above, infinity, NaN
            bits = static_cast<uint16_t>(sign | (magnitude > 0x7f800000u ? 0x7e00u : 0x7c00u));
        else if (magnitude < 0x38800000u) // subnormal: let the float adder round
            bits = static_cast<uint16_t>(sign | (bits_of(float_of(magnitude) + 0.5f) - 0x3f000000u));
        else
            bits = static_cast<uint16_t>(sign | ((magnitude - 0x38000000u + 0xfffu + ((magnitude >> 13) & 1)) >> 13));
    }
    operator float() const {
        const uint32_t sign = (bits & 0x8000u) << 16, magnitude = bits & 0x7fffu;
        if (magnitude >= 0x7c00u) return float_of(sign | 0x7f800000u | (magnitude & 0x3ffu) << 13);
        if (magnitude < 0x400u) return float_of(sign | bits_of(static_cast<float>(magnitude) * 0x1p-24f));
        return float_of(sign | ((magnitude << 13) + 0x38000000u));
    }
};

struct Bfloat16 {
    uint16_t bits;
    Bfloat16() = default;
    Bfloat16(float value) {
        const uint32_t f = bits_of(value);
        bits = static_cast<uint16_t>(std::isnan(value) ? (f >> 16) | 0x40u : (f + 0x7fffu + ((f >> 16) & 1)) >> 16);
    }
    operator float() const { return float_of(static_cast<uint32_t>(bits) << 16); }
};

template <class T> struct RealOf {
    using type = T;
};
template <class T> struct RealOf<std::complex<T>> {
    using type = T;
};
template <class T> using Real = typename RealOf<T>::type;

template <class T> constexpr bool is_complex = !std::is_same_v<T, Real<T>>;

template <class T> T conjugate(T value) {
    if constexpr (is_complex<T>)
        return std::conj(value);
    else
        return value;
}

template <class T> Real<T> real_part(T value) {
    if constexpr (is_complex<T>)
        return value.real();
    else
        return value;
}

// |re| + |im|: what asum and iamax go by.
template <class T> Real<T> one_norm(T value) {
    if constexpr (is_complex<T>)
        return std::fabs(value.real()) + std::fabs(value.imag());
    else
        return std::fabs(value);
}

template <class T> constexpr char letter() {
    return std::is_same_v<T, float> ? 's' : std::is_same_v<T, double> ? 'd' : std::is_same_v<T, Complex> ? 'c' : 'z';
}

} // namespace kpt
