// rocm_smi: how many devices there are. Clocks, power and temperature of an emulated GPU do not exist.
#include <cstdint>
#include <dlfcn.h>

namespace {

enum : int { Success = 0, InvalidArguments = 1 };

uint32_t device_count() {
    using Count = int (*)(int *);
    int devices = 0;
    const auto count = reinterpret_cast<Count>(dlsym(RTLD_DEFAULT, "hipGetDeviceCount"));
    return count && count(&devices) == 0 ? static_cast<uint32_t>(devices) : 0;
}

} // namespace

extern "C" {

int rsmi_init(uint64_t) { return Success; }
int rsmi_shut_down() { return Success; }
int rsmi_num_monitor_devices(uint32_t *devices) {
    if (!devices) return InvalidArguments;
    *devices = device_count();
    return Success;
}
int rsmi_status_string(int status, const char **text) {
    if (!text) return InvalidArguments;
    *text = status == Success ? "RSMI_STATUS_SUCCESS: The function has been executed successfully."
                              : "the emulated GPU does not have this";
    return Success;
}
}
