// The layer below HIP. Frameworks ask it for what HIP does not have (dma-buf handles, pinning to a node), and go on
// without it where the driver is not there: that is what they are told. HIP itself does not need it here.
#include <cstdint>

namespace {
constexpr int success = 0, no_driver = 0x1008; // HSA_STATUS_ERROR_OUT_OF_RESOURCES, as without /dev/kfd
}

extern "C" {

int hsa_init() { return no_driver; }
int hsa_shut_down() { return success; }
int hsa_status_string(int status, const char **text) {
    *text = status == success ? "HSA_STATUS_SUCCESS: The function has been executed successfully."
                              : "the emulator has HIP, and no HSA below it";
    return success;
}
int hsa_iterate_agents(void *, void *) { return success; }
}
