#include "array.h"

#include <algorithm>

#include "errors.h"
#include "memory.h"
#include "pending.h"
#include "stream.h"

namespace kpt {
namespace {

uint64_t element_bytes(const hipChannelFormatDesc &d) { return uint64_t(d.x + d.y + d.z + d.w) / 8; }

uint64_t format_bytes(int format) {
    switch (format) {
    case 0x01:
    case 0x08: return 1;
    case 0x02:
    case 0x09:
    case 0x10: return 2;
    case 0x03:
    case 0x0a:
    case 0x20: return 4;
    }
    return 0;
}

hipError_t make_array(hipArray_t *out, hipChannelFormatDesc desc, int format, unsigned channels, uint64_t element,
                      size_t width, size_t height, size_t depth, unsigned flags) {
    if (!out || !width || !element) return hipErrorInvalidValue;
    uint64_t rows = std::max<size_t>(height, 1) * std::max<size_t>(depth, 1);
    hipError_t error;
    Allocation *memory = allocate(Kind::array, width * element * rows, self().device, flags, error);
    if (!memory) return error;
    *out = new hipArray{reinterpret_cast<void *>(memory->base),
                        desc,
                        0,
                        int(width),
                        unsigned(height),
                        unsigned(depth),
                        format,
                        channels,
                        false,
                        0,
                        element,
                        width * element,
                        flags};
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

} // namespace

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
    if (!desc) return done(hipErrorInvalidValue);
    return done(make_array(array, *desc, 0, 0, element_bytes(*desc), extent.width, extent.height, extent.depth, flags));
}

KPT_API hipError_t hipMallocArray(hipArray_t *array, const hipChannelFormatDesc *desc, size_t width, size_t height,
                                  unsigned flags) {
    return hipMalloc3DArray(array, desc, {width, height, 0}, flags);
}

KPT_API hipError_t hipArray3DCreate(hipArray_t *array, const HIP_ARRAY3D_DESCRIPTOR *d) {
    KPT_ENTER();
    if (!d) return done(hipErrorInvalidValue);
    uint64_t element = format_bytes(d->Format) * d->NumChannels;
    return done(make_array(array, {}, d->Format, d->NumChannels, element, d->Width, d->Height, d->Depth, d->Flags));
}

KPT_API hipError_t hipArrayCreate(hipArray_t *array, const HIP_ARRAY_DESCRIPTOR *d) {
    if (!d) return done(hipErrorInvalidValue);
    HIP_ARRAY3D_DESCRIPTOR wide{d->Width, d->Height, 0, d->Format, d->NumChannels, 0};
    return hipArray3DCreate(array, &wide);
}

KPT_API hipError_t hipFreeArray(hipArray_t array) {
    KPT_ENTER();
    if (!array) return done(hipErrorInvalidValue);
    finish_all("hipFreeArray");
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
    return done(with_array(const_cast<void *>(from), array, x, y, bytes, bytes, 1, true, kind, nullptr));
}
KPT_API hipError_t hipMemcpyFromArray(void *to, hipArray_t array, size_t x, size_t y, size_t bytes,
                                      hipMemcpyKind kind) {
    KPT_ENTER();
    return done(with_array(to, array, x, y, bytes, bytes, 1, false, kind, nullptr));
}
KPT_API hipError_t hipMemcpyHtoA(hipArray_t array, size_t offset, const void *from, size_t bytes) {
    return hipMemcpyToArray(array, offset, 0, from, bytes, hipMemcpyHostToDevice);
}
KPT_API hipError_t hipMemcpyAtoH(void *to, hipArray_t array, size_t offset, size_t bytes) {
    return hipMemcpyFromArray(to, array, offset, 0, bytes, hipMemcpyDeviceToHost);
}
