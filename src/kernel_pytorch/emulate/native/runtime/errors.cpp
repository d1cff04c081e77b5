#include "errors.h"

#include <atomic>

#include "config.h"

namespace kpt {
namespace {
std::atomic<int> sticky{0};
}

ThreadState &self() {
    static thread_local ThreadState state;
    return state;
}

hipError_t stuck() { return hipError_t(sticky.load(std::memory_order_relaxed)); }

void stick(hipError_t error) {
    int none = 0;
    sticky.compare_exchange_strong(none, int(error));
}

void unstick() { sticky = 0; }

hipError_t enter() {
    if (!config().usable) return hipErrorNoDevice;
    return stuck();
}

const char *error_name(hipError_t error) {
    switch (error) {
#define X(name, value, text)                                                                                           \
    case name: return #name;
#include "error_table.h"
#undef X
    }
    return "hipErrorUnknown";
}

static const char *error_text(hipError_t error) {
    switch (error) {
#define X(name, value, text)                                                                                           \
    case name: return text;
#include "error_table.h"
#undef X
    }
    return "unknown error";
}

} // namespace kpt

using namespace kpt;

KPT_API const char *hipGetErrorName(hipError_t error) { return error_name(error); }
KPT_API const char *hipGetErrorString(hipError_t error) { return error_text(error); }

KPT_API hipError_t hipDrvGetErrorName(hipError_t error, const char **out) {
    if (!out) return hipErrorInvalidValue;
    *out = error_name(error);
    return hipSuccess;
}

KPT_API hipError_t hipDrvGetErrorString(hipError_t error, const char **out) {
    if (!out) return hipErrorInvalidValue;
    *out = error_text(error);
    return hipSuccess;
}

KPT_API hipError_t hipGetLastError() {
    if (stuck() != hipSuccess) return stuck();
    hipError_t error = self().last;
    self().last = hipSuccess;
    return error;
}

KPT_API hipError_t hipExtGetLastError() { return hipGetLastError(); }

KPT_API hipError_t hipPeekAtLastError() { return stuck() != hipSuccess ? stuck() : self().last; }
