#include "image_sample.h"

namespace kpt {
namespace {

/* A texel's number inside the axis, or -1 for one in the border. */
int64_t inside(int64_t at, int64_t size, Clamp mode) {
    switch (mode) {
    case Clamp::wrap: return (at % size + size) % size;
    case Clamp::mirror: {
        const int64_t turn = (at % (2 * size) + 2 * size) % (2 * size);
        return turn < size ? turn : 2 * size - 1 - turn;
    }
    case Clamp::border: return at < 0 || at >= size ? -1 : at;
    case Clamp::mirror_once: at = at < 0 ? -1 - at : at; break;
    case Clamp::last_texel: break;
    }
    return at < 0 ? 0 : at >= size ? size - 1 : at;
}

} // namespace

uint32_t layer_of(float layer, uint32_t count) {
    if (!(layer > 0)) return 0;
    return layer >= float(count) ? count - 1 : uint32_t(std::fmin(std::nearbyint(layer), double(count - 1)));
}

AxisPlace place_on_axis(float coordinate, uint32_t size, Clamp mode, bool is_normalized, bool linear, bool truncates) {
    double at = is_normalized ? double(coordinate) * size : double(coordinate);
    if (at != at) at = 0;
    /* Far outside nothing depends on where. */
    at = std::fmin(std::fmax(at, -1e12), 1e12);
    AxisPlace found{};
    const int64_t steps = int64_t(std::floor((linear ? at - 0.5 : at) * 256 + (linear || !truncates ? 0.5 : 0)));
    const int64_t first = steps >> 8;
    found.fraction = linear ? uint32_t(steps & 255) : 0;
    for (int which = 0; which < 2; which++) {
        found.at[which] = inside(first + which, size, mode);
        found.is_outside[which] = found.at[which] < 0;
    }
    return found;
}

void border_texel(const TexelFormat &format, uint32_t border, uint32_t *channels) {
    const uint32_t one = format.is_integer() ? 1u : 0x3f800000u;
    for (uint32_t c = 0; c < format.channels; c++) channels[c] = border == 2 || (border == 1 && c == 3) ? one : 0;
}

} // namespace kpt
