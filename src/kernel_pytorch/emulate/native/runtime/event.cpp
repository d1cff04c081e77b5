#include <time.h>

#include <algorithm>
#include <mutex>
#include <set>

#include "errors.h"
#include "pending.h"
#include "stream.h"

namespace kpt {
namespace {

struct KnownEvents {
    std::mutex mutex;
    std::set<hipEvent_t> events;
};
KnownEvents &known_events() {
    static KnownEvents *value = new KnownEvents;
    return *value;
}

enum { DISABLE_TIMING = 2 };

} // namespace

bool is_event(hipEvent_t event) {
    std::lock_guard<std::mutex> lock(known_events().mutex);
    return known_events().events.count(event) != 0;
}

void record_now(hipEvent_t event) {
    timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    event->time = double(time.tv_sec) * 1e3 + double(time.tv_nsec) * 1e-6;
    event->recorded = true;
    event->capture = nullptr;
}

hipError_t record(hipEvent_t event, hipStream_t handle) {
    ihipStream_t *stream = resolve(handle);
    if (!stream) return hipErrorInvalidHandle;
    if (!stream->capture) event_follows(event, stream, self().device);
    Operation operation;
    operation.type = hipGraphNodeTypeEventRecord;
    operation.event = event;
    const hipError_t error = submit(handle, std::move(operation));
    event->work = stream->capture ? nullptr : last_of(stream, self().device);
    return error;
}

} // namespace kpt

using namespace kpt;

KPT_API hipError_t hipEventCreateWithFlags(hipEvent_t *event, unsigned flags) {
    KPT_ENTER();
    if (!event) return done(hipErrorInvalidValue);
    *event = new ihipEvent_t;
    (*event)->flags = flags;
    (*event)->device = self().device;
    std::lock_guard<std::mutex> lock(known_events().mutex);
    known_events().events.insert(*event);
    return done(hipSuccess);
}

KPT_API hipError_t hipEventCreate(hipEvent_t *event) { return hipEventCreateWithFlags(event, 0); }

KPT_API hipError_t hipEventDestroy(hipEvent_t event) {
    KPT_ENTER();
    if (!event) return done(hipErrorInvalidHandle);
    std::lock_guard<std::mutex> lock(known_events().mutex);
    if (!known_events().events.erase(event)) return done(hipErrorInvalidHandle);
    delete event;
    return done(hipSuccess);
}

KPT_API hipError_t hipEventRecordWithFlags(hipEvent_t event, hipStream_t handle, unsigned flags) {
    KPT_ENTER();
    ihipStream_t *stream = resolve(handle);
    if (!event || !is_event(event) || !stream) return done(hipErrorInvalidHandle);
    if (stream->capture && !(flags & 1)) {
        event->capture = stream->capture;
        event->tips = stream->tips;
        return done(hipSuccess);
    }
    return done(record(event, handle));
}

KPT_API hipError_t hipEventRecord(hipEvent_t event, hipStream_t stream) {
    return hipEventRecordWithFlags(event, stream, 0);
}

KPT_API hipError_t hipEventSynchronize(hipEvent_t event) {
    KPT_ENTER();
    if (!event || !is_event(event)) return done(hipErrorInvalidHandle);
    if (event->capture) return done(hipErrorCapturedEvent);
    finish(event->work, "hipEventSynchronize");
    host_waits_for(event);
    return done(stuck());
}

KPT_API hipError_t hipEventQuery(hipEvent_t event) {
    KPT_ENTER();
    if (!event || !is_event(event)) return done(hipErrorInvalidHandle);
    if (event->capture) return done(hipErrorCapturedEvent);
    if (is_pending(event->work)) return done(hipErrorNotReady);
    host_waits_for(event);
    return done(stuck());
}

KPT_API hipError_t hipEventElapsedTime(float *milliseconds, hipEvent_t start, hipEvent_t stop) {
    KPT_ENTER();
    if (!milliseconds) return done(hipErrorInvalidValue);
    if (!start || !stop || !is_event(start) || !is_event(stop)) return done(hipErrorInvalidHandle);
    if (is_pending(start->work) || is_pending(stop->work)) return done(hipErrorNotReady);
    if (!start->recorded || !stop->recorded || ((start->flags | stop->flags) & DISABLE_TIMING))
        return done(hipErrorInvalidHandle);
    *milliseconds = float(stop->time - start->time);
    return done(hipSuccess);
}

KPT_API hipError_t hipStreamWaitEvent(hipStream_t handle, hipEvent_t event, unsigned) {
    KPT_ENTER();
    ihipStream_t *stream = resolve(handle);
    if (!event || !is_event(event) || !stream) return done(hipErrorInvalidHandle);
    if (!event->capture) {
        if (stream->capture) return done(hipSuccess);
        stream_waits_for(stream, self().device, event);
        follow(stream, self().device, event->work);
        return done(hipSuccess);
    }
    /* Waiting for an event of a capture makes a stream part of it. */
    if (stream->capture && stream->capture != event->capture) return done(hipErrorStreamCaptureMerge);
    if (!stream->capture) {
        stream->capture = event->capture;
        stream->capture->streams.push_back(stream);
        stream->tips.clear();
    }
    for (hipGraphNode *tip : event->tips)
        if (std::find(stream->tips.begin(), stream->tips.end(), tip) == stream->tips.end()) stream->tips.push_back(tip);
    return done(hipSuccess);
}
