/* Memory the device can see. Every allocation lies between inaccessible pages, its end against the upper one, and
 * stays inaccessible for a while after it was freed: an access beyond or after is a fault, not a wrong result. */
#ifndef KPT_MEMORY_H
#define KPT_MEMORY_H

#include <cstdint>
#include <string>

#include "hip_abi.h"

namespace kpt {

enum class Kind : uint8_t { device, host, managed, registered, image, internal, array, mapped };

struct Allocation {
    uint64_t base = 0, bytes = 0;
    Kind kind = Kind::device;
    int device = 0;
    unsigned flags = 0;
    uint64_t id = 0;                   /* order of allocation, from 1 */
    uint64_t span = 0, span_bytes = 0; /* the pages around it, without the guards */
    bool freed = false, adopted = false;
    bool of_graph = false;      /* a graph's node allocates it, at the same address each time the graph is launched */
    uint8_t *written = nullptr; /* checked runs: one bit per byte that has been written */
    void *context = nullptr;    /* the memory pool it came from */

    bool holds(uint64_t address) const { return address >= base && address - base < bytes; }
};

/* Null with the reason in `error`. Zero bytes are the caller's business. */
Allocation *allocate(Kind kind, uint64_t bytes, int device, unsigned flags, hipError_t &error, uint64_t alignment = 0);

/* Makes memory of the process known to the device (hipHostRegister, constants of translated modules); null where part
 * of it is known already. Releasing it makes it unknown again and leaves the memory alone. */
Allocation *adopt(void *host, uint64_t bytes, unsigned flags, Kind kind = Kind::registered);

/* Frees what starts at `address`. False where nothing does. */
bool release(uint64_t address);

/* Memory of a graph that was freed is there again, with new content. False where that cannot be. */
bool allocate_again(uint64_t address);

/* The live allocation that holds an address, or null. */
Allocation *find(uint64_t address);

/* The live or freed allocation at or nearest to an address, as a sentence for a report; `freed` says which. */
std::string describe(uint64_t address, bool &freed);

/* Whether an address is ordinary memory of the host, which HIP was never told about. */
bool is_plain_host(uint64_t address);

/* Whether an address was reserved (hipMemAddressReserve). What can be accessed there is an allocation as well. */
bool is_reserved(uint64_t address);

/* Bytes of device memory in use on a device. */
uint64_t used(int device);

/* Counts memory of a device that is not an allocation yet (hipMemCreate); false where the device has no more of it. */
bool charge(int device, uint64_t bytes);
void discharge(int device, uint64_t bytes);

/* Checked runs: the host wrote, or copied, these bytes of device memory. */
void note_written(uint64_t address, uint64_t bytes);
void note_unwritten(uint64_t address, uint64_t bytes);
void note_copied(uint64_t to, uint64_t from, uint64_t bytes);

/* Frees all device memory of the process (hipDeviceReset). */
void release_all();

/* Calls `visit` for every live allocation, in order of allocation. */
void each_allocation(void (*visit)(const Allocation &));

} // namespace kpt
#endif
