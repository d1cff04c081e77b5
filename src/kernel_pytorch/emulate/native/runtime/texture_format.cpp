#include <mutex>
#include <set>
#include <string>

#include "config.h"
#include "texture.h"

namespace kpt {
namespace {

const struct {
    int format;
    uint8_t bits;
    hipChannelFormatKind kind;
} FORMATS[] = {
    {HIP_AD_FORMAT_UNSIGNED_INT8, 8, hipChannelFormatKindUnsigned},
    {HIP_AD_FORMAT_UNSIGNED_INT16, 16, hipChannelFormatKindUnsigned},
    {HIP_AD_FORMAT_UNSIGNED_INT32, 32, hipChannelFormatKindUnsigned},
    {HIP_AD_FORMAT_SIGNED_INT8, 8, hipChannelFormatKindSigned},
    {HIP_AD_FORMAT_SIGNED_INT16, 16, hipChannelFormatKindSigned},
    {HIP_AD_FORMAT_SIGNED_INT32, 32, hipChannelFormatKindSigned},
    {HIP_AD_FORMAT_HALF, 16, hipChannelFormatKindFloat},
    {HIP_AD_FORMAT_FLOAT, 32, hipChannelFormatKindFloat},
};

} // namespace

bool has_images() { return config().gpu["images"].text_or("none") != "none"; }
bool filters_floats() { return config().gpu["images"].text_or("") == "full"; }

void say_once(const char *text) {
    static std::mutex mutex;
    static auto *said = new std::set<std::string>;
    std::lock_guard<std::mutex> lock(mutex);
    if (said->insert(text).second) say("%s", text);
}

unsigned channels_of(const hipChannelFormatDesc &d) {
    return unsigned(d.x != 0) + unsigned(d.y != 0) + unsigned(d.z != 0) + unsigned(d.w != 0);
}

int format_of(const hipChannelFormatDesc &d) {
    const int sizes[4] = {d.x, d.y, d.z, d.w};
    for (int c = 1; c < 4; c++)
        if (sizes[c] && (sizes[c] != d.x || !sizes[c - 1])) return 0;
    for (auto &one : FORMATS)
        if (one.bits == d.x && one.kind == d.f) return one.format;
    return 0;
}

hipChannelFormatDesc desc_of(int format, unsigned channels) {
    for (auto &one : FORMATS)
        if (one.format == format) {
            auto bits = [&](unsigned channel) { return channel < channels ? int(one.bits) : 0; };
            return {bits(0), bits(1), bits(2), bits(3), one.kind};
        }
    return {0, 0, 0, 0, hipChannelFormatKindNone};
}

unsigned bits_of_format(int format) {
    for (auto &one : FORMATS)
        if (one.format == format) return one.bits;
    return 0;
}

bool view_format(int view, int &format, unsigned &channels) {
    static const int formats[] = {HIP_AD_FORMAT_UNSIGNED_INT8,  HIP_AD_FORMAT_SIGNED_INT8,
                                  HIP_AD_FORMAT_UNSIGNED_INT16, HIP_AD_FORMAT_SIGNED_INT16,
                                  HIP_AD_FORMAT_UNSIGNED_INT32, HIP_AD_FORMAT_SIGNED_INT32,
                                  HIP_AD_FORMAT_HALF,           HIP_AD_FORMAT_FLOAT};
    static const unsigned counts[] = {1, 2, 4};
    if (view < 1 || view > 24) return false;
    format = formats[(view - 1) / 3];
    channels = counts[(view - 1) % 3];
    return true;
}

bool texel_format(int format, unsigned channels, int read_mode, bool srgb, TexelFormat &out) {
    if (channels != 1 && channels != 2 && channels != 4) return false;
    for (auto &one : FORMATS) {
        if (one.format != format) continue;
        const bool is_signed = one.kind == hipChannelFormatKindSigned, is_real = one.kind == hipChannelFormatKindFloat;
        const bool is_fraction = read_mode == hipReadModeNormalizedFloat && one.bits < 32 && !is_real;
        out = {one.bits, uint8_t(channels), Numbers::real};
        if (!is_real) out.numbers = is_signed ? Numbers::sint : Numbers::uint;
        if (is_fraction) out.numbers = is_signed ? Numbers::snorm : Numbers::unorm;
        /* HIP knows sRGB of four fractions of 8 bits, and leaves it out where there are fewer. */
        if (!srgb || channels != 4) return true;
        const bool can_be = out.numbers == Numbers::unorm && one.bits == 8;
        out.numbers = Numbers::srgb;
        return can_be;
    }
    return false;
}

} // namespace kpt
