// roctracer: frameworks start and stop it, and ask the time. Nothing is recorded: what would record says so.
#include <chrono>
#include <cstdint>

extern "C" {

uint32_t roctracer_version_major() { return 4; }
uint32_t roctracer_version_minor() { return 1; }
void roctracer_start() {}
void roctracer_stop() {}
const char *roctracer_error_string() { return "the emulator records no trace"; }
int roctracer_activity_push_external_correlation_id(uint64_t) { return 0; }
int roctracer_activity_pop_external_correlation_id(uint64_t *last) {
    if (last) *last = 0;
    return 0;
}
int roctracer_get_timestamp(uint64_t *nanoseconds) {
    using namespace std::chrono;
    *nanoseconds = uint64_t(duration_cast<std::chrono::nanoseconds>(steady_clock::now().time_since_epoch()).count());
    return 0;
}
}
