// amd_smi: an emulated GPU has no sensors, links or sockets that could be read.
#include <cstdint>

namespace {
enum : int { Success = 0, InvalidArguments = 1, NotSupported = 2 };
}

extern "C" {

int amdsmi_init(uint64_t) { return Success; }
int amdsmi_shut_down() { return Success; }
int amdsmi_get_socket_handles(uint32_t *count, void **) {
    if (!count) return InvalidArguments;
    *count = 0;
    return Success;
}
int amdsmi_get_processor_handles(void *, uint32_t *count, void **) {
    if (!count) return InvalidArguments;
    *count = 0;
    return Success;
}
int amdsmi_get_processor_handle_from_bdf(uint64_t, void **) { return NotSupported; }
int amdsmi_status_code_to_string(int status, const char **text) {
    if (!text) return InvalidArguments;
    *text = status == Success ? "AMDSMI_STATUS_SUCCESS: Call succeeded." : "the emulated GPU does not have this";
    return Success;
}
}
