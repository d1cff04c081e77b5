/* Capture of streams into graphs. */
#include <algorithm>
#include <atomic>

#include "errors.h"
#include "graph.h"
#include "stream.h"

namespace kpt {
namespace {

std::atomic<uint64_t> captures{0};
thread_local int thread_mode = 0;

hipError_t begin(hipStream_t handle, int mode, hipGraph_t graph, const hipGraphNode_t *dependencies, size_t count) {
    ihipStream_t *stream = resolve(handle);
    if (!stream || mode < 0 || mode > 2) return hipErrorInvalidValue;
    /* The legacy default stream cannot be captured. */
    if (!handle || handle == reinterpret_cast<hipStream_t>(1)) return hipErrorStreamCaptureUnsupported;
    if (stream->capture) return hipErrorIllegalState;
    auto *capture = new Capture;
    capture->owns_graph = graph == nullptr;
    capture->graph = graph ? graph : new ihipGraph;
    capture->origin = stream;
    capture->streams = {stream};
    capture->mode = mode;
    capture->thread = pthread_self();
    capture->id = ++captures;
    stream->capture = capture;
    stream->tips.assign(dependencies, dependencies + count);
    return hipSuccess;
}

bool leads_to(hipGraphNode *from, const std::vector<hipGraphNode *> &ends) {
    std::vector<hipGraphNode *> open = ends;
    for (size_t i = 0; i < open.size(); i++) {
        if (open[i] == from) return true;
        for (hipGraphNode *before : open[i]->dependencies)
            if (std::find(open.begin(), open.end(), before) == open.end()) open.push_back(before);
    }
    return false;
}

hipError_t end(hipStream_t handle, hipGraph_t *graph) {
    ihipStream_t *stream = resolve(handle);
    if (!stream || !graph) return hipErrorInvalidValue;
    *graph = nullptr;
    Capture *capture = stream->capture;
    if (!capture) return hipErrorIllegalState;
    if (capture->origin != stream) return hipErrorStreamCaptureUnmatched;
    if (capture->mode != 2 && !pthread_equal(capture->thread, pthread_self())) return hipErrorStreamCaptureWrongThread;
    hipError_t error = capture->status == hipStreamCaptureStatusActive ? hipSuccess : hipErrorStreamCaptureInvalidated;
    for (ihipStream_t *joined : capture->streams)
        for (hipGraphNode *tip : joined->tips)
            if (error == hipSuccess && joined != stream && !leads_to(tip, stream->tips))
                error = hipErrorStreamCaptureUnjoined;
    for (ihipStream_t *joined : capture->streams) {
        joined->capture = nullptr;
        joined->tips.clear();
    }
    if (error == hipSuccess)
        *graph = capture->graph;
    else if (capture->owns_graph)
        delete_graph(capture->graph);
    delete capture;
    return error;
}

} // namespace
} // namespace kpt

using namespace kpt;

KPT_API hipError_t hipStreamBeginCapture(hipStream_t stream, int mode) {
    KPT_ENTER();
    return done(begin(stream, mode, nullptr, nullptr, 0));
}

KPT_API hipError_t hipStreamBeginCaptureToGraph(hipStream_t stream, hipGraph_t graph,
                                                const hipGraphNode_t *dependencies, const void *, size_t count,
                                                int mode) {
    KPT_ENTER();
    if (!graph || (count && !dependencies)) return done(hipErrorInvalidValue);
    return done(begin(stream, mode, graph, dependencies, count));
}

KPT_API hipError_t hipStreamEndCapture(hipStream_t stream, hipGraph_t *graph) {
    KPT_ENTER();
    return done(end(stream, graph));
}

KPT_API hipError_t hipStreamGetCaptureInfo_v2(hipStream_t handle, hipStreamCaptureStatus *status,
                                              unsigned long long *id, hipGraph_t *graph,
                                              const hipGraphNode_t **dependencies, size_t *count) {
    KPT_ENTER();
    ihipStream_t *stream = resolve(handle);
    if (!stream || !status) return done(hipErrorInvalidValue);
    Capture *capture = stream->capture;
    *status = capture ? capture->status : hipStreamCaptureStatusNone;
    if (!capture) return done(hipSuccess);
    if (id) *id = capture->id;
    if (graph) *graph = capture->graph;
    if (dependencies) *dependencies = stream->tips.data();
    if (count) *count = stream->tips.size();
    return done(hipSuccess);
}

KPT_API hipError_t hipStreamGetCaptureInfo(hipStream_t stream, hipStreamCaptureStatus *status, unsigned long long *id) {
    return hipStreamGetCaptureInfo_v2(stream, status, id, nullptr, nullptr, nullptr);
}

KPT_API hipError_t hipStreamIsCapturing(hipStream_t stream, hipStreamCaptureStatus *status) {
    return hipStreamGetCaptureInfo_v2(stream, status, nullptr, nullptr, nullptr, nullptr);
}

KPT_API hipError_t hipStreamUpdateCaptureDependencies(hipStream_t handle, hipGraphNode_t *nodes, size_t count,
                                                      unsigned flags) {
    KPT_ENTER();
    ihipStream_t *stream = resolve(handle);
    if (!stream || (count && !nodes) || flags > 1) return done(hipErrorInvalidValue);
    if (!stream->capture) return done(hipErrorIllegalState);
    if (flags == 1) stream->tips.clear();
    stream->tips.insert(stream->tips.end(), nodes, nodes + count);
    return done(hipSuccess);
}

KPT_API hipError_t hipThreadExchangeStreamCaptureMode(int *mode) {
    KPT_ENTER();
    if (!mode || *mode < 0 || *mode > 2) return done(hipErrorInvalidValue);
    std::swap(*mode, thread_mode);
    return done(hipSuccess);
}
