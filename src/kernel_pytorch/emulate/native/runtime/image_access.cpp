#include "image_access.h"

#include <cmath>
#include <cstdio>
#include <cstring>

#include "half.h"
#include "image_sample.h"

namespace kpt {
namespace {

/* Both are read after a jump out of the access that set them. */
thread_local char problem_text[512];
thread_local volatile int current_lane;

const unsigned MOST_COMPONENTS = 24;

/* The channels of one lane that an instruction moves: as the text orders them. */
struct Lane {
    KptWave *wave;
    const KptImageUse &use;
    uint32_t lane;
    uint32_t *data(uint32_t at) const {
        uint32_t *file = use.flags & KPT_IMAGE_AGPR ? wave->a : wave->v;
        return &file[size_t(use.data + at) * use.lanes + lane];
    }
    uint32_t address(uint32_t at) const {
        uint32_t last = use.addresses - 1u;
        uint32_t number = at <= last ? use.address[at] : use.address[last] + (at - last);
        /* gfx9's machine code names fewer registers than are read; damaged code has none there. */
        if (wave->kernel && number >= wave->kernel->vgprs) return 0;
        return wave->v[size_t(number) * use.lanes + lane];
    }
    void give(const uint32_t *values, uint32_t count, bool is_integer) const {
        if (!(use.flags & KPT_IMAGE_D16)) {
            for (uint32_t c = 0; c < count; c++) *data(c) = values[c];
            return;
        }
        for (uint32_t c = 0; c < count; c += 2) {
            uint32_t pair = half(values[c], is_integer);
            if (c + 1 < count) pair |= half(values[c + 1], is_integer) << 16;
            *data(c / 2) = pair;
        }
    }
    void take(uint32_t *values, uint32_t count, bool is_integer, bool has_sign) const {
        for (uint32_t c = 0; c < count; c++) {
            if (!(use.flags & KPT_IMAGE_D16)) {
                values[c] = *data(c);
                continue;
            }
            const uint16_t raw = uint16_t(*data(c / 2) >> (c % 2 * 16));
            values[c] = is_integer ? has_sign ? uint32_t(int32_t(int16_t(raw))) : raw : bits_of(__gnu_h2f_ieee(raw));
        }
    }
    static uint32_t bits_of(float value) {
        uint32_t bits;
        memcpy(&bits, &value, sizeof bits);
        return bits;
    }
    static float float_of(uint32_t bits) {
        float value;
        memcpy(&value, &bits, sizeof value);
        return value;
    }
    static uint32_t half(uint32_t value, bool is_integer) {
        return is_integer ? value & 0xffff : __gnu_f2h_ieee(float_of(value));
    }
};

/* Shows every texel to the runtime where that is asked for, and notes whose it is. */
struct Texels {
    KptWave *wave;
    const ImageUnit &unit;
    uint64_t read = 0, written = 0;
    uint64_t lines[256];
    uint32_t known = 0, missed = 0;

    uint8_t *at(uint32_t lane, uint64_t address, uint32_t bytes, uint32_t how) {
        current_lane = int(lane);
        if (unit.checked) wave->services->access(wave, lane, address, bytes, how);
        if (unit.counted) count(address, bytes, how);
        return reinterpret_cast<uint8_t *>(address);
    }
    void count(uint64_t address, uint32_t bytes, uint32_t how) {
        (how & KPT_WRITE ? written : read) += bytes;
        const uint64_t line = address / 64;
        for (uint32_t i = known; i > 0; i--)
            if (lines[i - 1] == line) return;
        known < 256 ? void(lines[known++] = line) : void(missed++);
    }
    void add_counts() const {
        if (!unit.counted) return;
        wave->counters->global_bytes_read += read;
        wave->counters->global_bytes_written += written;
        wave->counters->lines_touched += known + missed;
        wave->counters->lines_ideal += (read + written + 63) / 64;
    }
};

void refuse(KptWave *wave, const char *problem, const uint32_t *words, int count, uint64_t exec) {
    int length = snprintf(problem_text, sizeof problem_text, "%s; its words are", problem);
    for (int word = 0; word < count && length < int(sizeof problem_text) - 12; word++)
        length += snprintf(problem_text + length, sizeof problem_text - size_t(length), " %08x", words[word]);
    wave->services->fault(wave, KPT_FAULT_DESCRIPTOR, uint32_t(__builtin_ctzll(exec)), 0, 0);
}

/* A channel's source in the texel; loads of what is not there give 0 and 1. */
uint32_t selected(const uint8_t *select, uint32_t channel, const uint32_t *texel, bool is_integer) {
    const uint32_t one = is_integer ? 1u : Lane::bits_of(1.0f);
    return select[channel] == SELECT_0 ? 0 : select[channel] == SELECT_1 ? one : texel[select[channel] - SELECT_X];
}

void give_channels(const Lane &lane, const uint8_t *select, const uint32_t *texel, bool is_integer, bool is_outside) {
    uint32_t values[4], count = 0;
    for (uint32_t c = 0; c < 4; c++)
        if (lane.use.dmask >> c & 1) values[count++] = is_outside ? 0 : selected(select, c, texel, is_integer);
    lane.give(values, count, is_integer);
}

/* The texel's channels out of a store's: those that it does not have are 0, on gfx12 the first one. */
void stored_texel(const Lane &lane, const TexelFormat &format, const uint8_t *select, int generation, uint32_t *texel) {
    uint32_t given[4], all[4], count = uint32_t(__builtin_popcount(lane.use.dmask));
    lane.take(given, count, format.is_integer(), format.numbers == Numbers::sint);
    for (uint32_t c = 0, next = 0; c < 4; c++)
        all[c] = lane.use.dmask >> c & 1 ? given[next++] : generation >= 12 && count ? given[0] : 0;
    for (uint32_t at = 0; at < 4; at++) {
        texel[at] = 0;
        for (uint32_t c = 0; c < 4; c++)
            if (select[c] == SELECT_X + at) {
                texel[at] = all[c];
                break;
            }
    }
}

/* How many coordinates a picture has, and whether the last one is a layer. */
struct Shape {
    uint32_t axes = 0;
    bool is_array = false;
};

const char *shape_of(const KptImageUse &use, ImageType type, Shape &shape) {
    const bool has_layers = type == ImageType::d1_array || type == ImageType::d2_array;
    const uint32_t axes = type == ImageType::d3 ? 3 : type == ImageType::d2 || type == ImageType::d2_array ? 2 : 1;
    shape = {axes, has_layers && (use.flags & KPT_IMAGE_ARRAY)};
    if (use.dim == KPT_DIM_OF_RESOURCE) return nullptr;
    static const Shape asked[] = {{1, false}, {2, false}, {3, false}, {1, true}, {2, true}};
    shape = asked[use.dim];
    return shape.axes == axes ? nullptr : "the instruction asks for another number of dimensions than the image has";
}

/* Coordinates as the registers hold them: bits of 32, or two of 16 in each register. */
struct Coordinates {
    uint32_t raw[MOST_COMPONENTS];
    bool is_short;
    float real(uint32_t at) const { return is_short ? __gnu_h2f_ieee(uint16_t(raw[at])) : Lane::float_of(raw[at]); }
    uint32_t whole(uint32_t at) const { return raw[at]; }
};

void read_coordinates(const Lane &lane, const Shape &shape, Coordinates &found) {
    const KptImageUse &use = lane.use;
    uint32_t skipped = use.level == KPT_LEVEL_BIAS;
    if (use.level == KPT_LEVEL_GRADIENT)
        skipped += use.flags & KPT_IMAGE_G16 ? (shape.axes + 1) / 2 * 2 : shape.axes * 2;
    const uint32_t count = shape.axes + shape.is_array + (use.level == KPT_LEVEL_GIVEN);
    found.is_short = use.flags & KPT_IMAGE_A16;
    for (uint32_t c = 0; c < count; c++)
        found.raw[c] =
            found.is_short ? lane.address(skipped + c / 2) >> (c % 2 * 16) & 0xffff : lane.address(skipped + c);
}

void load_or_store(Texels &texels, const Lane &lane, const ImageView &image, const Shape &shape,
                   const Coordinates &given) {
    const bool stores = lane.use.action == KPT_IMAGE_STORE;
    uint32_t place[3] = {0, 0, 0}, layer = 0;
    for (uint32_t axis = 0; axis < shape.axes; axis++) place[axis] = given.whole(axis);
    if (shape.is_array) layer = given.whole(shape.axes);
    if (image.type == ImageType::d3) layer = place[2];
    const uint32_t level = lane.use.level == KPT_LEVEL_GIVEN ? given.whole(shape.axes + shape.is_array) : 0;
    const bool is_outside = place[0] >= image.width || place[1] >= image.height || layer >= image.slices || level;
    uint32_t texel[4] = {0, 0, 0, 0};
    const bool is_integer = image.format.is_integer();
    if (is_outside) {
        if (!stores) give_channels(lane, image.select, texel, is_integer, true);
        return;
    }
    const uint64_t address = image.address + (image.first_layer + layer) * image.slice_bytes() +
                             place[1] * image.row_bytes() + uint64_t(place[0]) * image.format.bytes();
    if (stores) {
        stored_texel(lane, image.format, image.select, texels.unit.generation, texel);
        write_texel(image.format, texels.at(lane.lane, address, image.format.bytes(), KPT_WRITE), texel);
        return;
    }
    read_texel(image.format, texels.at(lane.lane, address, image.format.bytes(), KPT_READ), texel);
    give_channels(lane, image.select, texel, is_integer, false);
}

void sample(Texels &texels, const Lane &lane, const ImageView &image, const Sampler &sampler, const Shape &shape,
            const Coordinates &given) {
    SamplePlace at;
    for (uint32_t axis = 0; axis < shape.axes; axis++) at.coordinate[axis] = given.real(axis);
    at.axes = shape.axes;
    at.is_normalized = !sampler.unnormalized && !(lane.use.flags & KPT_IMAGE_UNNORMALIZED);
    at.layer = shape.is_array ? layer_of(given.real(shape.axes), image.slices) : 0;
    auto texel_at = [&](uint32_t x, uint32_t y, uint32_t slice, uint32_t *channels) {
        const uint64_t address = image.address + (image.first_layer + slice) * image.slice_bytes() +
                                 y * image.row_bytes() + uint64_t(x) * image.format.bytes();
        read_texel(image.format, texels.at(lane.lane, address, image.format.bytes(), KPT_READ), channels);
    };
    const bool is_integer = image.format.is_integer();
    if (lane.use.action == KPT_IMAGE_GATHER) {
        const uint32_t channel = lane.use.dmask & 1 ? 0 : lane.use.dmask & 2 ? 1 : lane.use.dmask & 4 ? 2 : 3;
        uint32_t corners[4][4] = {}, values[4];
        gather_texels(image, sampler, at, texel_at, corners);
        for (int corner = 0; corner < 4; corner++)
            values[corner] = selected(image.select, channel, corners[corner], is_integer);
        lane.give(values, 4, is_integer);
        return;
    }
    uint32_t texel[4] = {0, 0, 0, 0};
    sample_texels(image, sampler, at, texel_at, texel);
    give_channels(lane, image.select, texel, is_integer, false);
}

void give_info(const Lane &lane, const ImageView &image, const Shape &shape) {
    const bool is_first_level = lane.address(0) == 0;
    const uint32_t sizes[4] = {image.width, shape.axes > 1 ? image.height : 0,
                               image.type == ImageType::d3 || shape.is_array ? image.slices : 0, 1};
    uint32_t values[4], count = 0;
    for (uint32_t c = 0; c < 4; c++)
        if (lane.use.dmask >> c & 1) values[count++] = c == 3 || is_first_level ? sizes[c] : 0;
    lane.give(values, count, true);
}

void typed_access(KptWave *wave, const KptImageUse &use, const uint32_t *words, uint64_t exec, Texels &texels) {
    const int generation = texels.unit.generation;
    BufferView buffer;
    if (const char *problem = read_buffer(generation, words, buffer)) return refuse(wave, problem, words, 4, exec);
    for (uint64_t left = exec; left; left &= left - 1) {
        const Lane lane{wave, use, uint32_t(__builtin_ctzll(left))};
        const uint64_t index = use.has_index ? lane.address(0) : 0;
        const uint64_t offset = use.offset + (use.has_offset ? lane.address(use.has_index) : uint64_t(0));
        const uint32_t bytes = buffer.format.bytes();
        /* With a stride the number of records counts elements, else bytes. */
        const bool is_outside = buffer.stride ? index >= buffer.records || offset + bytes > buffer.stride
                                              : offset + words[4] + bytes > buffer.records;
        uint32_t texel[4] = {0, 0, 0, 0};
        const uint64_t address = buffer.address + words[4] + offset + index * buffer.stride;
        if (use.action == KPT_TYPED_STORE) {
            if (is_outside) continue;
            stored_texel(lane, buffer.format, buffer.select, generation, texel);
            write_texel(buffer.format, texels.at(lane.lane, address, bytes, KPT_WRITE), texel);
            continue;
        }
        if (!is_outside) read_texel(buffer.format, texels.at(lane.lane, address, bytes, KPT_READ), texel);
        give_channels(lane, buffer.select, texel, buffer.format.is_integer(), is_outside);
    }
}

} // namespace

void image_access(KptWave *wave, const KptImageUse &use, const uint32_t *words, uint64_t exec, const ImageUnit &unit) {
    if (!exec) return;
    Texels texels{wave, unit};
    if (use.action == KPT_TYPED_LOAD || use.action == KPT_TYPED_STORE) {
        typed_access(wave, use, words, exec, texels);
        return texels.add_counts();
    }
    ImageView image;
    Sampler sampler;
    Shape shape;
    const bool samples = use.action == KPT_IMAGE_SAMPLE || use.action == KPT_IMAGE_GATHER;
    const char *problem = read_image(unit.generation, words, image);
    if (!problem) problem = shape_of(use, image.type, shape);
    if (!problem && use.action == KPT_IMAGE_GATHER && shape.axes != 2)
        problem = "only images of two dimensions are gathered from";
    if (!problem && use.action == KPT_IMAGE_STORE && image.format.numbers == Numbers::srgb)
        problem = "an image of sRGB cannot be written";
    if (problem) return refuse(wave, problem, words, 8, exec);
    if (samples && (problem = read_sampler(words + 8, sampler))) return refuse(wave, problem, words + 8, 4, exec);
    for (uint64_t left = exec; left; left &= left - 1) {
        const Lane lane{wave, use, uint32_t(__builtin_ctzll(left))};
        Coordinates given;
        read_coordinates(lane, shape, given);
        if (use.action == KPT_IMAGE_INFO)
            give_info(lane, image, shape);
        else if (samples)
            sample(texels, lane, image, sampler, shape, given);
        else
            load_or_store(texels, lane, image, shape, given);
    }
    texels.add_counts();
}

std::string descriptor_problem() { return problem_text; }

int image_lane() { return current_lane; }

} // namespace kpt
