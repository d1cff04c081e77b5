/* Virtual memory management: addresses are reserved, memory is made, and the one is mapped to the other. Memory is a file
 * without a name, so that it can be mapped twice and shared. Access is the process's: memory that one device may reach can
 * be reached by all of them, and the device that may not is not caught. */
#include <cstring>
#include <map>
#include <mutex>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config.h"
#include "errors.h"
#include "memory.h"
#include "pending.h"
#include "stream.h"

namespace kpt {
namespace {

constexpr uint64_t GRANULE = 2 << 20;
constexpr int DEVICE_MEMORY = 1, FILE_DESCRIPTOR = 1;

struct Properties { /* hipMemAllocationProp */
    int type, handle_type;
    hipMemLocation location;
    void *metadata;
    unsigned char compression, rdma;
    unsigned short usage;
};

struct Access { /* hipMemAccessDesc */
    hipMemLocation location;
    int flags;
};

struct Memory { /* hipMemGenericAllocationHandle_t */
    int file = -1;
    uint64_t bytes = 0;
    Properties properties = {};
    int references = 1; /* handles of the program and mappings */
    bool charged = false;
};

struct Mapping {
    uint64_t bytes;
    Memory *memory;
    std::map<int, int> access; /* by device */

    int protection() const {
        int all = 0;
        for (auto &[device, flags] : access) all |= flags;
        return (all & 1 ? PROT_READ : 0) | (all & 2 ? PROT_WRITE : 0);
    }
};

struct Reservation {
    uint64_t bytes;
    std::map<uint64_t, Mapping> mappings;
};

std::mutex mutex;
std::map<uint64_t, Reservation> reservations;

/* The reservation that holds all of a range, or null. */
Reservation *reservation_of(uint64_t at, uint64_t bytes) {
    auto next = reservations.upper_bound(at);
    if (next == reservations.begin()) return nullptr;
    auto &[base, one] = *std::prev(next);
    return bytes <= one.bytes && at - base <= one.bytes - bytes ? &one : nullptr;
}

/* Calls `visit` for the mappings of a range; false where part of the range is not mapped or is part of a mapping. */
template <class Visit> bool each_mapping(uint64_t at, uint64_t bytes, Visit visit) {
    Reservation *home = reservation_of(at, bytes);
    if (!home || !bytes) return false;
    uint64_t end = at;
    for (auto one = home->mappings.find(at); one != home->mappings.end() && one->first == end; ++one) {
        end += one->second.bytes;
        if (end >= at + bytes) break;
    }
    if (end != at + bytes) return false;
    for (auto one = home->mappings.find(at); one != home->mappings.end() && one->first < end; ++one)
        visit(one->first, one->second);
    return true;
}

void forget(Memory *memory) {
    if (--memory->references) return;
    if (memory->charged) discharge(memory->properties.location.id, memory->bytes);
    close(memory->file);
    delete memory;
}

/* What is mapped side by side is one buffer to the program: a copy may span it. */
void make_known(Reservation &home, const std::map<uint64_t, uint64_t> &before) {
    for (auto &[base, bytes] : before) release(base);
    uint64_t start = 0, end = 0;
    int device = 0;
    auto settle = [&] {
        Allocation *made = end > start ? adopt(reinterpret_cast<void *>(start), end - start, 0, Kind::mapped) : nullptr;
        if (made) made->device = device;
    };
    for (auto &[base, one] : home.mappings) {
        if (!one.protection()) continue;
        if (base != end) {
            settle();
            start = base;
            device = one.memory->properties.location.id;
        }
        end = base + one.bytes;
    }
    settle();
}

/* The buffers that a reservation is known as now. */
std::map<uint64_t, uint64_t> known(const Reservation &home) {
    std::map<uint64_t, uint64_t> found;
    for (auto &[base, one] : home.mappings)
        if (Allocation *a = find(base)) found[a->base] = a->bytes;
    return found;
}

bool is_ours(const Properties *p) {
    constexpr int pinned = 1, uncached = 0x40000000;
    return p && (p->type == pinned || p->type == uncached) && p->location.type == DEVICE_MEMORY &&
           is_device(p->location.id);
}

} // namespace

bool is_reserved(uint64_t address) {
    std::lock_guard<std::mutex> lock(mutex);
    return reservation_of(address, 1) != nullptr;
}

} // namespace kpt

using namespace kpt;

KPT_API hipError_t hipMemGetAllocationGranularity(size_t *granularity, const Properties *properties, int) {
    KPT_ENTER();
    if (!granularity || !is_ours(properties)) return done(hipErrorInvalidValue);
    *granularity = GRANULE;
    return done(hipSuccess);
}

KPT_API hipError_t hipMemAddressReserve(void **pointer, size_t bytes, size_t alignment, void *,
                                        unsigned long long flags) {
    KPT_ENTER();
    if (!pointer || !bytes || bytes % GRANULE || flags || (alignment & (alignment - 1)))
        return done(hipErrorInvalidValue);
    uint64_t align = std::max<uint64_t>(alignment, GRANULE);
    /* A range that nothing is mapped to on either side: what runs past its end is a fault. */
    uint64_t whole = bytes + align + GRANULE;
    void *got = mmap(nullptr, whole, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (got == MAP_FAILED) return done(hipErrorOutOfMemory);
    uint64_t first = uint64_t(got), base = (first + align - 1) / align * align;
    if (base > first) munmap(got, base - first);
    munmap(reinterpret_cast<void *>(base + bytes + GRANULE), first + whole - base - bytes - GRANULE);
    std::lock_guard<std::mutex> lock(mutex);
    reservations[base] = {bytes, {}};
    *pointer = reinterpret_cast<void *>(base);
    return done(hipSuccess);
}

KPT_API hipError_t hipMemAddressFree(void *pointer, size_t bytes) {
    KPT_ENTER();
    std::lock_guard<std::mutex> lock(mutex);
    auto found = reservations.find(uint64_t(pointer));
    if (found == reservations.end() || found->second.bytes != bytes || !found->second.mappings.empty())
        return done(hipErrorInvalidValue);
    munmap(pointer, bytes + GRANULE);
    reservations.erase(found);
    return done(hipSuccess);
}

KPT_API hipError_t hipMemCreate(Memory **handle, size_t bytes, const Properties *properties, unsigned long long flags) {
    KPT_ENTER();
    if (!handle || !bytes || bytes % GRANULE || flags || !is_ours(properties)) return done(hipErrorInvalidValue);
    if (!charge(properties->location.id, bytes)) return done(hipErrorOutOfMemory);
    int file = memfd_create("kpt-device-memory", MFD_CLOEXEC);
    if (file < 0 || ftruncate(file, off_t(bytes))) {
        if (file >= 0) close(file);
        discharge(properties->location.id, bytes);
        return done(hipErrorOutOfMemory);
    }
    *handle = new Memory{file, bytes, *properties, 1, true};
    return done(hipSuccess);
}

KPT_API hipError_t hipMemRelease(Memory *memory) {
    KPT_ENTER();
    if (!memory) return done(hipErrorInvalidValue);
    std::lock_guard<std::mutex> lock(mutex);
    forget(memory);
    return done(hipSuccess);
}

KPT_API hipError_t hipMemMap(void *pointer, size_t bytes, size_t offset, Memory *memory, unsigned long long flags) {
    KPT_ENTER();
    std::lock_guard<std::mutex> lock(mutex);
    uint64_t at = uint64_t(pointer);
    Reservation *home = bytes ? reservation_of(at, bytes) : nullptr;
    if (!home || !memory || flags || bytes % GRANULE || at % GRANULE || offset % GRANULE || offset > memory->bytes ||
        bytes > memory->bytes - offset)
        return done(hipErrorInvalidValue);
    auto next = home->mappings.lower_bound(at);
    if (next != home->mappings.end() && next->first < at + bytes) return done(hipErrorInvalidValue);
    if (next != home->mappings.begin() && std::prev(next)->first + std::prev(next)->second.bytes > at)
        return done(hipErrorInvalidValue);
    if (mmap(pointer, bytes, PROT_NONE, MAP_SHARED | MAP_FIXED, memory->file, off_t(offset)) == MAP_FAILED)
        return done(hipErrorOutOfMemory);
    ++memory->references;
    home->mappings[at] = {bytes, memory, {}};
    return done(hipSuccess);
}

KPT_API hipError_t hipMemUnmap(void *pointer, size_t bytes) {
    KPT_ENTER();
    finish_all("hipMemUnmap");
    std::lock_guard<std::mutex> lock(mutex);
    Reservation *home = reservation_of(uint64_t(pointer), bytes);
    const auto before = home ? known(*home) : std::map<uint64_t, uint64_t>();
    std::map<uint64_t, Memory *> gone;
    if (!each_mapping(uint64_t(pointer), bytes, [&](uint64_t base, Mapping &one) { gone[base] = one.memory; }))
        return done(hipErrorInvalidValue);
    for (auto &[base, memory] : gone) home->mappings.erase(base);
    make_known(*home, before);
    mmap(pointer, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
    for (auto &[base, memory] : gone) forget(memory);
    return done(hipSuccess);
}

KPT_API hipError_t hipMemSetAccess(void *pointer, size_t bytes, const Access *descriptions, size_t count) {
    KPT_ENTER();
    for (size_t i = 0; i < count; ++i) {
        const Access &one = descriptions[i];
        if (one.location.type != DEVICE_MEMORY || !is_device(one.location.id) || (one.flags & ~3) || one.flags == 2)
            return done(hipErrorInvalidValue);
    }
    std::lock_guard<std::mutex> lock(mutex);
    Reservation *home = reservation_of(uint64_t(pointer), bytes);
    if (!home || !descriptions || !count) return done(hipErrorInvalidValue);
    const auto before = known(*home);
    const bool is_mapped = each_mapping(uint64_t(pointer), bytes, [&](uint64_t base, Mapping &one) {
        for (size_t i = 0; i < count; ++i) one.access[descriptions[i].location.id] = descriptions[i].flags;
        mprotect(reinterpret_cast<void *>(base), one.bytes, one.protection());
    });
    if (!is_mapped) return done(hipErrorInvalidValue);
    make_known(*home, before);
    return done(hipSuccess);
}

KPT_API hipError_t hipMemGetAccess(unsigned long long *flags, const hipMemLocation *location, void *pointer) {
    KPT_ENTER();
    std::lock_guard<std::mutex> lock(mutex);
    Reservation *home = reservation_of(uint64_t(pointer), 1);
    if (!flags || !location || !home) return done(hipErrorInvalidValue);
    auto next = home->mappings.upper_bound(uint64_t(pointer));
    if (next == home->mappings.begin()) return done(hipErrorInvalidValue);
    auto &[base, one] = *std::prev(next);
    if (uint64_t(pointer) - base >= one.bytes) return done(hipErrorInvalidValue);
    auto found = one.access.find(location->id);
    *flags = found == one.access.end() ? 0 : unsigned(found->second);
    return done(hipSuccess);
}

KPT_API hipError_t hipMemRetainAllocationHandle(Memory **handle, void *pointer) {
    KPT_ENTER();
    std::lock_guard<std::mutex> lock(mutex);
    Reservation *home = reservation_of(uint64_t(pointer), 1);
    auto next = home ? home->mappings.upper_bound(uint64_t(pointer)) : std::map<uint64_t, Mapping>::iterator();
    if (!handle || !home || next == home->mappings.begin()) return done(hipErrorInvalidValue);
    auto &[base, one] = *std::prev(next);
    if (uint64_t(pointer) - base >= one.bytes) return done(hipErrorInvalidValue);
    ++one.memory->references;
    *handle = one.memory;
    return done(hipSuccess);
}

KPT_API hipError_t hipMemGetAllocationPropertiesFromHandle(Properties *properties, Memory *memory) {
    KPT_ENTER();
    if (!properties || !memory) return done(hipErrorInvalidValue);
    *properties = memory->properties;
    return done(hipSuccess);
}

KPT_API hipError_t hipMemExportToShareableHandle(void *out, Memory *memory, int type, unsigned long long flags) {
    KPT_ENTER();
    if (!out || !memory || flags || type != FILE_DESCRIPTOR) return done(hipErrorInvalidValue);
    int copy = dup(memory->file);
    if (copy < 0) return done(hipErrorOutOfMemory);
    memcpy(out, &copy, sizeof copy);
    return done(hipSuccess);
}

KPT_API hipError_t hipMemImportFromShareableHandle(Memory **handle, void *given, int type) {
    KPT_ENTER();
    struct stat about;
    const int file = int(intptr_t(given));
    if (!handle || type != FILE_DESCRIPTOR || fstat(file, &about)) return done(hipErrorInvalidValue);
    Properties properties = {};
    properties.type = properties.handle_type = 1;
    properties.location = {DEVICE_MEMORY, self().device};
    *handle = new Memory{dup(file), uint64_t(about.st_size), properties, 1, false};
    return done(hipSuccess);
}
