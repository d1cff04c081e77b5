// rocm_smi: how many devices there are, and their places on the bus. Clocks, power and temperature of an emulated GPU do not exist.
#include <cstdint>
#include <dlfcn.h>

namespace {

enum : int { Success = 0, InvalidArguments = 1, NotSupported = 2 };

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
// As the runtime places them: 0000:01:00.0 and on.
int rsmi_dev_pci_id_get(uint32_t device, uint64_t *place) {
    if (!place || device >= device_count()) return InvalidArguments;
    *place = uint64_t(device + 1) << 8;
    return Success;
}
// No hive of linked GPUs, and no sensors: frameworks ask each time they start, and have an answer of their own.
int rsmi_dev_xgmi_hive_id_get(uint32_t device, uint64_t *hive) {
    if (!hive || device >= device_count()) return InvalidArguments;
    *hive = 0;
    return Success;
}
int rsmi_dev_gpu_metrics_info_get(uint32_t, void *) { return NotSupported; }
int rsmi_status_string(int status, const char **text) {
    if (!text) return InvalidArguments;
    *text = status == Success ? "RSMI_STATUS_SUCCESS: The function has been executed successfully."
                              : "the emulated GPU does not have this";
    return Success;
}
}
