/* Sampling: which texels a place lies between, and what they weigh.
 *
 * Coordinates are rounded to 1/256 of a texel, as AMD's units do (8 bits of fraction). For point sampling, too, unless the
 * sampler says otherwise (TRUNC_COORD): HIP's device library counts on it. It makes floor(x * width) * (1 / width) of a
 * normalised coordinate, which may lie a little below the texel that is meant. The sums of linear filtering are exact here
 * and rounded once: what the hardware rounds inside is not published. */
#ifndef KPT_IMAGE_SAMPLE_H
#define KPT_IMAGE_SAMPLE_H

#include <cmath>
#include <cstring>

#include "texel.h"

namespace kpt {

struct SamplePlace {
    float coordinate[3] = {0, 0, 0};
    uint32_t axes = 0, layer = 0;
    bool is_normalized = false;
};

/* Two neighbours on one axis, and how many 256ths the second one weighs. */
struct AxisPlace {
    int64_t at[2];
    bool is_outside[2]; /* in the border */
    uint32_t fraction;
};

/* The nearest layer that there is. */
uint32_t layer_of(float layer, uint32_t count);
AxisPlace place_on_axis(float coordinate, uint32_t size, Clamp mode, bool is_normalized, bool linear, bool truncates);
/* The border's channels, as a texel of the format. */
void border_texel(const TexelFormat &format, uint32_t border, uint32_t *channels);

template <class Texel>
void corner_texel(const ImageView &image, const Sampler &sampler, const AxisPlace *axes, uint32_t count, uint32_t layer,
                  uint32_t corner, const Texel &texel_at, uint32_t *channels) {
    uint64_t at[3] = {0, 0, 0};
    for (uint32_t axis = 0; axis < count; axis++) {
        const uint32_t which = corner >> axis & 1;
        if (axes[axis].is_outside[which]) return border_texel(image.format, sampler.border, channels);
        at[axis] = uint64_t(axes[axis].at[which]);
    }
    texel_at(uint32_t(at[0]), uint32_t(at[1]), count == 3 ? uint32_t(at[2]) : layer, channels);
}

template <class Texel>
void sample_texels(const ImageView &image, const Sampler &sampler, const SamplePlace &place, const Texel &texel_at,
                   uint32_t *channels) {
    const uint32_t sizes[3] = {image.width, image.height, image.slices};
    /* Integers are not filtered. */
    const bool can_filter = !image.format.is_integer();
    AxisPlace axes[3];
    uint32_t corners = 1;
    for (uint32_t axis = 0; axis < place.axes; axis++) {
        const bool linear = can_filter && (axis == 2 ? sampler.linear_between_slices : sampler.linear);
        axes[axis] = place_on_axis(place.coordinate[axis], sizes[axis], sampler.clamp[axis], place.is_normalized,
                                   linear, sampler.truncates);
        if (axes[axis].fraction) corners = 1u << place.axes;
    }
    if (corners == 1) return corner_texel(image, sampler, axes, place.axes, place.layer, 0, texel_at, channels);
    double sum[4] = {0, 0, 0, 0};
    for (uint32_t corner = 0; corner < corners; corner++) {
        double weight = 1;
        for (uint32_t axis = 0; axis < place.axes; axis++)
            weight *= (corner >> axis & 1 ? axes[axis].fraction : 256 - axes[axis].fraction) / 256.0;
        if (weight == 0) continue;
        uint32_t texel[4] = {0, 0, 0, 0};
        corner_texel(image, sampler, axes, place.axes, place.layer, corner, texel_at, texel);
        for (uint32_t c = 0; c < image.format.channels; c++) {
            float value;
            memcpy(&value, &texel[c], sizeof value);
            sum[c] += weight * double(value);
        }
    }
    for (uint32_t c = 0; c < image.format.channels; c++) {
        const float value = float(sum[c]);
        memcpy(&channels[c], &value, sizeof value);
    }
}

/* The four texels that linear filtering would take, in the order of tex2Dgather: from the lower left one counterclockwise. */
template <class Texel>
void gather_texels(const ImageView &image, const Sampler &sampler, const SamplePlace &place, const Texel &texel_at,
                   uint32_t (*corners)[4]) {
    const AxisPlace axes[2] = {
        place_on_axis(place.coordinate[0], image.width, sampler.clamp[0], place.is_normalized, true, false),
        place_on_axis(place.coordinate[1], image.height, sampler.clamp[1], place.is_normalized, true, false)};
    static const uint32_t order[4] = {2, 3, 1, 0};
    for (int k = 0; k < 4; k++) corner_texel(image, sampler, axes, 2, place.layer, order[k], texel_at, corners[k]);
}

} // namespace kpt
#endif
