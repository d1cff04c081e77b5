/* hipMemcpy in its forms. */
#include <cstring>

#include "array.h"
#include "config.h"
#include "errors.h"
#include "memory.h"
#include "module.h"
#include "operation.h"
#include "pending.h"
#include "stream.h"

namespace kpt {
namespace {

/* Whether `bytes` from an address stay inside the allocation it lies in; host memory we do not know always does. */
bool inside(uint64_t at, uint64_t bytes, const char *side) {
    Allocation *a = find(at);
    bool freed = false;
    if (!a) {
        std::string where = describe(at, freed);
        if (freed) say("hipMemcpy: its %s is %s", side, where.c_str());
        if (!freed && is_reserved(at)) {
            say("hipMemcpy: its %s is reserved, but nothing is mapped there that may be accessed", side);
            return false;
        }
        return !freed;
    }
    if (bytes <= a->base + a->bytes - at) return true;
    say("hipMemcpy: %llu bytes are too many for its %s: %llu bytes are left in that allocation of %llu",
        (unsigned long long)bytes, side, (unsigned long long)(a->base + a->bytes - at), (unsigned long long)a->bytes);
    return false;
}

uint64_t extent(const Box &box, const Copy &c) {
    return (c.depth - 1) * box.slice + (c.height - 1) * box.pitch + c.width;
}

} // namespace

hipError_t run_copy(const Copy &c) {
    if (!c.width || !c.height || !c.depth) return hipSuccess;
    if (!c.to.at || !c.from.at) return hipErrorInvalidValue;
    if (!inside(c.to.at, extent(c.to, c), "destination") || !inside(c.from.at, extent(c.from, c), "source"))
        return hipErrorInvalidValue;
    for (uint64_t z = 0; z < c.depth; z++)
        for (uint64_t y = 0; y < c.height; y++) {
            uint64_t to = c.to.at + z * c.to.slice + y * c.to.pitch,
                     from = c.from.at + z * c.from.slice + y * c.from.pitch;
            memmove(reinterpret_cast<void *>(to), reinterpret_cast<const void *>(from), c.width);
            note_copied(to, from, c.width);
        }
    return hipSuccess;
}

bool is_of_the_program(const Box &box) { return !find(box.at) && is_plain_host(box.at); }

Operation copy_operation(void *to, const void *from, uint64_t bytes, hipMemcpyKind kind) {
    Operation operation;
    operation.type = hipGraphNodeTypeMemcpy;
    Copy &c = operation.copy;
    c.to = {uint64_t(to), bytes, bytes};
    c.from = {uint64_t(from), bytes, bytes};
    c.width = bytes;
    c.kind = kind;
    c.shown.srcPtr = {const_cast<void *>(from), bytes, bytes, 1};
    c.shown.dstPtr = {to, bytes, bytes, 1};
    c.shown.extent = {bytes, 1, 1};
    c.shown.kind = kind;
    return operation;
}

static hipError_t copy(void *to, const void *from, size_t bytes, hipMemcpyKind kind, hipStream_t stream) {
    KPT_ENTER();
    bool known_kind = (kind >= hipMemcpyHostToHost && kind <= hipMemcpyDefault) || kind == hipMemcpyDeviceToDeviceNoCU;
    if (!known_kind) return done(hipErrorInvalidMemcpyDirection);
    if (bytes && (!to || !from)) return done(hipErrorInvalidValue);
    return done(submit(stream, copy_operation(to, from, bytes, kind)));
}

static hipError_t copy2d(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t height,
                         hipMemcpyKind kind, hipStream_t stream) {
    KPT_ENTER();
    if (width && height && (!to || !from)) return done(hipErrorInvalidValue);
    if (width > to_pitch || width > from_pitch) return done(hipErrorInvalidPitchValue);
    Operation operation = copy_operation(to, from, width, kind);
    operation.copy.to.pitch = to_pitch;
    operation.copy.from.pitch = from_pitch;
    operation.copy.height = height;
    operation.copy.shown.srcPtr = {const_cast<void *>(from), from_pitch, width, height};
    operation.copy.shown.dstPtr = {to, to_pitch, width, height};
    operation.copy.shown.extent = {width, height, 1};
    return done(submit(stream, std::move(operation)));
}

/* Null-symbol safe: the address of a device variable plus an offset, when the bytes are inside. */
static hipError_t in_symbol(const void *symbol, size_t offset, size_t bytes, void **out) {
    size_t size = 0;
    if (hipError_t error = registered_variable(symbol, out, &size); error != hipSuccess) return error;
    if (offset > size || bytes > size - offset) return hipErrorInvalidValue;
    *out = static_cast<char *>(*out) + offset;
    return hipSuccess;
}

} // namespace kpt

using namespace kpt;

/* The calls without a stream return when the copy has been made. */
static hipError_t waited(hipError_t error, hipStream_t handle = nullptr) {
    ihipStream_t *stream = resolve(handle);
    if (!stream || stream->capture) return error;
    finish(stream, self().device, "hipMemcpy");
    host_waits_for(stream, self().device);
    return error == hipSuccess ? done(stuck()) : error;
}

KPT_API hipError_t hipMemcpy(void *to, const void *from, size_t bytes, hipMemcpyKind kind) {
    return waited(copy(to, from, bytes, kind, nullptr));
}
KPT_API hipError_t hipMemcpyAsync(void *to, const void *from, size_t bytes, hipMemcpyKind kind, hipStream_t stream) {
    return copy(to, from, bytes, kind, stream);
}
KPT_API hipError_t hipMemcpyWithStream(void *to, const void *from, size_t bytes, hipMemcpyKind kind,
                                       hipStream_t stream) {
    return waited(copy(to, from, bytes, kind, stream), stream);
}
KPT_API hipError_t hipMemcpyHtoD(void *to, const void *from, size_t bytes) {
    return waited(copy(to, from, bytes, hipMemcpyHostToDevice, nullptr));
}
KPT_API hipError_t hipMemcpyDtoH(void *to, void *from, size_t bytes) {
    return waited(copy(to, from, bytes, hipMemcpyDeviceToHost, nullptr));
}
KPT_API hipError_t hipMemcpyDtoD(void *to, void *from, size_t bytes) {
    return waited(copy(to, from, bytes, hipMemcpyDeviceToDevice, nullptr));
}
KPT_API hipError_t hipMemcpyHtoDAsync(void *to, const void *from, size_t bytes, hipStream_t stream) {
    return copy(to, from, bytes, hipMemcpyHostToDevice, stream);
}
KPT_API hipError_t hipMemcpyDtoHAsync(void *to, void *from, size_t bytes, hipStream_t stream) {
    return copy(to, from, bytes, hipMemcpyDeviceToHost, stream);
}
KPT_API hipError_t hipMemcpyDtoDAsync(void *to, void *from, size_t bytes, hipStream_t stream) {
    return copy(to, from, bytes, hipMemcpyDeviceToDevice, stream);
}
KPT_API hipError_t hipMemcpyPeer(void *to, int to_device, const void *from, int from_device, size_t bytes) {
    int devices = config().devices;
    if (to_device < 0 || from_device < 0 || to_device >= devices || from_device >= devices)
        return done(hipErrorInvalidDevice);
    return waited(copy(to, from, bytes, hipMemcpyDeviceToDevice, nullptr));
}
KPT_API hipError_t hipMemcpyPeerAsync(void *to, int to_device, const void *from, int from_device, size_t bytes,
                                      hipStream_t stream) {
    int devices = config().devices;
    if (to_device < 0 || from_device < 0 || to_device >= devices || from_device >= devices)
        return done(hipErrorInvalidDevice);
    return copy(to, from, bytes, hipMemcpyDeviceToDevice, stream);
}

KPT_API hipError_t hipMemcpy2D(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width,
                               size_t height, hipMemcpyKind kind) {
    return waited(copy2d(to, to_pitch, from, from_pitch, width, height, kind, nullptr));
}
KPT_API hipError_t hipMemcpy2DAsync(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width,
                                    size_t height, hipMemcpyKind kind, hipStream_t stream) {
    return copy2d(to, to_pitch, from, from_pitch, width, height, kind, stream);
}

KPT_API hipError_t hipMemcpyToSymbolAsync(const void *symbol, const void *from, size_t bytes, size_t offset,
                                          hipMemcpyKind kind, hipStream_t stream) {
    KPT_ENTER();
    void *to = nullptr;
    if (hipError_t error = in_symbol(symbol, offset, bytes, &to); error != hipSuccess) return done(error);
    return copy(to, from, bytes, kind, stream);
}
KPT_API hipError_t hipMemcpyToSymbol(const void *symbol, const void *from, size_t bytes, size_t offset,
                                     hipMemcpyKind kind) {
    return waited(hipMemcpyToSymbolAsync(symbol, from, bytes, offset, kind, nullptr));
}
KPT_API hipError_t hipMemcpyFromSymbolAsync(void *to, const void *symbol, size_t bytes, size_t offset,
                                            hipMemcpyKind kind, hipStream_t stream) {
    KPT_ENTER();
    void *from = nullptr;
    if (hipError_t error = in_symbol(symbol, offset, bytes, &from); error != hipSuccess) return done(error);
    return copy(to, from, bytes, kind, stream);
}
KPT_API hipError_t hipMemcpyFromSymbol(void *to, const void *symbol, size_t bytes, size_t offset, hipMemcpyKind kind) {
    return waited(hipMemcpyFromSymbolAsync(to, symbol, bytes, offset, kind, nullptr));
}

KPT_API hipError_t hipMemcpy3DAsync(const hipMemcpy3DParms *parameters, hipStream_t stream) {
    KPT_ENTER();
    Operation operation;
    if (!parameters) return done(hipErrorInvalidValue);
    if (hipError_t error = copy3d_operation(*parameters, operation); error != hipSuccess) return done(error);
    return done(submit(stream, std::move(operation)));
}
KPT_API hipError_t hipMemcpy3D(const hipMemcpy3DParms *parameters) {
    return waited(hipMemcpy3DAsync(parameters, nullptr));
}

KPT_API hipError_t hipMemcpy3DPeerAsync(hipMemcpy3DPeerParms *p, hipStream_t stream) {
    if (!p) return done(hipErrorInvalidValue);
    hipMemcpy3DParms same{p->srcArray, p->srcPos, p->srcPtr, p->dstArray,
                          p->dstPos,   p->dstPtr, p->extent, hipMemcpyDefault};
    return hipMemcpy3DAsync(&same, stream);
}
KPT_API hipError_t hipMemcpy3DPeer(hipMemcpy3DPeerParms *p) { return waited(hipMemcpy3DPeerAsync(p, nullptr)); }

KPT_API hipError_t hipMemcpyParam2DAsync(const hip_Memcpy2D *p, hipStream_t stream) {
    KPT_ENTER();
    if (!p) return done(hipErrorInvalidValue);
    HIP_MEMCPY3D wide{};
    wide.srcXInBytes = p->srcXInBytes, wide.srcY = p->srcY, wide.srcMemoryType = p->srcMemoryType;
    wide.srcHost = p->srcHost, wide.srcDevice = p->srcDevice, wide.srcArray = p->srcArray, wide.srcPitch = p->srcPitch;
    wide.dstXInBytes = p->dstXInBytes, wide.dstY = p->dstY, wide.dstMemoryType = p->dstMemoryType;
    wide.dstHost = p->dstHost, wide.dstDevice = p->dstDevice, wide.dstArray = p->dstArray, wide.dstPitch = p->dstPitch;
    wide.WidthInBytes = p->WidthInBytes, wide.Height = p->Height, wide.Depth = 1;
    Operation operation;
    if (hipError_t error = driver_copy3d_operation(wide, operation); error != hipSuccess) return done(error);
    return done(submit(stream, std::move(operation)));
}
KPT_API hipError_t hipMemcpyParam2D(const hip_Memcpy2D *p) { return waited(hipMemcpyParam2DAsync(p, nullptr)); }
KPT_API hipError_t hipDrvMemcpy2DUnaligned(const hip_Memcpy2D *p) { return waited(hipMemcpyParam2DAsync(p, nullptr)); }

KPT_API hipError_t hipDrvMemcpy3DAsync(const HIP_MEMCPY3D *p, hipStream_t stream) {
    KPT_ENTER();
    if (!p) return done(hipErrorInvalidValue);
    Operation operation;
    if (hipError_t error = driver_copy3d_operation(*p, operation); error != hipSuccess) return done(error);
    return done(submit(stream, std::move(operation)));
}
KPT_API hipError_t hipDrvMemcpy3D(const HIP_MEMCPY3D *p) { return waited(hipDrvMemcpy3DAsync(p, nullptr)); }
