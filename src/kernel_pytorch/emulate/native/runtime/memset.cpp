/* hipMemset in its forms. */
#include <cstring>

#include "config.h"
#include "errors.h"
#include "memory.h"
#include "operation.h"

namespace kpt {
namespace {

void fill_row(uint64_t at, uint32_t value, uint32_t element, uint64_t count) {
    if (element == 1) {
        memset(reinterpret_cast<void *>(at), int(value), count);
    } else if (element == 2) {
        auto *row = reinterpret_cast<uint16_t *>(at);
        for (uint64_t i = 0; i < count; i++) row[i] = uint16_t(value);
    } else {
        auto *row = reinterpret_cast<uint32_t *>(at);
        for (uint64_t i = 0; i < count; i++) row[i] = value;
    }
}

hipError_t set(void *to, uint32_t value, uint32_t element, uint64_t pitch, uint64_t width, uint64_t height,
               uint64_t depth, uint64_t slice, hipStream_t stream) {
    KPT_ENTER();
    if (width && height && depth && !to) return done(hipErrorInvalidValue);
    Operation operation;
    operation.type = hipGraphNodeTypeMemset;
    operation.set = {{uint64_t(to), pitch, slice}, value, element, width, height, depth};
    return done(submit(stream, std::move(operation)));
}

} // namespace

hipError_t run_set(const Set &s) {
    if (!s.width || !s.height || !s.depth) return hipSuccess;
    uint64_t row = s.width * s.element, extent = (s.depth - 1) * s.to.slice + (s.height - 1) * s.to.pitch + row;
    Allocation *a = find(s.to.at);
    if (!a || a->base + a->bytes - s.to.at < extent) {
        bool freed;
        say("hipMemset: %llu bytes do not fit: the destination is %s", (unsigned long long)extent,
            describe(s.to.at, freed).c_str());
        return hipErrorInvalidValue;
    }
    if (s.to.at % s.element) return hipErrorInvalidValue;
    for (uint64_t z = 0; z < s.depth; z++)
        for (uint64_t y = 0; y < s.height; y++) {
            uint64_t at = s.to.at + z * s.to.slice + y * s.to.pitch;
            fill_row(at, s.value, s.element, s.width);
            note_written(at, row);
        }
    return hipSuccess;
}

} // namespace kpt

using namespace kpt;

KPT_API hipError_t hipMemset(void *to, int value, size_t bytes) {
    return set(to, uint8_t(value), 1, bytes, bytes, 1, 1, 0, nullptr);
}
KPT_API hipError_t hipMemsetAsync(void *to, int value, size_t bytes, hipStream_t stream) {
    return set(to, uint8_t(value), 1, bytes, bytes, 1, 1, 0, stream);
}
KPT_API hipError_t hipMemsetD8(void *to, unsigned char value, size_t count) {
    return set(to, value, 1, count, count, 1, 1, 0, nullptr);
}
KPT_API hipError_t hipMemsetD8Async(void *to, unsigned char value, size_t count, hipStream_t stream) {
    return set(to, value, 1, count, count, 1, 1, 0, stream);
}
KPT_API hipError_t hipMemsetD16(void *to, unsigned short value, size_t count) {
    return set(to, value, 2, count * 2, count, 1, 1, 0, nullptr);
}
KPT_API hipError_t hipMemsetD16Async(void *to, unsigned short value, size_t count, hipStream_t stream) {
    return set(to, value, 2, count * 2, count, 1, 1, 0, stream);
}
KPT_API hipError_t hipMemsetD32(void *to, int value, size_t count) {
    return set(to, uint32_t(value), 4, count * 4, count, 1, 1, 0, nullptr);
}
KPT_API hipError_t hipMemsetD32Async(void *to, int value, size_t count, hipStream_t stream) {
    return set(to, uint32_t(value), 4, count * 4, count, 1, 1, 0, stream);
}
KPT_API hipError_t hipMemset2D(void *to, size_t pitch, int value, size_t width, size_t height) {
    return set(to, uint8_t(value), 1, pitch, width, height, 1, 0, nullptr);
}
KPT_API hipError_t hipMemset2DAsync(void *to, size_t pitch, int value, size_t width, size_t height,
                                    hipStream_t stream) {
    return set(to, uint8_t(value), 1, pitch, width, height, 1, 0, stream);
}
KPT_API hipError_t hipMemset3DAsync(hipPitchedPtr to, int value, hipExtent e, hipStream_t stream) {
    return set(to.ptr, uint8_t(value), 1, to.pitch, e.width, e.height, e.depth, to.pitch * to.ysize, stream);
}
KPT_API hipError_t hipMemset3D(hipPitchedPtr to, int value, hipExtent e) {
    return hipMemset3DAsync(to, value, e, nullptr);
}

#define KPT_SET_2D(name, type, element)                                                                                \
    KPT_API hipError_t name##Async(void *to, size_t pitch, type value, size_t width, size_t height,                    \
                                   hipStream_t stream) {                                                               \
        return set(to, uint32_t(value), element, pitch, width, height, 1, 0, stream);                                  \
    }                                                                                                                  \
    KPT_API hipError_t name(void *to, size_t pitch, type value, size_t width, size_t height) {                         \
        return set(to, uint32_t(value), element, pitch, width, height, 1, 0, nullptr);                                 \
    }
KPT_SET_2D(hipMemsetD2D8, unsigned char, 1)
KPT_SET_2D(hipMemsetD2D16, unsigned short, 2)
KPT_SET_2D(hipMemsetD2D32, unsigned, 4)
