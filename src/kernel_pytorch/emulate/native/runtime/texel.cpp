#include "texel.h"

#include <cmath>
#include <cstring>

#include "half.h"

namespace kpt {
namespace {

float as_float(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}
uint32_t as_bits(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}
int32_t with_sign(uint32_t raw, uint32_t bits) {
    return bits == 32 ? int32_t(raw) : int32_t(raw << (32 - bits)) >> (32 - bits);
}
double from_srgb(double x) { return x <= 0.04045 ? x / 12.92 : std::pow((x + 0.055) / 1.055, 2.4); }

uint32_t channel_of(const TexelFormat &format, uint32_t raw, uint32_t channel) {
    const uint32_t bits = format.bits;
    const double top = double((uint64_t(1) << bits) - 1), signed_top = double((uint64_t(1) << (bits - 1)) - 1);
    switch (format.numbers) {
    case Numbers::uint: return raw;
    case Numbers::sint: return uint32_t(with_sign(raw, bits));
    case Numbers::real: return bits == 16 ? as_bits(__gnu_h2f_ieee(uint16_t(raw))) : raw;
    case Numbers::unorm: return as_bits(float(raw / top));
    /* The lowest number lies below -1. */
    case Numbers::snorm: return as_bits(float(std::fmax(with_sign(raw, bits) / signed_top, -1.0)));
    case Numbers::uscaled: return as_bits(float(raw));
    case Numbers::sscaled: return as_bits(float(with_sign(raw, bits)));
    case Numbers::srgb: return as_bits(float(channel == 3 ? raw / top : from_srgb(raw / top)));
    }
    return 0;
}

/* To the nearest step, ties to even. */
int64_t steps(double value, double least, double most) {
    return int64_t(std::nearbyint(std::fmin(std::fmax(value, least), most)));
}

uint32_t stored(const TexelFormat &format, uint32_t channel) {
    const uint32_t bits = format.bits;
    const double top = double((uint64_t(1) << bits) - 1), signed_top = double((uint64_t(1) << (bits - 1)) - 1);
    const double number = as_float(channel), value = number != number ? 0.0 : number; /* a NaN becomes 0 */
    switch (format.numbers) {
    case Numbers::uint: return bits == 32 || channel < (1u << bits) ? channel : uint32_t(top);
    case Numbers::sint: return uint32_t(steps(int32_t(channel), -signed_top - 1, signed_top));
    case Numbers::real: return bits == 16 ? __gnu_f2h_ieee(as_float(channel)) : channel;
    case Numbers::unorm: return uint32_t(steps(value * top, 0, top));
    case Numbers::snorm: return uint32_t(steps(value * signed_top, -signed_top, signed_top));
    case Numbers::uscaled: return uint32_t(steps(std::trunc(value), 0, top));
    case Numbers::sscaled: return uint32_t(steps(std::trunc(value), -signed_top - 1, signed_top));
    case Numbers::srgb: return 0; /* never written: see image_access.cpp */
    }
    return 0;
}

} // namespace

void read_texel(const TexelFormat &format, const uint8_t *at, uint32_t *channels) {
    for (uint32_t c = 0; c < format.channels; c++) {
        uint32_t raw = 0;
        memcpy(&raw, at + c * format.bits / 8, format.bits / 8);
        channels[c] = channel_of(format, raw, c);
    }
}

void write_texel(const TexelFormat &format, uint8_t *at, const uint32_t *channels) {
    for (uint32_t c = 0; c < format.channels; c++) {
        const uint32_t raw = stored(format, channels[c]);
        memcpy(at + c * format.bits / 8, &raw, format.bits / 8);
    }
}

} // namespace kpt
