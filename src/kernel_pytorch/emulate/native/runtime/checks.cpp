#include "checks.h"

#include <cstring>

#include "config.h"
#include "errors.h"
#include "memory.h"
#include "scheduler.h"

namespace kpt {
namespace {

/* The allocations of the last accesses: most accesses of a kernel go where one before it went. */
const unsigned RECENT = 8;
struct Recent {
    uint64_t base = 1, end = 0;
    Allocation *allocation = nullptr;
    uint64_t launch = 0; /* its number: between launches memory may be freed */
};
thread_local Recent recent[RECENT];
thread_local unsigned next_recent = 0;

Allocation *holder(uint64_t address) {
    const uint64_t launch = this_worker->launch->number;
    for (const Recent &one : recent)
        if (address >= one.base && address < one.end && one.launch == launch) return one.allocation;
    Allocation *found = find(address);
    if (!found) return nullptr;
    Recent &one = recent[next_recent++ % RECENT];
    one.base = found->base;
    one.end = found->base + found->bytes;
    one.allocation = found;
    one.launch = launch;
    return found;
}

bool counts_for_races(const Allocation &a) { return a.kind != Kind::internal && a.kind != Kind::image; }

/* Whether all bits of a stretch of a bitmap are set. */
bool all_set(const uint8_t *bits, uint64_t first, uint64_t count) {
    uint64_t end = first + count;
    for (; first < end && first % 64; first++)
        if (!(bits[first / 8] >> (first % 8) & 1)) return false;
    for (; first + 64 <= end; first += 64) {
        uint64_t word;
        memcpy(&word, bits + first / 8, 8);
        if (~word) return false;
    }
    for (; first < end; first++)
        if (!(bits[first / 8] >> (first % 8) & 1)) return false;
    return true;
}

void set_all(uint8_t *bits, uint64_t first, uint64_t count) {
    for (uint64_t end = first + count; first < end;) {
        if (first % 8 == 0 && end - first >= 8) {
            __atomic_store_n(&bits[first / 8], uint8_t(0xff), __ATOMIC_RELAXED);
            first += 8;
        } else {
            __atomic_fetch_or(&bits[first / 8], uint8_t(1u << (first % 8)), __ATOMIC_RELAXED);
            first++;
        }
    }
}

[[noreturn]] void fatal(KptWave *wave, KptFaultKind kind, uint32_t lane, uint64_t address, uint32_t bytes) {
    report_kernel_fault(*wave, kind, int(lane), address, bytes, nullptr);
    stick(hipErrorIllegalAddress);
    leave_kernel();
}

} // namespace

bool check_access(KptWave *wave, uint32_t lane, uint64_t address, uint32_t bytes, uint32_t flags) {
    Allocation *a = holder(address);
    if (!a || address + bytes > a->base + a->bytes) {
        bool freed = false;
        if (!a) describe(address, freed);
        fatal(wave, freed ? KPT_FAULT_FREED : KPT_FAULT_BOUNDS, lane, a ? a->base + a->bytes : address, bytes);
    }
    if (!a->written) return counts_for_races(*a);
    uint64_t offset = address - a->base;
    bool reads = (flags & KPT_READ) || (flags & KPT_ATOMIC), writes = (flags & KPT_WRITE) || (flags & KPT_ATOMIC);
    bool unwritten = false;
    for (uint64_t i = offset; i < offset + bytes; i++) {
        uint8_t bit = uint8_t(1u << (i % 8));
        uint8_t had = __atomic_load_n(&a->written[i / 8], __ATOMIC_RELAXED);
        if (had & bit) continue;
        unwritten = unwritten || reads;
        /* A byte is reported once. */
        if (writes || reads) __atomic_fetch_or(&a->written[i / 8], bit, __ATOMIC_RELAXED);
    }
    if (unwritten) report_kernel_fault(*wave, KPT_FAULT_UNWRITTEN, int(lane), address, bytes, nullptr);
    return counts_for_races(*a);
}

bool check_access_run(uint64_t address, uint64_t bytes, uint32_t flags, bool &counts) {
    Allocation *a = holder(address);
    if (!a || address + bytes > a->base + a->bytes) return false;
    counts = counts_for_races(*a);
    if (!a->written) return true;
    if (all_set(a->written, address - a->base, bytes)) return true;
    if (flags & (KPT_READ | KPT_ATOMIC)) return false;
    set_all(a->written, address - a->base, bytes);
    return true;
}

bool check_lds_run(KptWave *wave, uint64_t offset, uint64_t bytes, uint32_t flags) {
    std::vector<uint8_t> &written = static_cast<WaveSlot *>(wave->owner)->group->lds_written;
    if (offset + bytes > written.size()) return false;
    if (!(flags & (KPT_READ | KPT_ATOMIC))) {
        memset(written.data() + offset, 1, bytes);
        return true;
    }
    return !memchr(written.data() + offset, 0, bytes);
}

void check_lds(KptWave *wave, uint32_t lane, uint64_t offset, uint32_t bytes, uint32_t flags) {
    std::vector<uint8_t> &written = static_cast<WaveSlot *>(wave->owner)->group->lds_written;
    bool unwritten = false;
    for (uint64_t i = offset; i < offset + bytes && i < written.size(); i++) {
        unwritten = unwritten || (!written[i] && (flags & (KPT_READ | KPT_ATOMIC)));
        written[i] = 1; /* a byte is reported once */
    }
    if (!unwritten) return;
    std::string what = "offset " + std::to_string(offset) + " in LDS: no wave of the block wrote it";
    report_kernel_fault(*wave, KPT_FAULT_UNWRITTEN, int(lane), offset, bytes, what.c_str());
}

} // namespace kpt
