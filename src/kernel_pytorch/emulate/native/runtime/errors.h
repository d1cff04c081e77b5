/* The last error of each thread and the errors that stick to a device after a fault. */
#ifndef KPT_ERRORS_H
#define KPT_ERRORS_H

#include "hip_abi.h"

namespace kpt {

/* What the API keeps per host thread. */
struct ThreadState {
    hipError_t last = hipSuccess;
    int device = 0;
};
ThreadState &self();

/* The error every later call returns after a fault on the device, until hipDeviceReset. */
hipError_t stuck();
void stick(hipError_t error);
void unstick();

/* Ends an API call: remembers a failure as the thread's last error. */
inline hipError_t done(hipError_t error) {
    if (error != hipSuccess && error != hipErrorNotReady) self().last = error;
    return error;
}

/* Starts an API call: no device, or a device that has faulted, fails it. */
hipError_t enter();

const char *error_name(hipError_t error);

} // namespace kpt

#define KPT_ENTER()                                                                                                    \
    if (hipError_t kpt_entered = kpt::enter(); kpt_entered != hipSuccess) return kpt::done(kpt_entered)

#endif
