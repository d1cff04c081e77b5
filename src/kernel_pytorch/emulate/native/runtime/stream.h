/* Streams, events and the capture of streams into graphs. */
#ifndef KPT_STREAM_H
#define KPT_STREAM_H

#include <pthread.h>

#include <cstdint>
#include <vector>

#include "hip_abi.h"
#include "operation.h"
#include "pending.h"
#include "stream_order.h"

namespace kpt {

struct Capture {
    hipGraph_t graph = nullptr;
    ihipStream_t *origin = nullptr;
    std::vector<ihipStream_t *> streams;
    int mode = 0;
    pthread_t thread;
    hipStreamCaptureStatus status = hipStreamCaptureStatusActive;
    uint64_t id = 0;
    bool owns_graph = true;
};

} // namespace kpt

struct ihipStream_t {
    uint32_t magic = 0;
    uint64_t id = 0;
    int device = 0;
    unsigned flags = 0;
    int priority = 0;
    bool blocking = true; /* waits for the default stream's work, and the other way round */
    kpt::Capture *capture = nullptr;
    std::vector<hipGraphNode *> tips; /* what the next captured operation depends on */
};

struct ihipEvent_t {
    uint32_t magic = 0;
    unsigned flags = 0;
    bool recorded = false;
    int device = 0;
    double time = 0;
    kpt::Capture *capture = nullptr; /* recorded in this capture, not yet run */
    std::vector<hipGraphNode *> tips;
    kpt::Clock clock;  /* what was done when it was recorded */
    kpt::ItemRef work; /* what it comes after, where that has not been done */
};

namespace kpt {

/* The stream behind a handle: null is the legacy default stream, 1 too, 2 that of the thread. Null: no stream. */
ihipStream_t *resolve(hipStream_t stream);
bool is_event(hipEvent_t event);
void record_now(hipEvent_t event);
/* Puts it behind what the stream has been given. */
hipError_t record(hipEvent_t event, hipStream_t stream);
/* Fails calls that cannot be made while the stream captures, and ends such a capture as invalid. */
hipError_t not_while_capturing(ihipStream_t *stream);

} // namespace kpt
#endif
