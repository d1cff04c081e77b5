/* Calls from a kernel to the host: printf, assert's message, device memory. The protocol is that of ROCm's device
 * library (ockl): packets on a stack in shared memory, a doorbell signal. */
#ifndef KPT_HOSTCALL_H
#define KPT_HOSTCALL_H

#include <cstdint>

namespace kpt {

/* The buffer kernels put packets into; made at first use. */
uint64_t hostcall_buffer();

/* The zeroed block that device-side malloc keeps its slabs in. */
uint64_t device_heap();

/* Answers all packets that wait. Cheap when there are none. */
void answer_host_calls();

/* Prints one message as the device library packs it; returns what printf returns. */
int64_t print_message(const uint64_t *words, uint64_t count);

} // namespace kpt
#endif
