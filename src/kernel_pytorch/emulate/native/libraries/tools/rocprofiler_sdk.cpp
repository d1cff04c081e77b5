// rocprofiler-sdk: frameworks register as a tool when they are loaded, and ask the time. Nothing is recorded: a tool is
// told that profiling is not there, and is never called back.
#include <chrono>
#include <cstdint>

namespace {
constexpr int success = 0, invalid_argument = 19, not_implemented = 17;
}

extern "C" {

int rocprofiler_get_version(uint32_t *major, uint32_t *minor, uint32_t *patch) {
    if (major) *major = 1;
    if (minor) *minor = 1;
    if (patch) *patch = 0;
    return success;
}
int rocprofiler_get_timestamp(uint64_t *nanoseconds) {
    using namespace std::chrono;
    if (!nanoseconds) return invalid_argument;
    *nanoseconds = uint64_t(duration_cast<std::chrono::nanoseconds>(steady_clock::now().time_since_epoch()).count());
    return success;
}
const char *rocprofiler_get_status_string(int status) {
    return status == success ? "success" : "the emulator records no profile";
}
// Called while a library is loaded, by every program: no line about it.
int rocprofiler_force_configure(void *) { return not_implemented; }
int rocprofiler_is_initialized(int *status) {
    if (status) *status = 0;
    return success;
}
int rocprofiler_context_is_valid(uint64_t, int *status) {
    if (status) *status = 0;
    return success;
}
int rocprofiler_context_is_active(uint64_t, int *status) {
    if (status) *status = 0;
    return success;
}
}
