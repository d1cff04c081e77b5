/* Image, buffer and sampler descriptors as AMD's GPUs read them: the one place that knows where their fields are.
 *
 * hipCreateTextureObject writes them, image instructions read them. Public sources: AMD's ISA manuals ("Image Resource
 * Definition", "Sampler Resource"), ROCR's image library (resource_ai.h, resource_nv.h, resource_gfx11.h,
 * resource_gfx12.h), LLVM and Mesa.
 *
 * Bits of an image's eight words (word:high-low); what is not here is 0 in what the runtime writes:
 *
 *                     gfx9             gfx10             gfx11             gfx12
 *   address / 256     0:31-0, 1:7-0    the same          the same          the same
 *   format            1:25-20 (data)   1:28-20           1:27-20           1:24-17
 *   number format     1:29-26          in the format     in the format     in the format
 *   width - 1         2:13-0           1:31-30, 2:11-0   1:31-30, 2:11-0   1:31-30, 2:13-0
 *   height - 1        2:27-14          2:27-14           2:27-14           2:29-14
 *   channels          3:11-0           3:11-0            3:11-0            3:11-0
 *   first, last level 3:15-12, 19-16   the same          the same          1:29-25, 3:19-15
 *   tiling            3:24-20          3:24-20           3:24-20           3:24-20
 *   type              3:31-28          3:31-28           3:31-28           3:31-28
 *   last slice        4:12-0           4:12-0            4:12-0            4:13-0
 *   pitch - 1         4:28-13          4:13-0 (a)        4:13-0 (a)        4:15-0 (a)
 *   first layer       5:12-0           4:28-16           4:28-16           4:29-16
 *   compression       6:21             6:21              6:21              6:21
 *
 * (a) of images of one or two dimensions, in the place of the last slice; rows of others are a multiple of 256 bytes.
 *
 * One thing is ours: buffers lie here with their end against a page, not with their beginning, so an address need not
 * be a multiple of 256. Its low eight bits are in 7:7-0, which hardware reads for compressed images only. */
#ifndef KPT_IMAGE_DESCRIPTOR_H
#define KPT_IMAGE_DESCRIPTOR_H

#include <cstdint>

namespace kpt {

enum class Numbers : uint8_t { unorm, snorm, uscaled, sscaled, uint, sint, real, srgb };

struct TexelFormat {
    uint8_t bits = 0, channels = 0; /* bits of a channel */
    Numbers numbers = Numbers::uint;
    uint32_t bytes() const { return uint32_t(bits) * channels / 8; }
    bool is_integer() const { return numbers == Numbers::uint || numbers == Numbers::sint; }
};

/* As the hardware numbers them. */
enum class ImageType : uint8_t { d1 = 8, d2 = 9, d3 = 10, cube = 11, d1_array = 12, d2_array = 13 };
enum ChannelSource : uint8_t { SELECT_0 = 0, SELECT_1 = 1, SELECT_X = 4, SELECT_Y = 5, SELECT_Z = 6, SELECT_W = 7 };
enum class Clamp : uint8_t { wrap = 0, mirror = 1, last_texel = 2, mirror_once = 3, border = 6 };

struct ImageView {
    uint64_t address = 0;
    uint32_t width = 1, height = 1, slices = 1, first_layer = 0; /* slices: depth, or layers */
    uint32_t pitch = 1;                                          /* texels from row to row */
    TexelFormat format;
    uint8_t select[4] = {SELECT_X, SELECT_0, SELECT_0, SELECT_1};
    ImageType type = ImageType::d2;
    uint64_t row_bytes() const { return uint64_t(pitch) * format.bytes(); }
    uint64_t slice_bytes() const { return row_bytes() * height; }
};

struct Sampler {
    Clamp clamp[3] = {Clamp::last_texel, Clamp::last_texel, Clamp::last_texel};
    bool unnormalized = false, linear = false, linear_between_slices = false;
    bool truncates = false; /* point sampling: else coordinates are rounded to 1/256 first, as HIP has it */
    uint32_t border = 0;    /* 0: zeros; 1: black, opaque; 2: white, opaque */
};

/* A typed view of a buffer: what tex1Dfetch reads linear memory through. */
struct BufferView {
    uint64_t address = 0;
    uint32_t stride = 0, records = 0;
    TexelFormat format;
    uint8_t select[4] = {SELECT_X, SELECT_0, SELECT_0, SELECT_1};
};

/* `generation`: 9, 10, 11 or 12. */
void write_image(int generation, const ImageView &image, uint32_t *words);
void write_sampler(int generation, const Sampler &sampler, uint32_t *words);
void write_buffer(int generation, const BufferView &buffer, uint32_t *words);

/* Null, or what is wrong with the words. */
const char *read_image(int generation, const uint32_t *words, ImageView &image);
const char *read_sampler(const uint32_t *words, Sampler &sampler);
const char *read_buffer(int generation, const uint32_t *words, BufferView &buffer);

/* Texels from row to row where the descriptor has no room for it. */
uint32_t own_pitch(uint32_t width, uint32_t texel_bytes);

} // namespace kpt
#endif
