#include "checks.h"

#include "config.h"
#include "errors.h"
#include "memory.h"
#include "scheduler.h"

namespace kpt {
namespace {

/* The allocation of the last access: most accesses of a kernel go where one before it went. */
thread_local struct {
    uint64_t base = 1, end = 0;
    Allocation *allocation = nullptr;
    const void *launch = nullptr;
} recent;

Allocation *holder(uint64_t address) {
    const void *launch = this_worker ? this_worker->launch : nullptr;
    if (recent.launch == launch && address >= recent.base && address < recent.end) return recent.allocation;
    Allocation *found = find(address);
    if (!found) return nullptr;
    recent = {};
    recent.base = found->base;
    recent.end = found->base + found->bytes;
    recent.allocation = found;
    recent.launch = launch;
    return found;
}

[[noreturn]] void fatal(KptWave *wave, KptFaultKind kind, uint32_t lane, uint64_t address, uint32_t bytes) {
    report_kernel_fault(*wave, kind, int(lane), address, bytes, nullptr);
    stick(hipErrorIllegalAddress);
    leave_kernel();
}

} // namespace

void check_access(KptWave *wave, uint32_t lane, uint64_t address, uint32_t bytes, uint32_t flags) {
    Allocation *a = holder(address);
    if (!a || address + bytes > a->base + a->bytes) {
        bool freed = false;
        if (!a) describe(address, freed);
        fatal(wave, freed ? KPT_FAULT_FREED : KPT_FAULT_BOUNDS, lane, a ? a->base + a->bytes : address, bytes);
    }
    if (!a->written) return;
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
