/* Texture references: a device variable with a host copy, which binding fills in and copies to the device. */
#include <cstring>
#include <map>
#include <mutex>
#include <string>

#include "errors.h"
#include "memory.h"
#include "module.h"
#include "texture.h"

KPT_API hipError_t hipMemcpy(void *to, const void *from, size_t bytes, hipMemcpyKind kind);

namespace kpt {
namespace {

struct ReferenceOfModule {
    textureReference *host;
    void *device;
};
std::mutex reference_mutex;
std::map<std::pair<hipModule_t, std::string>, ReferenceOfModule> references;

/* Where the device has the reference: a variable of the program, or of a module that was loaded. */
hipError_t on_device(const textureReference *reference, void **address) {
    {
        std::lock_guard<std::mutex> lock(reference_mutex);
        for (auto &one : references)
            if (one.second.host == reference) {
                *address = one.second.device;
                return hipSuccess;
            }
    }
    size_t bytes;
    return registered_variable(reference, address, &bytes);
}

hipTextureDesc desc_of_reference(const textureReference &r) {
    hipTextureDesc out{};
    memcpy(out.addressMode, r.addressMode, sizeof out.addressMode);
    out.filterMode = r.filterMode;
    out.readMode = r.readMode;
    out.sRGB = r.sRGB;
    out.normalizedCoords = r.normalized;
    out.maxAnisotropy = r.maxAnisotropy;
    out.mipmapFilterMode = r.mipmapFilterMode;
    out.mipmapLevelBias = r.mipmapLevelBias;
    out.minMipmapLevelClamp = r.minMipmapLevelClamp;
    out.maxMipmapLevelClamp = r.maxMipmapLevelClamp;
    return out;
}

hipError_t bind(const textureReference *reference, const hipResourceDesc &resource, const hipResourceViewDesc *view) {
    void *device;
    if (hipError_t error = on_device(reference, &device)) return error;
    auto *writable = const_cast<textureReference *>(reference);
    if (hipError_t error = destroy_texture(writable->textureObject)) return error;
    writable->textureObject = nullptr;
    hipTextureDesc texture = desc_of_reference(*reference);
    if (hipError_t error = create_texture(&writable->textureObject, &resource, &texture, view)) return error;
    return hipMemcpy(device, reference, sizeof *reference, hipMemcpyHostToDevice);
}

/* Bytes from a pointer to where a texture may begin; a driver's buffer begins at such a place. */
bool begins_a_texture(const void *memory, size_t *offset) {
    const Allocation *a = find(uint64_t(memory));
    if (offset) *offset = 0;
    return a && (uint64_t(memory) - a->base) % 256 == 0;
}

hipError_t bind_array(const textureReference *reference, hipArray_t array, const hipChannelFormatDesc &desc) {
    hipResourceDesc resource{};
    resource.resType = hipResourceTypeArray;
    resource.res.array.array = array;
    hipResourceViewDesc view{};
    for (int format = 1; format <= 24; format++) {
        int plain;
        unsigned channels;
        view_format(format, plain, channels);
        if (plain == format_of(desc) && channels == channels_of(desc)) view.format = format;
    }
    return bind(reference, resource, &view);
}

hipError_t bound(const textureReference *reference, const hipResourceDesc **out) {
    if (!reference) return hipErrorInvalidValue;
    if (!has_images()) return hipErrorNotSupported;
    *out = reference->textureObject ? resource_of(reference->textureObject) : nullptr;
    return *out ? hipSuccess : hipErrorInvalidValue;
}

/* What setting and reading a reference have in common. */
hipError_t usable(const void *first, const void *second) {
    if (!first || !second) return hipErrorInvalidValue;
    return has_images() ? hipSuccess : hipErrorNotSupported;
}

} // namespace
} // namespace kpt

using namespace kpt;

KPT_API hipError_t hipBindTexture(size_t *offset, const textureReference *reference, const void *memory,
                                  const hipChannelFormatDesc *desc, size_t bytes) {
    KPT_ENTER();
    if (!reference || !memory || !desc) return done(hipErrorInvalidValue);
    if (!has_images()) return done(hipErrorNotSupported);
    if (!begins_a_texture(memory, offset)) return done(hipErrorInvalidValue);
    hipResourceDesc resource{};
    resource.resType = hipResourceTypeLinear;
    resource.res.linear = {const_cast<void *>(memory), *desc, bytes};
    /* Programs bind more than there is, up to the largest number: what the buffer has is meant. */
    const Allocation *a = find(uint64_t(memory));
    if (a && bytes > a->base + a->bytes - uint64_t(memory))
        resource.res.linear.sizeInBytes = a->base + a->bytes - uint64_t(memory);
    return done(bind(reference, resource, nullptr));
}
KPT_API hipError_t hipBindTexture2D(size_t *offset, const textureReference *reference, const void *memory,
                                    const hipChannelFormatDesc *desc, size_t width, size_t height, size_t pitch) {
    KPT_ENTER();
    if (!reference || !memory || !desc || !pitch) return done(hipErrorInvalidValue);
    if (!has_images()) return done(hipErrorNotSupported);
    if (!begins_a_texture(memory, offset)) return done(hipErrorInvalidValue);
    hipResourceDesc resource{};
    resource.resType = hipResourceTypePitch2D;
    resource.res.pitch2D = {const_cast<void *>(memory), *desc, width, height, pitch};
    return done(bind(reference, resource, nullptr));
}
KPT_API hipError_t hipBindTextureToArray(const textureReference *reference, hipArray_t array,
                                         const hipChannelFormatDesc *desc) {
    KPT_ENTER();
    if (!reference || !array || !desc) return done(hipErrorInvalidValue);
    return done(bind_array(reference, array, *desc));
}
KPT_API hipError_t hipUnbindTexture(const textureReference *reference) {
    KPT_ENTER();
    if (!reference) return done(hipErrorInvalidValue);
    hipError_t error = destroy_texture(reference->textureObject);
    if (!error) const_cast<textureReference *>(reference)->textureObject = nullptr;
    return done(error);
}
KPT_API hipError_t hipGetTextureAlignmentOffset(size_t *offset, const textureReference *reference) {
    KPT_ENTER();
    hipError_t error = usable(offset, reference);
    if (!error) *offset = 0;
    return done(error);
}
KPT_API hipError_t hipGetTextureReference(const textureReference **out, const void *symbol) {
    KPT_ENTER();
    hipError_t error = usable(out, out);
    if (!error) *out = static_cast<const textureReference *>(symbol);
    return done(error);
}

KPT_API hipError_t hipModuleGetTexRef(textureReference **out, hipModule_t module, const char *name) {
    KPT_ENTER();
    if (!out || !module || !name) return done(hipErrorInvalidValue);
    if (!has_images()) return done(hipErrorNotSupported);
    auto symbol = module->image.symbols.find(name);
    if (symbol == module->image.symbols.end()) return done(hipErrorNotFound);
    std::lock_guard<std::mutex> lock(reference_mutex);
    ReferenceOfModule &entry = references[{module, name}];
    if (!entry.host || entry.device != reinterpret_cast<void *>(symbol->second.address)) {
        entry.host = new textureReference{};
        for (int &mode : entry.host->addressMode) mode = hipAddressModeClamp;
        entry.device = reinterpret_cast<void *>(symbol->second.address);
    }
    *out = entry.host;
    return done(hipSuccess);
}

KPT_API hipError_t hipTexRefSetArray(textureReference *reference, hipArray_t array, unsigned flags) {
    KPT_ENTER();
    if (!reference || !array || flags != HIP_TRSA_OVERRIDE_FORMAT || !is_array(array))
        return done(hipErrorInvalidValue);
    reference->format = array->Format;
    reference->numChannels = int(array->NumChannels);
    return done(bind_array(reference, array, array->desc));
}
KPT_API hipError_t hipTexRefSetAddress(size_t *offset, textureReference *reference, void *memory, size_t bytes) {
    KPT_ENTER();
    if (!reference) return done(hipErrorInvalidValue);
    if (!has_images()) return done(hipErrorNotSupported);
    if (!begins_a_texture(memory, offset)) return done(hipErrorInvalidValue);
    hipResourceDesc resource{};
    resource.resType = hipResourceTypeLinear;
    resource.res.linear = {memory, desc_of(reference->format, unsigned(reference->numChannels)), bytes};
    return done(bind(reference, resource, nullptr));
}
KPT_API hipError_t hipTexRefSetAddress2D(textureReference *reference, const HIP_ARRAY_DESCRIPTOR *desc, void *memory,
                                         size_t pitch) {
    KPT_ENTER();
    if (!reference || !desc) return done(hipErrorInvalidValue);
    hipResourceDesc resource{};
    resource.resType = hipResourceTypePitch2D;
    resource.res.pitch2D = {memory, desc_of(desc->Format, desc->NumChannels), desc->Width, desc->Height, pitch};
    return done(bind(reference, resource, nullptr));
}
KPT_API hipError_t hipTexRefSetFormat(textureReference *reference, int format, int channels) {
    KPT_ENTER();
    hipError_t error = usable(reference, reference);
    if (!error) reference->format = format, reference->numChannels = channels;
    return done(error);
}
KPT_API hipError_t hipTexRefSetFlags(textureReference *reference, unsigned flags) {
    KPT_ENTER();
    hipError_t error = usable(reference, reference);
    if (error) return done(error);
    reference->readMode = flags & HIP_TRSF_READ_AS_INTEGER ? hipReadModeElementType : hipReadModeNormalizedFloat;
    reference->normalized = flags & HIP_TRSF_NORMALIZED_COORDINATES ? 1 : 0;
    reference->sRGB = flags & HIP_TRSF_SRGB ? 1 : 0;
    return done(hipSuccess);
}
KPT_API hipError_t hipTexRefSetFilterMode(textureReference *reference, int mode) {
    KPT_ENTER();
    hipError_t error = usable(reference, reference);
    if (!error) reference->filterMode = mode;
    return done(error);
}
KPT_API hipError_t hipTexRefSetAddressMode(textureReference *reference, int axis, int mode) {
    KPT_ENTER();
    if (!reference || axis < 0 || axis > 2) return done(hipErrorInvalidValue);
    hipError_t error = usable(reference, reference);
    if (!error) reference->addressMode[axis] = mode;
    return done(error);
}
KPT_API hipError_t hipTexRefSetMaxAnisotropy(textureReference *reference, unsigned most) {
    KPT_ENTER();
    hipError_t error = usable(reference, reference);
    if (!error) reference->maxAnisotropy = most;
    return done(error);
}

KPT_API hipError_t hipTexRefGetArray(hipArray_t *out, const textureReference *reference) {
    KPT_ENTER();
    const hipResourceDesc *resource;
    hipError_t error = out ? bound(reference, &resource) : hipErrorInvalidValue;
    if (!error && resource->resType != hipResourceTypeArray) error = hipErrorInvalidValue;
    if (!error) *out = resource->res.array.array;
    return done(error);
}
KPT_API hipError_t hipTexRefGetAddress(void **out, const textureReference *reference) {
    KPT_ENTER();
    const hipResourceDesc *resource;
    hipError_t error = out ? bound(reference, &resource) : hipErrorInvalidValue;
    if (!error && resource->resType < hipResourceTypeLinear) error = hipErrorInvalidValue;
    if (!error) *out = resource->res.linear.devPtr; /* in the same place for rows */
    return done(error);
}
KPT_API hipError_t hipTexRefGetAddressMode(int *out, const textureReference *reference, int axis) {
    KPT_ENTER();
    hipError_t error = axis < 0 || axis > 1 ? hipErrorInvalidValue : usable(out, reference);
    if (!error) *out = reference->addressMode[axis];
    return done(error);
}
KPT_API hipError_t hipTexRefGetFilterMode(int *out, const textureReference *reference) {
    KPT_ENTER();
    hipError_t error = usable(out, reference);
    if (!error) *out = reference->filterMode;
    return done(error);
}
KPT_API hipError_t hipTexRefGetFlags(unsigned *out, const textureReference *reference) {
    KPT_ENTER();
    hipError_t error = usable(out, reference);
    if (error) return done(error);
    *out = (reference->readMode == hipReadModeElementType ? HIP_TRSF_READ_AS_INTEGER : 0u) |
           (reference->normalized == 1 ? HIP_TRSF_NORMALIZED_COORDINATES : 0u) |
           (reference->sRGB == 1 ? HIP_TRSF_SRGB : 0u);
    return done(hipSuccess);
}
KPT_API hipError_t hipTexRefGetFormat(int *format, int *channels, const textureReference *reference) {
    KPT_ENTER();
    hipError_t error = channels ? usable(format, reference) : hipErrorInvalidValue;
    if (!error) *format = reference->format, *channels = reference->numChannels;
    return done(error);
}
KPT_API hipError_t hipTexRefGetMaxAnisotropy(int *out, const textureReference *reference) {
    KPT_ENTER();
    hipError_t error = usable(out, reference);
    if (!error) *out = int(reference->maxAnisotropy);
    return done(error);
}
