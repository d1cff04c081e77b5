#include "image_descriptor.h"

#include <initializer_list>

namespace kpt {
namespace {

struct Bits {
    uint8_t word = 0, low = 0, count = 0;
};

uint32_t get(const uint32_t *words, Bits at) {
    return at.count ? words[at.word] >> at.low & (at.count == 32 ? ~0u : (1u << at.count) - 1) : 0;
}
void put(uint32_t *words, Bits at, uint32_t value) {
    if (at.count) words[at.word] |= (value & (at.count == 32 ? ~0u : (1u << at.count) - 1)) << at.low;
}

/* The table in image_descriptor.h. `width_low` has no bits where one field holds the width. */
struct ImageFields {
    Bits format, numbers, width_low, width, height, first_level, last_level, slice, pitch, layer;
};
const ImageFields FIELDS[] = {
    {{1, 20, 6}, {1, 26, 4}, {}, {2, 0, 14}, {2, 14, 14}, {3, 12, 4}, {3, 16, 4}, {4, 0, 13}, {4, 13, 16}, {5, 0, 13}},
    {{1, 20, 9}, {}, {1, 30, 2}, {2, 0, 12}, {2, 14, 14}, {3, 12, 4}, {3, 16, 4}, {4, 0, 13}, {4, 0, 14}, {4, 16, 13}},
    {{1, 20, 8}, {}, {1, 30, 2}, {2, 0, 12}, {2, 14, 14}, {3, 12, 4}, {3, 16, 4}, {4, 0, 13}, {4, 0, 14}, {4, 16, 13}},
    {{1, 17, 8}, {}, {1, 30, 2}, {2, 0, 14}, {2, 14, 16}, {1, 25, 5}, {3, 15, 5}, {4, 0, 14}, {4, 0, 16}, {4, 16, 14}},
};
const Bits ADDRESS_LOW = {0, 0, 32}, ADDRESS_HIGH = {1, 0, 8}, TILING = {3, 20, 5}, TYPE = {3, 28, 4},
           COMPRESSED = {6, 21, 1}, OUR_LOW_BITS = {7, 0, 8};

/* Formats of a texel: gfx9's number, and gfx10's and gfx11's for the first kind of number that it may have. Those of
 * 8 and 16 bits have unorm, snorm, uscaled, sscaled, uint, sint and, of 16 bits, float; those of 32 uint, sint, float. */
struct FormatRow {
    uint8_t bits, channels, gfx9, gfx10, gfx11;
};
const FormatRow FORMATS[] = {
    {8, 1, 1, 1, 1},    {16, 1, 2, 7, 7},    {8, 2, 3, 14, 14},   {32, 1, 4, 20, 20},  {16, 2, 5, 23, 23},
    {8, 4, 10, 56, 42}, {32, 2, 11, 62, 48}, {16, 4, 12, 65, 51}, {32, 4, 14, 75, 61},
};
const FormatRow SRGB[] = {{8, 1, 1, 128, 64}, {8, 2, 3, 129, 65}, {8, 4, 10, 130, 66}};
const uint8_t GFX9_SRGB = 9;

uint32_t kinds_of(const FormatRow &row) { return row.bits == 8 ? 6 : row.bits == 16 ? 7 : 3; }
Numbers first_kind(const FormatRow &row) { return row.bits == 32 ? Numbers::uint : Numbers::unorm; }

bool find_format(int generation, uint32_t code, uint32_t gfx9_numbers, TexelFormat &found) {
    if (generation == 9) {
        static const Numbers names[] = {Numbers::unorm, Numbers::snorm, Numbers::uscaled, Numbers::sscaled,
                                        Numbers::uint,  Numbers::sint,  Numbers::uint,    Numbers::real};
        for (const FormatRow &row : FORMATS) {
            if (row.gfx9 != code) continue;
            found = {row.bits, row.channels, gfx9_numbers < 8 ? names[gfx9_numbers] : Numbers::srgb};
            if (gfx9_numbers == 6 || (gfx9_numbers > 7 && gfx9_numbers != GFX9_SRGB)) return false;
            if (row.bits == 32) return found.numbers >= Numbers::uint && found.numbers <= Numbers::real;
            return row.bits == 8 ? found.numbers != Numbers::real : found.numbers != Numbers::srgb;
        }
        return false;
    }
    for (const FormatRow &row : SRGB)
        if (code == (generation == 10 ? row.gfx10 : row.gfx11)) {
            found = {row.bits, row.channels, Numbers::srgb};
            return true;
        }
    for (const FormatRow &row : FORMATS) {
        uint32_t first = generation == 10 ? row.gfx10 : row.gfx11;
        if (code < first || code >= first + kinds_of(row)) continue;
        found = {row.bits, row.channels, Numbers(uint32_t(first_kind(row)) + code - first)};
        return true;
    }
    return false;
}

void format_code(int generation, const TexelFormat &format, uint32_t &code, uint32_t &gfx9_numbers) {
    const bool srgb = format.numbers == Numbers::srgb;
    code = gfx9_numbers = 0;
    for (const FormatRow &row : FORMATS) {
        if (row.bits != format.bits || row.channels != format.channels) continue;
        if (generation == 9) {
            static const uint8_t numbers[] = {0, 1, 2, 3, 4, 5, 7, GFX9_SRGB};
            code = row.gfx9;
            gfx9_numbers = numbers[uint32_t(format.numbers)];
            return;
        }
        if (srgb) break;
        code = (generation == 10 ? row.gfx10 : row.gfx11) + uint32_t(format.numbers) - uint32_t(first_kind(row));
        return;
    }
    for (const FormatRow &row : SRGB)
        if (srgb && row.channels == format.channels) code = generation == 10 ? row.gfx10 : row.gfx11;
}

bool has_rows_of_its_own(int generation, ImageType type) {
    return generation == 9 || type == ImageType::d1 || type == ImageType::d2;
}

bool is_selection(uint32_t one) { return one < 2 || one > 3; }

const char *read_selections(uint32_t word, uint8_t *select) {
    for (int c = 0; c < 4; c++) {
        select[c] = uint8_t(word >> 3 * c & 7);
        if (!is_selection(select[c])) return "a channel is taken from a source that does not exist (2 or 3)";
    }
    return nullptr;
}
uint32_t selections(const uint8_t *select) {
    return uint32_t(select[0]) | uint32_t(select[1]) << 3 | uint32_t(select[2]) << 6 | uint32_t(select[3]) << 9;
}

} // namespace

uint32_t own_pitch(uint32_t width, uint32_t texel_bytes) {
    return uint32_t((uint64_t(width) * texel_bytes + 255) / 256 * 256 / texel_bytes);
}

void write_image(int generation, const ImageView &image, uint32_t *words) {
    const ImageFields &at = FIELDS[generation - 9];
    for (int word = 0; word < 8; word++) words[word] = 0;
    put(words, ADDRESS_LOW, uint32_t(image.address >> 8));
    put(words, ADDRESS_HIGH, uint32_t(image.address >> 40));
    put(words, OUR_LOW_BITS, uint32_t(image.address));
    uint32_t code, numbers;
    format_code(generation, image.format, code, numbers);
    put(words, at.format, code);
    put(words, at.numbers, numbers);
    put(words, at.width_low, image.width - 1);
    put(words, at.width, (image.width - 1) >> at.width_low.count);
    put(words, at.height, image.height - 1);
    words[3] |= selections(image.select);
    put(words, TYPE, uint32_t(image.type));
    if (generation == 9 || !has_rows_of_its_own(generation, image.type))
        put(words, at.slice, image.first_layer + image.slices - 1);
    if (has_rows_of_its_own(generation, image.type)) put(words, at.pitch, image.pitch - 1);
    put(words, at.layer, image.first_layer);
}

const char *read_image(int generation, const uint32_t *words, ImageView &image) {
    const ImageFields &at = FIELDS[generation - 9];
    bool any = false;
    for (int word = 0; word < 8; word++) any = any || words[word];
    if (!any) return "all its words are 0: no texture or surface object is bound, or it was destroyed";
    uint32_t type = get(words, TYPE);
    if (type < 8 || type == 14 || type == 15)
        return type < 8
                   ? "its type is not an image's: linear memory can be read by tex1Dfetch only, or this is no descriptor"
                   : "it is an image of several samples, which HIP does not make";
    if (type == uint32_t(ImageType::cube)) return "it is a cube map, which HIP's runtime does not make";
    image.type = ImageType(type);
    if (get(words, TILING)) return "its texels are tiled, and nothing public says how: arrays here lie in rows";
    if (get(words, COMPRESSED)) return "its texels are compressed";
    if (get(words, at.first_level) || get(words, at.last_level)) return "it has several levels of detail";
    if (!find_format(generation, get(words, at.format), get(words, at.numbers), image.format))
        return "its format is none that HIP makes";
    if (const char *problem = read_selections(words[3], image.select)) return problem;
    image.address =
        uint64_t(get(words, ADDRESS_LOW)) << 8 | uint64_t(get(words, ADDRESS_HIGH)) << 40 | get(words, OUR_LOW_BITS);
    image.width = (get(words, at.width) << at.width_low.count | get(words, at.width_low)) + 1;
    image.height = get(words, at.height) + 1;
    image.first_layer = get(words, at.layer);
    image.slices = 1;
    const bool is_array = image.type == ImageType::d1_array || image.type == ImageType::d2_array;
    if (is_array || image.type == ImageType::d3) image.slices = get(words, at.slice) + 1;
    if (is_array) {
        if (image.first_layer >= image.slices) return "its first layer lies behind its last one";
        image.slices -= image.first_layer;
    } else {
        image.first_layer = 0;
    }
    if (image.type == ImageType::d1 || image.type == ImageType::d1_array) image.height = 1;
    image.pitch = has_rows_of_its_own(generation, image.type) ? get(words, at.pitch) + 1
                                                              : own_pitch(image.width, image.format.bytes());
    return image.pitch < image.width ? "its rows are shorter than its width" : nullptr;
}

void write_sampler(int generation, const Sampler &sampler, uint32_t *words) {
    const uint32_t linear = sampler.linear;
    words[0] = uint32_t(sampler.clamp[0]) | uint32_t(sampler.clamp[1]) << 3 | uint32_t(sampler.clamp[2]) << 6 |
               uint32_t(sampler.unnormalized) << 15 | uint32_t(sampler.truncates) << 27;
    words[1] = 4095u << (generation >= 12 ? 13 : 12); /* the last level of detail that may be taken */
    words[2] = linear << 20 | linear << 22;
    words[3] = sampler.border << 30;
}

const char *read_sampler(const uint32_t *words, Sampler &sampler) {
    for (int axis = 0; axis < 3; axis++) {
        uint32_t mode = words[0] >> 3 * axis & 7;
        if (mode == 4 || mode == 5 || mode == 7)
            return "the sampler clamps to half of the border, which HIP does not ask for";
        sampler.clamp[axis] = Clamp(mode);
    }
    sampler.unnormalized = words[0] >> 15 & 1;
    sampler.truncates = words[0] >> 27 & 1;
    if (words[0] >> 9 & 7) return "the sampler filters anisotropically";
    if (words[0] >> 29 & 3) return "the sampler takes the least or the largest texel";
    const uint32_t magnify = words[2] >> 20 & 3, shrink = words[2] >> 22 & 3, between = words[2] >> 24 & 3;
    if (magnify > 1 || shrink > 1) return "the sampler filters anisotropically";
    if (magnify != shrink)
        return "the sampler filters differently for larger and smaller pictures, which needs levels of detail";
    sampler.linear = magnify == 1;
    /* 0: as inside a slice. */
    sampler.linear_between_slices = between ? between == 2 : sampler.linear;
    sampler.border = words[3] >> 30;
    return sampler.border == 3 ? "the sampler's border colour is in a table, which HIP does not make" : nullptr;
}

void write_buffer(int generation, const BufferView &buffer, uint32_t *words) {
    uint32_t code, numbers;
    format_code(generation, buffer.format, code, numbers);
    words[0] = uint32_t(buffer.address);
    words[1] = uint32_t(buffer.address >> 32 & 0xffff) | buffer.stride << 16;
    words[2] = buffer.records;
    words[3] = selections(buffer.select) | (generation == 9 ? numbers << 12 | code << 15 : code << 12);
}

const char *read_buffer(int generation, const uint32_t *words, BufferView &buffer) {
    if (words[3] >> 30) return "its type is not a buffer's: only linear memory can be read by tex1Dfetch";
    const uint32_t swizzled = generation >= 11 ? words[1] >> 30 : words[1] >> 31;
    if (swizzled || words[3] >> 23 & 1) return "it is a swizzled buffer, which HIP makes for private memory only";
    if (const char *problem = read_selections(words[3], buffer.select)) return problem;
    const uint32_t code = generation == 9 ? words[3] >> 15 & 15 : words[3] >> 12 & (generation == 10 ? 127u : 63u);
    if (!find_format(generation, code, generation == 9 ? words[3] >> 12 & 7 : 0, buffer.format))
        return "its format is none that HIP makes";
    buffer.address = uint64_t(words[1] & 0xffff) << 32 | words[0];
    buffer.stride = words[1] >> 16 & 0x3fff;
    buffer.records = words[2];
    return nullptr;
}

} // namespace kpt
