/* What torch.cuda's Python code calls, as plain functions. */
#include <c10/core/impl/VirtualGuardImpl.h>
#include <c10/util/Exception.h>

#include <cstring>
#include <string>

#include "capture.h"
#include "device.h"
#include "fallback.h"
#include "generator.h"
#include "memory.h"
#include "profiler.h"
#include "settings.h"

#define KPT_API extern "C" __attribute__((visibility("default")))

/* From libtorch_python; declared here so that Python's headers are not needed. */
struct _object;
_object *THPGenerator_initDefaultGenerator(const at::Generator &generator);

/* From libtorch_cpu; its header brings half of ATen. */
namespace at::native {
void resize_bytes_cpu(c10::StorageImpl *storage, size_t bytes);
}

namespace {

thread_local std::string last_problem;

/* Runs a call that may raise. 0, or -1 with the message in kpt_problem. */
template <class Call> int guarded(Call &&call) {
    try {
        call();
        return 0;
    } catch (const c10::Error &error) {
        last_problem = error.what_without_backtrace();
    } catch (const std::exception &error) {
        last_problem = error.what();
    }
    return -1;
}

} // namespace

using namespace kpt_torch;

KPT_API const char *kpt_problem() { return last_problem.c_str(); }

KPT_API int kpt_install() {
    return guarded([] {
        install_hooks();
        install_allocators();
        register_operators();
        install_profiler();
    });
}

KPT_API int kpt_register_operators() {
    return guarded([] { register_operators(); });
}

KPT_API int kpt_device_count() { return device_count(); }
KPT_API int kpt_current_device() { return current_device(); }
KPT_API int kpt_set_device(int device) {
    return guarded([&] { set_device(device); });
}
KPT_API void kpt_mark_initialized() { mark_initialized(); }
KPT_API int kpt_in_bad_fork() { return in_bad_fork(); }
KPT_API _object *kpt_default_generator(int device) {
    return THPGenerator_initDefaultGenerator(default_generator(device));
}

KPT_API int64_t kpt_current_stream(int device) { return current_stream(device).id(); }
KPT_API void kpt_set_stream(int64_t id, int device) {
    set_current_stream(stream_of(reinterpret_cast<HipStream>(id), device));
}
KPT_API int64_t kpt_new_stream(int device, int priority) {
    int64_t id = -1;
    guarded([&] { id = pooled_stream(device, priority).id(); });
    return id;
}
KPT_API int kpt_stream_priority(int64_t id) {
    int priority = 0;
    hipStreamGetPriority(reinterpret_cast<HipStream>(id), &priority);
    return priority;
}
KPT_API double kpt_elapsed(int64_t first, int64_t second) {
    double milliseconds = -1;
    guarded([&] {
        c10::impl::VirtualGuardImpl guard(c10::kCUDA);
        milliseconds = guard.elapsedTime(reinterpret_cast<void *>(first), reinterpret_cast<void *>(second), 0);
    });
    return milliseconds;
}
KPT_API int kpt_synchronize() {
    return guarded([] { check_hip(hipDeviceSynchronize()); });
}

KPT_API void kpt_memory_figures(int device, int64_t *out) {
    static_assert(sizeof(MemoryFigures) == 18 * sizeof(int64_t));
    MemoryFigures f = figures(device);
    memcpy(out, &f, sizeof f);
}
KPT_API void kpt_reset_peaks(int device) { reset_peaks(device); }
KPT_API void kpt_reset_totals(int device) { reset_totals(device); }
KPT_API void kpt_empty_cache() { empty_cache(); }
KPT_API void kpt_set_memory_fraction(int device, double fraction) { memory_fraction(device) = fraction; }
KPT_API double kpt_memory_fraction(int device) { return memory_fraction(device); }
KPT_API int kpt_memory_info(size_t *free_bytes, size_t *total) {
    return guarded([&] { check_hip(hipMemGetInfo(free_bytes, total)); });
}
KPT_API void *kpt_raw_allocate(size_t bytes) {
    void *data = nullptr;
    guarded([&] { check_hip(hipMalloc(&data, bytes)); });
    return data;
}
KPT_API void kpt_raw_free(void *data) { hipFree(data); }

KPT_API int kpt_resize_storage(void *storage, size_t bytes) {
    return guarded([&] { at::native::resize_bytes_cpu(static_cast<c10::StorageImpl *>(storage), bytes); });
}

KPT_API uint64_t kpt_operator_count() { return all_operator_calls(); }
KPT_API const char *kpt_operator_calls() {
    static thread_local std::string text;
    text = operator_calls();
    return text.c_str();
}

KPT_API int kpt_capturing() { return capturing(); }
KPT_API void *kpt_graph_begin(int device) {
    Graph *graph = nullptr;
    guarded([&] { graph = begin_capture(device); });
    return graph;
}
KPT_API int kpt_graph_end(void *graph) {
    return guarded([&] { end_capture(static_cast<Graph *>(graph)); });
}
KPT_API int kpt_graph_replay(void *graph, int device) {
    return guarded([&] { replay(static_cast<Graph *>(graph), device); });
}
KPT_API void kpt_graph_discard(void *graph) { discard(static_cast<Graph *>(graph)); }
KPT_API void kpt_set_sync_debug_mode(int mode) { sync_debug_mode() = mode; }
KPT_API int kpt_sync_debug_mode() { return sync_debug_mode(); }
KPT_API void kpt_set_open(int open) { set_open(open != 0); }
