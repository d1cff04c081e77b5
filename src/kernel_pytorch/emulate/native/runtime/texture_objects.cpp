/* hipCreateTextureObject, hipCreateSurfaceObject and their like. What is refused is what HIP's runtime refuses
 * (hip_texture.cpp of ROCm's clr), with the same code. */
#include <cstring>
#include <new>

#include "config.h"
#include "errors.h"
#include "memory.h"
#include "pending.h"
#include "texture.h"

/* What kernels and programs know of an object: the image's words, then the sampler's. The rest is the runtime's. */
struct __hip_texture {
    uint32_t image[12], sampler[8];
    hipResourceDesc resource;
    hipTextureDesc texture;
    hipResourceViewDesc view;
};
struct __hip_surface {
    uint32_t image[12];
    hipResourceDesc resource;
};

namespace kpt {
namespace {

const uint64_t ALIGNMENT = 256;
const uint64_t MOST_TEXELS = 16384;

/* Words that HIP's device functions read: the channels' type and order as HSA numbers them, and the width. */
void write_hsa_words(const TexelFormat &format, uint32_t width, uint32_t *words) {
    static const uint32_t of_8[] = {2, 0, 2, 0, 11, 8, 14, 2}, of_16[] = {3, 1, 3, 1, 12, 9, 14, 3};
    const uint32_t kind = uint32_t(format.numbers);
    words[8] = format.bits == 8                  ? of_8[kind]
               : format.bits == 16               ? of_16[kind]
               : format.numbers == Numbers::uint ? 13u
               : format.numbers == Numbers::sint ? 10u
                                                 : 15u;
    words[9] = format.channels == 1 ? 1 : format.channels == 2 ? 3 : format.numbers == Numbers::srgb ? 14 : 8;
    words[10] = width;
    words[11] = 0;
}

void selections(uint32_t channels, uint8_t *select) {
    for (uint32_t c = 0; c < 4; c++) select[c] = uint8_t(c < channels ? SELECT_X + c : c == 3 ? SELECT_1 : SELECT_0);
}

ImageType type_of(const hipArray &array) {
    if (array.flags & hipArrayLayered) return array.height ? ImageType::d2_array : ImageType::d1_array;
    return array.depth ? ImageType::d3 : array.height ? ImageType::d2 : ImageType::d1;
}

void image_of_array(const hipArray &array, const TexelFormat &format, uint32_t *words) {
    ImageView image;
    image.address = uint64_t(array.data);
    image.width = uint32_t(array.width);
    image.height = array.height ? array.height : 1;
    image.slices = array.depth ? array.depth : 1;
    image.pitch = uint32_t(array.pitch / format.bytes());
    image.format = format;
    image.type = type_of(array);
    selections(format.channels, image.select);
    write_image(config().major, image, words);
    write_hsa_words(format, image.width, words);
}

/* Whether `bytes` from an address on are memory that HIP knows, at a place that a driver's buffer would have there. */
bool is_buffer(const void *address, uint64_t bytes) {
    const Allocation *a = find(uint64_t(address));
    if (!a || (uint64_t(address) - a->base) % ALIGNMENT) return false;
    return uint64_t(address) + bytes <= a->base + a->bytes;
}

hipError_t image_of_linear(const hipResourceDesc &r, const hipTextureDesc &t, uint32_t *words) {
    const auto &linear = r.res.linear;
    TexelFormat format;
    if (!texel_format(format_of(linear.desc), channels_of(linear.desc), t.readMode, t.sRGB == 1, format))
        return hipErrorInvalidValue;
    const uint64_t texels = linear.sizeInBytes / format.bytes();
    if (format.numbers == Numbers::srgb || !texels || texels >= 0xffffffffu) return hipErrorInvalidValue;
    if (!is_buffer(linear.devPtr, linear.sizeInBytes)) return hipErrorInvalidValue;
    BufferView buffer;
    buffer.address = uint64_t(linear.devPtr);
    buffer.stride = format.bytes();
    /* As ROCm's runtime writes it: bytes, though the hardware counts elements here. */
    buffer.records = uint32_t(texels * format.bytes());
    buffer.format = format;
    selections(format.channels, buffer.select);
    memset(words, 0, 8 * sizeof *words);
    write_buffer(config().major, buffer, words);
    write_hsa_words(format, uint32_t(texels), words);
    return hipSuccess;
}

hipError_t image_of_rows(const hipResourceDesc &r, const hipTextureDesc &t, uint32_t *words) {
    const auto &rows = r.res.pitch2D;
    if (rows.width >= MOST_TEXELS || rows.height >= MOST_TEXELS || rows.pitchInBytes % ALIGNMENT)
        return hipErrorInvalidValue;
    /* On MI250X it was seen to end so (HeCBench's issue 190); RDNA filters such memory. */
    if (!filters_floats() && t.filterMode == hipFilterModeLinear) return hipErrorOutOfMemory;
    TexelFormat format;
    if (!texel_format(format_of(rows.desc), channels_of(rows.desc), t.readMode, t.sRGB == 1, format) || !rows.width ||
        !rows.height || rows.pitchInBytes < rows.width * format.bytes())
        return hipErrorInvalidValue;
    if (!is_buffer(rows.devPtr, rows.pitchInBytes * (rows.height - 1) + rows.width * format.bytes()))
        return hipErrorInvalidValue;
    ImageView image;
    image.address = uint64_t(rows.devPtr);
    image.width = uint32_t(rows.width);
    image.height = uint32_t(rows.height);
    image.pitch = uint32_t(rows.pitchInBytes / format.bytes());
    image.format = format;
    selections(format.channels, image.select);
    write_image(config().major, image, words);
    write_hsa_words(format, image.width, words);
    return hipSuccess;
}

hipError_t texture_of_array(const hipResourceDesc &r, const hipTextureDesc &t, const hipResourceViewDesc *view,
                            uint32_t *words) {
    const hipArray *array = r.res.array.array;
    if (!array || !is_array(array)) return hipErrorInvalidValue;
    int format = array->Format;
    unsigned channels = array->NumChannels;
    const bool is_float = format == HIP_AD_FORMAT_FLOAT;
    if (!filters_floats() && t.filterMode == hipFilterModeLinear && (array->depth || is_float))
        return hipErrorNotSupported;
    if (view && !view_format(view->format, format, channels)) return hipErrorInvalidValue;
    TexelFormat texel;
    if (!texel_format(format, channels, t.readMode, t.sRGB == 1, texel) || texel.bytes() != array->element)
        return hipErrorInvalidValue;
    image_of_array(*array, texel, words);
    return hipSuccess;
}

/* HIP takes the first axis' mode for all, has no border but zeros, and repeats nothing without normalised coordinates. */
void sampler_of(const hipTextureDesc &t, hipResourceType type, uint32_t *words) {
    static const Clamp modes[] = {Clamp::wrap, Clamp::last_texel, Clamp::mirror, Clamp::border};
    Sampler sampler;
    Clamp mode = Clamp::wrap;
    const bool repeats = t.addressMode[0] == hipAddressModeWrap || t.addressMode[0] == hipAddressModeMirror;
    if (!t.normalizedCoords && repeats)
        mode = Clamp::last_texel;
    else if (type != hipResourceTypeLinear)
        mode = modes[t.addressMode[0] & 3];
    for (Clamp &axis : sampler.clamp) axis = mode;
    sampler.unnormalized = !t.normalizedCoords;
    sampler.linear = type != hipResourceTypeLinear && t.filterMode == hipFilterModeLinear;
    write_sampler(config().major, sampler, words);
}

/* Memory that kernels and the program read. */
template <class Object>
Object *new_object() {
    hipError_t error;
    Allocation *memory = allocate(Kind::internal, sizeof(Object), self().device, 0, error);
    if (!memory) return nullptr;
    note_written(memory->base, sizeof(Object));
    return new (reinterpret_cast<void *>(memory->base)) Object{};
}
template <class Object>
bool is_object(const Object *object) {
    const Allocation *a = find(uint64_t(object));
    return a && a->kind == Kind::internal && a->base == uint64_t(object) && a->bytes == sizeof(Object);
}

} // namespace

hipError_t create_texture(hipTextureObject_t *out, const hipResourceDesc *resource, const hipTextureDesc *texture,
                          const hipResourceViewDesc *view) {
    if (!has_images()) return hipErrorNotSupported;
    if (!out || !resource || !texture) return hipErrorInvalidValue;
    if (view && resource->resType != hipResourceTypeArray && resource->resType != hipResourceTypeMipmappedArray)
        return hipErrorInvalidValue;
    if (resource->resType == hipResourceTypeMipmappedArray) return hipErrorNotSupported;
    if (texture->maxAnisotropy || texture->mipmapLevelBias != 0) return hipErrorNotSupported;
    uint32_t words[12];
    hipError_t error = hipErrorInvalidValue;
    switch (resource->resType) {
    case hipResourceTypeArray: error = texture_of_array(*resource, *texture, view, words); break;
    case hipResourceTypeLinear: error = image_of_linear(*resource, *texture, words); break;
    case hipResourceTypePitch2D: error = image_of_rows(*resource, *texture, words); break;
    default: break;
    }
    if (error) return error;
    auto *object = new_object<__hip_texture>();
    if (!object) return hipErrorOutOfMemory;
    memcpy(object->image, words, sizeof words);
    sampler_of(*texture, resource->resType, object->sampler);
    object->resource = *resource;
    object->texture = *texture;
    if (view) object->view = *view;
    *out = object;
    return hipSuccess;
}

hipError_t destroy_texture(hipTextureObject_t object) {
    if (!object) return hipSuccess;
    if (!has_images()) return hipErrorNotSupported;
    if (!is_object(object)) return hipErrorInvalidValue;
    finish_all("hipDestroyTextureObject");
    release(uint64_t(object));
    return hipSuccess;
}

const hipResourceDesc *resource_of(hipTextureObject_t object) {
    return is_object(object) ? &object->resource : nullptr;
}

namespace {

hipResourceDesc plain(const HIP_RESOURCE_DESC &d) {
    hipResourceDesc out{};
    out.resType = d.resType;
    if (d.resType == hipResourceTypeArray) out.res.array.array = d.res.array.hArray;
    if (d.resType == hipResourceTypeMipmappedArray) out.res.mipmap.mipmap = d.res.mipmap.hMipmappedArray;
    const auto &linear = d.res.linear;
    const auto &rows = d.res.pitch2D;
    if (d.resType == hipResourceTypeLinear)
        out.res.linear = {linear.devPtr, desc_of(linear.format, linear.numChannels), linear.sizeInBytes};
    if (d.resType == hipResourceTypePitch2D)
        out.res.pitch2D = {rows.devPtr, desc_of(rows.format, rows.numChannels), rows.width, rows.height,
                           rows.pitchInBytes};
    return out;
}
HIP_RESOURCE_DESC of_driver(const hipResourceDesc &d) {
    HIP_RESOURCE_DESC out{};
    out.resType = d.resType;
    if (d.resType == hipResourceTypeArray) out.res.array.hArray = d.res.array.array;
    if (d.resType == hipResourceTypeMipmappedArray) out.res.mipmap.hMipmappedArray = d.res.mipmap.mipmap;
    const auto &linear = d.res.linear;
    const auto &rows = d.res.pitch2D;
    if (d.resType == hipResourceTypeLinear)
        out.res.linear = {linear.devPtr, format_of(linear.desc), channels_of(linear.desc), linear.sizeInBytes};
    if (d.resType == hipResourceTypePitch2D)
        out.res.pitch2D = {rows.devPtr, format_of(rows.desc), channels_of(rows.desc),
                           rows.width,  rows.height,          rows.pitchInBytes};
    return out;
}
hipTextureDesc plain(const HIP_TEXTURE_DESC &d) {
    hipTextureDesc out{};
    memcpy(out.addressMode, d.addressMode, sizeof out.addressMode);
    memcpy(out.borderColor, d.borderColor, sizeof out.borderColor);
    out.filterMode = d.filterMode;
    out.readMode = d.flags & HIP_TRSF_READ_AS_INTEGER ? hipReadModeElementType : hipReadModeNormalizedFloat;
    out.sRGB = d.flags & HIP_TRSF_SRGB ? 1 : 0;
    out.normalizedCoords = d.flags & HIP_TRSF_NORMALIZED_COORDINATES ? 1 : 0;
    out.maxAnisotropy = d.maxAnisotropy;
    out.mipmapFilterMode = d.mipmapFilterMode;
    out.mipmapLevelBias = d.mipmapLevelBias;
    out.minMipmapLevelClamp = d.minMipmapLevelClamp;
    out.maxMipmapLevelClamp = d.maxMipmapLevelClamp;
    return out;
}
HIP_TEXTURE_DESC of_driver(const hipTextureDesc &d) {
    HIP_TEXTURE_DESC out{};
    memcpy(out.addressMode, d.addressMode, sizeof out.addressMode);
    memcpy(out.borderColor, d.borderColor, sizeof out.borderColor);
    out.filterMode = d.filterMode;
    out.flags = (d.readMode == hipReadModeElementType ? HIP_TRSF_READ_AS_INTEGER : 0u) | (d.sRGB ? HIP_TRSF_SRGB : 0u) |
                (d.normalizedCoords ? HIP_TRSF_NORMALIZED_COORDINATES : 0u);
    out.maxAnisotropy = d.maxAnisotropy;
    out.mipmapFilterMode = d.mipmapFilterMode;
    out.mipmapLevelBias = d.mipmapLevelBias;
    out.minMipmapLevelClamp = d.minMipmapLevelClamp;
    out.maxMipmapLevelClamp = d.maxMipmapLevelClamp;
    return out;
}

/* What the three questions about an object have in common. */
hipError_t about(const void *out, hipTextureObject_t object) {
    if (!out || !object) return hipErrorInvalidValue;
    if (!has_images()) return hipErrorNotSupported;
    return is_object(object) ? hipSuccess : hipErrorInvalidValue;
}

} // namespace
} // namespace kpt

using namespace kpt;

KPT_API hipError_t hipCreateTextureObject(hipTextureObject_t *out, const hipResourceDesc *resource,
                                          const hipTextureDesc *texture, const hipResourceViewDesc *view) {
    KPT_ENTER();
    return done(create_texture(out, resource, texture, view));
}
KPT_API hipError_t hipDestroyTextureObject(hipTextureObject_t object) {
    KPT_ENTER();
    return done(destroy_texture(object));
}
KPT_API hipError_t hipGetTextureObjectResourceDesc(hipResourceDesc *out, hipTextureObject_t object) {
    KPT_ENTER();
    hipError_t error = about(out, object);
    if (!error) *out = object->resource;
    return done(error);
}
KPT_API hipError_t hipGetTextureObjectResourceViewDesc(hipResourceViewDesc *out, hipTextureObject_t object) {
    KPT_ENTER();
    hipError_t error = about(out, object);
    if (!error) *out = object->view;
    return done(error);
}
KPT_API hipError_t hipGetTextureObjectTextureDesc(hipTextureDesc *out, hipTextureObject_t object) {
    KPT_ENTER();
    hipError_t error = about(out, object);
    if (!error) *out = object->texture;
    return done(error);
}

KPT_API hipError_t hipTexObjectCreate(hipTextureObject_t *out, const HIP_RESOURCE_DESC *resource,
                                      const HIP_TEXTURE_DESC *texture, const HIP_RESOURCE_VIEW_DESC *view) {
    KPT_ENTER();
    if (!out || !resource || !texture) return done(hipErrorInvalidValue);
    hipResourceDesc r = plain(*resource);
    hipTextureDesc t = plain(*texture);
    return done(create_texture(out, &r, &t, view ? &view->plain : nullptr));
}
KPT_API hipError_t hipTexObjectDestroy(hipTextureObject_t object) { return hipDestroyTextureObject(object); }
KPT_API hipError_t hipTexObjectGetResourceDesc(HIP_RESOURCE_DESC *out, hipTextureObject_t object) {
    KPT_ENTER();
    hipError_t error = about(out, object);
    if (!error) *out = of_driver(object->resource);
    return done(error);
}
KPT_API hipError_t hipTexObjectGetResourceViewDesc(HIP_RESOURCE_VIEW_DESC *out, hipTextureObject_t object) {
    KPT_ENTER();
    hipError_t error = about(out, object);
    if (!error) *out = {object->view, {}};
    return done(error);
}
KPT_API hipError_t hipTexObjectGetTextureDesc(HIP_TEXTURE_DESC *out, hipTextureObject_t object) {
    KPT_ENTER();
    hipError_t error = about(out, object);
    if (!error) *out = of_driver(object->texture);
    return done(error);
}

KPT_API hipError_t hipCreateSurfaceObject(hipSurfaceObject_t *out, const hipResourceDesc *resource) {
    KPT_ENTER();
    if (!has_images()) return done(hipErrorNotSupported);
    if (!out || !resource || resource->resType != hipResourceTypeArray) return done(hipErrorInvalidValue);
    const hipArray *array = resource->res.array.array;
    if (!array || !is_array(array)) return done(hipErrorInvalidValue);
    if (array->flags && !(array->flags & hipArraySurfaceLoadStore)) return done(hipErrorInvalidValue);
    TexelFormat format;
    if (!texel_format(array->Format, array->NumChannels, hipReadModeElementType, false, format))
        return done(hipErrorInvalidValue);
    auto *object = new_object<__hip_surface>();
    if (!object) return done(hipErrorOutOfMemory);
    image_of_array(*array, format, object->image);
    object->resource = *resource;
    *out = object;
    return done(hipSuccess);
}
KPT_API hipError_t hipDestroySurfaceObject(hipSurfaceObject_t object) {
    KPT_ENTER();
    if (!object) return done(hipSuccess);
    if (!is_object(object)) return done(hipErrorInvalidValue);
    finish_all("hipDestroySurfaceObject");
    release(uint64_t(object));
    return done(hipSuccess);
}

KPT_API hipError_t hipDeviceGetTexture1DLinearMaxWidth(size_t *width, const hipChannelFormatDesc *desc, int device) {
    KPT_ENTER();
    if (!width || !desc) return done(hipErrorInvalidValue);
    if (!is_device(device)) return done(hipErrorInvalidDevice);
    const unsigned bytes = bits_of_format(format_of(*desc)) / 8 * channels_of(*desc);
    if (!bytes) return done(hipErrorInvalidValue);
    *width = size_t(config().gpu["properties"]["maxTexture1DLinear"].number_or(0)) / bytes;
    return done(hipSuccess);
}
