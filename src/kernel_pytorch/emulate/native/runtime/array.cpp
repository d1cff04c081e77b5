#include "array.h"

#include <algorithm>
#include <mutex>
#include <set>

#include "errors.h"
#include "memory.h"
#include "pending.h"
#include "stream.h"
#include "texture.h"

namespace kpt {
namespace {

std::mutex array_mutex;
std::set<const hipArray *> arrays;

/* What ROCm's runtime takes: 1D, 2D, 3D and layers, of 1, 2 or 4 channels; no cube maps. */
hipError_t make_array(hipArray_t *out, int format, unsigned channels, size_t width, size_t height, size_t depth,
                      unsigned flags) {
    if (!out || !width || (channels != 1 && channels != 2 && channels != 4)) return hipErrorInvalidValue;
    if (flags & hipArrayCubemap)
        say_once("HIP makes no cube maps. A port has textures of its own with -D KPT_SOFTWARE_TEXTURES");
    if (flags & ~unsigned(hipArrayLayered | hipArraySurfaceLoadStore | hipArrayTextureGather))
        return hipErrorInvalidValue;
    if (flags & hipArrayTextureGather && (!height || depth)) return hipErrorInvalidValue;
    if (flags & hipArrayLayered ? !depth : depth && !height) return hipErrorInvalidValue;
    const uint64_t element = uint64_t(bits_of_format(format)) * channels / 8;
    if (!element) return hipErrorInvalidValue;
    if (!has_images()) return hipErrorNotSupported;
    if (width > 16384 || height > 16384 || depth > 8192) return hipErrorInvalidValue;
    const uint64_t pitch = own_pitch(uint32_t(width), uint32_t(element)) * element;
    const uint64_t rows = std::max<size_t>(height, 1) * std::max<size_t>(depth, 1);
    hipError_t error;
    Allocation *memory = allocate(Kind::array, pitch * rows, self().device, flags, error);
    if (!memory) return error;
    *out = new hipArray{reinterpret_cast<void *>(memory->base),
                        desc_of(format, channels),
                        0,
                        int(width),
                        unsigned(height),
                        unsigned(depth),
                        format,
                        channels,
                        false,
                        0,
                        element,
                        pitch,
                        flags};
    std::lock_guard<std::mutex> lock(array_mutex);
    arrays.insert(*out);
    return hipSuccess;
}

Box box_of(hipArray_t array, uint64_t x_bytes, uint64_t y, uint64_t z) {
    uint64_t slice = array->pitch * std::max(array->height, 1u);
    return {uint64_t(array->data) + z * slice + y * array->pitch + x_bytes, array->pitch, slice};
}

hipError_t with_array(void *other, hipArray_t array, size_t x_bytes, size_t y, size_t other_pitch, size_t width,
                      size_t height, bool to_array, hipMemcpyKind kind, hipStream_t stream) {
    if (!array || !other) return hipErrorInvalidValue;
    Operation operation = copy_operation(nullptr, nullptr, width, kind);
    Box inside = box_of(array, x_bytes, y, 0), outside{uint64_t(other), other_pitch, other_pitch * height};
    operation.copy.to = to_array ? inside : outside;
    operation.copy.from = to_array ? outside : inside;
    operation.copy.height = height;
    return submit(stream, std::move(operation));
}

/* `bytes` of rows that lie one behind the other in the other memory. */
hipError_t whole_rows(void *other, hipArray_t array, size_t x, size_t y, size_t bytes, bool to_array,
                      hipMemcpyKind kind) {
    if (!array || !other) return hipErrorInvalidValue;
    const size_t row = size_t(array->width) * array->element, width = std::min(bytes, row);
    const size_t rows = width ? bytes / width : 0;
    return with_array(other, array, x, y, width, width, rows, to_array, kind, nullptr);
}

} // namespace

bool is_array(const hipArray *array) {
    std::lock_guard<std::mutex> lock(array_mutex);
    return arrays.count(array) != 0;
}

hipError_t copy3d_operation(const hipMemcpy3DParms &p, Operation &out) {
    if ((p.srcArray != nullptr) == (p.srcPtr.ptr != nullptr) || (p.dstArray != nullptr) == (p.dstPtr.ptr != nullptr))
        return hipErrorInvalidValue;
    /* With an array on either side, widths count its elements; x positions of plain memory count bytes. */
    uint64_t element = p.srcArray ? p.srcArray->element : p.dstArray ? p.dstArray->element : 1;
    auto side = [](hipArray_t array, const hipPitchedPtr &pointer, const hipPos &at) {
        if (array) return box_of(array, at.x * array->element, at.y, at.z);
        uint64_t slice = pointer.pitch * pointer.ysize;
        return Box{uint64_t(pointer.ptr) + at.z * slice + at.y * pointer.pitch + at.x, pointer.pitch, slice};
    };
    out.type = hipGraphNodeTypeMemcpy;
    out.copy.from = side(p.srcArray, p.srcPtr, p.srcPos);
    out.copy.to = side(p.dstArray, p.dstPtr, p.dstPos);
    out.copy.width = p.extent.width * element;
    out.copy.height = p.extent.height;
    out.copy.depth = p.extent.depth;
    out.copy.kind = p.kind;
    out.copy.shown = p;
    bool tight =
        (p.dstArray || out.copy.to.pitch >= out.copy.width) && (p.srcArray || out.copy.from.pitch >= out.copy.width);
    return tight || out.copy.height <= 1 ? hipSuccess : hipErrorInvalidPitchValue;
}

hipError_t driver_copy3d_operation(const HIP_MEMCPY3D &p, Operation &out) {
    auto side = [&p](hipMemoryType type, const void *host, void *device, hipArray_t array, size_t x, size_t y, size_t z,
                     size_t pitch, size_t rows) {
        if (type == hipMemoryTypeArray && array) return box_of(array, x, y, z);
        uint64_t base = uint64_t(type == hipMemoryTypeHost ? host : device);
        if (!pitch) pitch = p.WidthInBytes;
        uint64_t slice = pitch * (rows ? rows : p.Height);
        return Box{base + z * slice + y * pitch + x, pitch, slice};
    };
    out.type = hipGraphNodeTypeMemcpy;
    out.copy.from = side(p.srcMemoryType, p.srcHost, p.srcDevice, p.srcArray, p.srcXInBytes, p.srcY, p.srcZ, p.srcPitch,
                         p.srcHeight);
    out.copy.to = side(p.dstMemoryType, p.dstHost, p.dstDevice, p.dstArray, p.dstXInBytes, p.dstY, p.dstZ, p.dstPitch,
                       p.dstHeight);
    out.copy.width = p.WidthInBytes;
    out.copy.height = p.Height;
    out.copy.depth = p.Depth;
    return out.copy.from.at && out.copy.to.at ? hipSuccess : hipErrorInvalidValue;
}

} // namespace kpt

using namespace kpt;

KPT_API hipError_t hipMalloc3DArray(hipArray_t *array, const hipChannelFormatDesc *desc, hipExtent extent,
                                    unsigned flags) {
    KPT_ENTER();
    if (!desc || !format_of(*desc)) return done(hipErrorInvalidValue);
    return done(
        make_array(array, format_of(*desc), channels_of(*desc), extent.width, extent.height, extent.depth, flags));
}

KPT_API hipError_t hipMallocArray(hipArray_t *array, const hipChannelFormatDesc *desc, size_t width, size_t height,
                                  unsigned flags) {
    return hipMalloc3DArray(array, desc, {width, height, 0}, flags);
}

KPT_API hipError_t hipArray3DCreate(hipArray_t *array, const HIP_ARRAY3D_DESCRIPTOR *d) {
    KPT_ENTER();
    if (!d) return done(hipErrorInvalidValue);
    return done(make_array(array, d->Format, d->NumChannels, d->Width, d->Height, d->Depth, d->Flags));
}

KPT_API hipError_t hipArrayCreate(hipArray_t *array, const HIP_ARRAY_DESCRIPTOR *d) {
    if (!d) return done(hipErrorInvalidValue);
    HIP_ARRAY3D_DESCRIPTOR wide{d->Width, d->Height, 0, d->Format, d->NumChannels, 0};
    return hipArray3DCreate(array, &wide);
}

KPT_API hipError_t hipFreeArray(hipArray_t array) {
    KPT_ENTER();
    if (!array) return done(hipErrorInvalidValue);
    if (!is_array(array)) return done(hipErrorContextIsDestroyed);
    finish_all("hipFreeArray");
    {
        std::lock_guard<std::mutex> lock(array_mutex);
        arrays.erase(array);
    }
    release(uint64_t(array->data));
    delete array;
    return done(hipSuccess);
}
KPT_API hipError_t hipArrayDestroy(hipArray_t array) { return hipFreeArray(array); }

KPT_API hipError_t hipArrayGetInfo(hipChannelFormatDesc *desc, hipExtent *extent, unsigned *flags, hipArray_t array) {
    KPT_ENTER();
    if (!array) return done(hipErrorInvalidHandle);
    if (desc) *desc = array->desc;
    if (extent) *extent = {size_t(array->width), array->height, array->depth};
    if (flags) *flags = unsigned(array->flags);
    return done(hipSuccess);
}

KPT_API hipError_t hipArray3DGetDescriptor(HIP_ARRAY3D_DESCRIPTOR *d, hipArray_t array) {
    KPT_ENTER();
    if (!d) return done(hipErrorInvalidValue);
    if (!array || !is_array(array)) return done(hipErrorInvalidHandle);
    *d = {size_t(array->width), array->height, array->depth, array->Format, array->NumChannels, unsigned(array->flags)};
    return done(hipSuccess);
}
KPT_API hipError_t hipArrayGetDescriptor(HIP_ARRAY_DESCRIPTOR *d, hipArray_t array) {
    KPT_ENTER();
    if (!d) return done(hipErrorInvalidValue);
    if (!array || !is_array(array)) return done(hipErrorInvalidHandle);
    *d = {size_t(array->width), array->height, array->Format, array->NumChannels};
    return done(hipSuccess);
}

KPT_API hipError_t hipGetChannelDesc(hipChannelFormatDesc *desc, hipArray_t array) {
    return hipArrayGetInfo(desc, nullptr, nullptr, array);
}

KPT_API hipChannelFormatDesc hipCreateChannelDesc(int x, int y, int z, int w, hipChannelFormatKind kind) {
    return {x, y, z, w, kind};
}

KPT_API hipError_t hipMemcpy2DToArrayAsync(hipArray_t array, size_t x, size_t y, const void *from, size_t pitch,
                                           size_t width, size_t height, hipMemcpyKind kind, hipStream_t stream) {
    KPT_ENTER();
    return done(with_array(const_cast<void *>(from), array, x, y, pitch, width, height, true, kind, stream));
}
KPT_API hipError_t hipMemcpy2DToArray(hipArray_t array, size_t x, size_t y, const void *from, size_t pitch,
                                      size_t width, size_t height, hipMemcpyKind kind) {
    return hipMemcpy2DToArrayAsync(array, x, y, from, pitch, width, height, kind, nullptr);
}
KPT_API hipError_t hipMemcpy2DFromArrayAsync(void *to, size_t pitch, hipArray_t array, size_t x, size_t y, size_t width,
                                             size_t height, hipMemcpyKind kind, hipStream_t stream) {
    KPT_ENTER();
    return done(with_array(to, array, x, y, pitch, width, height, false, kind, stream));
}
KPT_API hipError_t hipMemcpy2DFromArray(void *to, size_t pitch, hipArray_t array, size_t x, size_t y, size_t width,
                                        size_t height, hipMemcpyKind kind) {
    return hipMemcpy2DFromArrayAsync(to, pitch, array, x, y, width, height, kind, nullptr);
}
KPT_API hipError_t hipMemcpyToArray(hipArray_t array, size_t x, size_t y, const void *from, size_t bytes,
                                    hipMemcpyKind kind) {
    KPT_ENTER();
    return done(whole_rows(const_cast<void *>(from), array, x, y, bytes, true, kind));
}
KPT_API hipError_t hipMemcpyFromArray(void *to, hipArray_t array, size_t x, size_t y, size_t bytes,
                                      hipMemcpyKind kind) {
    KPT_ENTER();
    return done(whole_rows(to, array, x, y, bytes, false, kind));
}
KPT_API hipError_t hipMemcpyHtoA(hipArray_t array, size_t offset, const void *from, size_t bytes) {
    return hipMemcpyToArray(array, offset, 0, from, bytes, hipMemcpyHostToDevice);
}
KPT_API hipError_t hipMemcpyAtoH(void *to, hipArray_t array, size_t offset, size_t bytes) {
    return hipMemcpyFromArray(to, array, offset, 0, bytes, hipMemcpyDeviceToHost);
}
