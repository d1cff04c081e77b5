#include "stream.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <mutex>
#include <set>

#include "config.h"
#include "errors.h"
#include "graph.h"
#include "memory.h"
#include "pending.h"

namespace kpt {
namespace {

const uint32_t STREAM_MAGIC = 0x6b707453;
std::atomic<uint64_t> stream_count{0};

ihipStream_t *make(int device, unsigned flags, int priority) {
    auto *stream = new ihipStream_t;
    stream->magic = STREAM_MAGIC;
    stream->id = ++stream_count;
    stream->device = device;
    stream->flags = flags;
    stream->blocking = !(flags & 1);
    stream->priority = priority;
    return stream;
}

ihipStream_t *default_stream() {
    static ihipStream_t *stream = [] {
        auto *made = make(0, 0, 0);
        made->id = 0;
        return made;
    }();
    return stream;
}

/* Handles a program may still hold after hipStreamDestroy. */
struct KnownStreams {
    std::mutex mutex;
    std::set<ihipStream_t *> streams;
};
KnownStreams &known_streams() {
    static KnownStreams *value = new KnownStreams;
    return *value;
}

} // namespace

ihipStream_t *resolve(hipStream_t handle) {
    if (!handle || handle == reinterpret_cast<hipStream_t>(1)) return default_stream();
    if (handle == reinterpret_cast<hipStream_t>(2)) {
        static thread_local ihipStream_t *own = [] {
            ihipStream_t *made = make(self().device, 1, 0);
            made->blocking = true;
            return made;
        }();
        return own;
    }
    if (handle == default_stream()) return handle;
    std::lock_guard<std::mutex> lock(known_streams().mutex);
    return known_streams().streams.count(handle) ? handle : nullptr;
}

hipError_t not_while_capturing(ihipStream_t *stream) {
    if (!stream->capture) return hipSuccess;
    stream->capture->status = hipStreamCaptureStatusInvalidated;
    return hipErrorStreamCaptureUnsupported;
}

hipError_t submit(hipStream_t handle, Operation &&operation) {
    ihipStream_t *stream = resolve(handle);
    if (!stream) return hipErrorInvalidHandle;
    operation.launch.stream = stream->id;
    if (!stream->capture) {
        WorkOfStream work(stream, self().device, "a copy");
        return give(stream, self().device, std::move(operation));
    }
    if (stream->capture->status == hipStreamCaptureStatusInvalidated) return hipErrorStreamCaptureInvalidated;
    hipGraphNode *node = add_node(stream->capture->graph, stream->tips, std::move(operation));
    stream->tips = {node};
    return hipSuccess;
}

hipError_t execute(const Operation &o, bool background, std::unique_ptr<Launch> &rest) {
    switch (o.type) {
    case hipGraphNodeTypeKernel: return begin_launch(o.launch, background, rest);
    case hipGraphNodeTypeMemcpy: touches_of_copy(o.copy); return run_copy(o.copy);
    case hipGraphNodeTypeMemset: touches_of_set(o.set); return run_set(o.set);
    case hipGraphNodeTypeHost:
        if (o.callback)
            o.callback(o.callback_stream, stuck(), o.host.userData);
        else
            o.host.fn(o.host.userData);
        return hipSuccess;
    case hipGraphNodeTypeEventRecord:
        if (is_event(o.event)) record_now(o.event);
        return hipSuccess;
    case hipGraphNodeTypeMemFree: return release(uint64_t(o.freed)) ? hipSuccess : hipErrorInvalidValue;
    case hipGraphNodeTypeMemAlloc: /* there since the node was made, unless somebody freed it after a launch */
        return allocate_again(uint64_t(o.memory.dptr)) ? hipSuccess : hipErrorOutOfMemory;
    case hipGraphNodeTypeEmpty:
        if (o.action) o.action();
        return hipSuccess;
    case hipGraphNodeTypeGraph:
    case hipGraphNodeTypeWaitEvent: return hipSuccess;
    }
    return hipErrorInvalidValue;
}

} // namespace kpt

using namespace kpt;

KPT_API hipError_t hipStreamCreateWithPriority(hipStream_t *stream, unsigned flags, int priority) {
    KPT_ENTER();
    if (!stream || flags > 1) return done(hipErrorInvalidValue);
    *stream = make(self().device, flags, std::max(-1, std::min(1, priority)));
    std::lock_guard<std::mutex> lock(known_streams().mutex);
    known_streams().streams.insert(*stream);
    return done(hipSuccess);
}

KPT_API hipError_t hipStreamCreateWithFlags(hipStream_t *stream, unsigned flags) {
    return hipStreamCreateWithPriority(stream, flags, 0);
}

KPT_API hipError_t hipStreamCreate(hipStream_t *stream) { return hipStreamCreateWithPriority(stream, 0, 0); }

KPT_API hipError_t hipExtStreamCreateWithCUMask(hipStream_t *stream, uint32_t, const uint32_t *) {
    return hipStreamCreateWithPriority(stream, 0, 0);
}

KPT_API hipError_t hipStreamDestroy(hipStream_t stream) {
    KPT_ENTER();
    if (!stream) return done(hipErrorInvalidHandle);
    std::lock_guard<std::mutex> lock(known_streams().mutex);
    if (!known_streams().streams.erase(stream)) return done(hipErrorInvalidHandle);
    if (stream->capture) {
        auto &joined = stream->capture->streams;
        joined.erase(std::remove(joined.begin(), joined.end(), stream), joined.end());
    }
    delete stream;
    return done(hipSuccess);
}

KPT_API hipError_t hipStreamSynchronize(hipStream_t handle) {
    KPT_ENTER();
    ihipStream_t *stream = resolve(handle);
    if (!stream) return done(hipErrorInvalidHandle);
    if (hipError_t error = not_while_capturing(stream); error != hipSuccess) return done(error);
    finish(stream, self().device, "hipStreamSynchronize");
    host_waits_for(stream, self().device);
    return done(stuck());
}

KPT_API hipError_t hipStreamQuery(hipStream_t handle) {
    KPT_ENTER();
    ihipStream_t *stream = resolve(handle);
    if (!stream) return done(hipErrorInvalidHandle);
    if (hipError_t error = not_while_capturing(stream); error != hipSuccess) return done(error);
    if (is_pending(last_of(stream, self().device))) return done(hipErrorNotReady);
    host_waits_for(stream, self().device);
    return done(stuck());
}

KPT_API hipError_t hipStreamGetFlags(hipStream_t handle, unsigned *flags) {
    KPT_ENTER();
    ihipStream_t *stream = resolve(handle);
    if (!stream || !flags) return done(hipErrorInvalidValue);
    *flags = stream->flags;
    return done(hipSuccess);
}

KPT_API hipError_t hipStreamGetPriority(hipStream_t handle, int *priority) {
    KPT_ENTER();
    ihipStream_t *stream = resolve(handle);
    if (!stream || !priority) return done(hipErrorInvalidValue);
    *priority = stream->priority;
    return done(hipSuccess);
}

KPT_API hipError_t hipStreamGetDevice(hipStream_t handle, hipDevice_t *device) {
    KPT_ENTER();
    ihipStream_t *stream = resolve(handle);
    if (!stream || !device) return done(hipErrorInvalidValue);
    *device = stream == default_stream() ? self().device : stream->device;
    return done(hipSuccess);
}

KPT_API int hipGetStreamDeviceId(hipStream_t handle) {
    ihipStream_t *stream = resolve(handle);
    return stream ? stream->device : -1;
}

KPT_API hipError_t hipStreamGetId(hipStream_t handle, unsigned long long *id) {
    KPT_ENTER();
    ihipStream_t *stream = resolve(handle);
    if (!stream || !id) return done(hipErrorInvalidValue);
    *id = stream->id;
    return done(hipSuccess);
}

KPT_API hipError_t hipDeviceGetStreamPriorityRange(int *least, int *greatest) {
    KPT_ENTER();
    if (least) *least = 1;
    if (greatest) *greatest = -1;
    return done(hipSuccess);
}

/* A function of the host that a stream has called can tell the rest of the program so, in ways that are not seen here. */
static hipError_t told(hipStream_t handle, hipError_t error) {
    ihipStream_t *stream = resolve(handle);
    if (stream && !stream->capture && !last_of(stream, self().device)) host_waits_for(stream, self().device);
    return error;
}

KPT_API hipError_t hipStreamAddCallback(hipStream_t stream, hipStreamCallback_t callback, void *data, unsigned flags) {
    KPT_ENTER();
    if (!callback || flags) return done(hipErrorInvalidValue);
    Operation operation;
    operation.type = hipGraphNodeTypeHost;
    operation.callback = callback;
    operation.callback_stream = stream;
    operation.host.userData = data;
    return done(told(stream, submit(stream, std::move(operation))));
}

KPT_API hipError_t hipLaunchHostFunc(hipStream_t stream, hipHostFn_t function, void *data) {
    KPT_ENTER();
    if (!function) return done(hipErrorInvalidValue);
    Operation operation;
    operation.type = hipGraphNodeTypeHost;
    operation.host = {function, data};
    return done(told(stream, submit(stream, std::move(operation))));
}

KPT_API hipError_t hipStreamAttachMemAsync(hipStream_t stream, void *, size_t, unsigned) {
    KPT_ENTER();
    return done(resolve(stream) ? hipSuccess : hipErrorInvalidHandle);
}

template <class T>
static hipError_t wait_value(hipStream_t handle, void *address, T value, unsigned flags, T mask) {
    KPT_ENTER();
    ihipStream_t *stream = resolve(handle);
    if (!address || flags > 3 || !stream) return done(hipErrorInvalidValue);
    if (hipError_t error = not_while_capturing(stream); error != hipSuccess) return done(error);
    auto holds = [=] {
        const T now = *static_cast<volatile T *>(address) & mask;
        return flags == 0   ? now >= value
               : flags == 1 ? now == value
               : flags == 2 ? (now & value) != 0
                            : ~(now | value) != 0;
    };
    /* Who wrote the value is not known: any work may be what is waited for. */
    for (int device = 0; device < config().devices; device++) host_waits_for_device(device);
    if (holds() && !last_of(stream, self().device)) return done(hipSuccess);
    Operation operation;
    operation.until = holds;
    return done(submit(handle, std::move(operation)));
}

KPT_API hipError_t hipStreamWaitValue32(hipStream_t stream, void *address, uint32_t value, unsigned flags,
                                        uint32_t mask) {
    return wait_value(stream, address, value, flags, mask);
}
KPT_API hipError_t hipStreamWaitValue64(hipStream_t stream, void *address, uint64_t value, unsigned flags,
                                        uint64_t mask) {
    return wait_value(stream, address, value, flags, mask);
}

template <class T>
static hipError_t write_value(hipStream_t handle, void *address, T value) {
    KPT_ENTER();
    ihipStream_t *stream = resolve(handle);
    if (!address || !stream) return done(hipErrorInvalidValue);
    if (hipError_t error = not_while_capturing(stream); error != hipSuccess) return done(error);
    Operation operation;
    operation.action = [=] {
        *static_cast<volatile T *>(address) = value;
        note_written(uint64_t(address), sizeof value);
    };
    return done(submit(handle, std::move(operation)));
}

KPT_API hipError_t hipStreamWriteValue32(hipStream_t stream, void *address, uint32_t value, unsigned) {
    return write_value(stream, address, value);
}
KPT_API hipError_t hipStreamWriteValue64(hipStream_t stream, void *address, uint64_t value, unsigned) {
    return write_value(stream, address, value);
}
