/* What kernels call. */
#include <time.h>

#include "checks.h"
#include "config.h"
#include "errors.h"
#include "hostcall.h"
#include "image_access.h"
#include "scheduler.h"

namespace kpt {
namespace {

/* ds_gws_barrier, which is no message of the hardware: the grid-wide barrier of targets that have the unit. */
const uint32_t GWS_BARRIER = 0x10000;

uint64_t nanoseconds() {
    timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return uint64_t(time.tv_sec) * 1000000000ull + uint64_t(time.tv_nsec);
}

bool is_fatal(KptFaultKind kind) {
    switch (kind) {
    case KPT_FAULT_UNWRITTEN:
    case KPT_FAULT_INACTIVE_LANE:
    case KPT_FAULT_RACE:
    case KPT_FAULT_WAIT:
    case KPT_FAULT_BARRIER: return false;
    case KPT_FAULT_MISALIGNED: return false;
    default: return true;
    }
}

void on_fault(KptWave *wave, KptFaultKind kind, uint32_t lane, uint64_t address, uint32_t bytes) {
    /* As on hardware: what is read there is 0, and what is written is dropped. */
    if (kind == KPT_FAULT_LDS_BOUNDS && config().whole_pages && !config().checked) return;
    report_kernel_fault(*wave, kind, int(lane), address, bytes, nullptr);
    if (!is_fatal(kind)) return;
    bool memory = kind == KPT_FAULT_BOUNDS || kind == KPT_FAULT_FREED || kind == KPT_FAULT_READ_ONLY;
    stick(memory ? hipErrorIllegalAddress : hipErrorLaunchFailure);
    leave_kernel();
}

void on_access(KptWave *wave, uint32_t lane, uint64_t address, uint32_t bytes, uint32_t flags) {
    bool counts = true;
    if (flags & KPT_IN_LDS)
        check_lds(wave, lane, address, bytes, flags);
    else
        counts = check_access(wave, lane, address, bytes, flags);
    if (config().races) check_races(wave, lane, 1, address, bytes, flags, counts);
}

int on_run(KptWave *wave, uint32_t lane, uint32_t lanes, uint64_t address, uint32_t bytes, uint32_t flags) {
    bool counts = true;
    uint64_t all = uint64_t(lanes) * bytes;
    bool good =
        flags & KPT_IN_LDS ? check_lds_run(wave, address, all, flags) : check_access_run(address, all, flags, counts);
    if (!good) return 0;
    if (config().races) check_races(wave, lane, lanes, address, bytes, flags, counts);
    return 1;
}

void on_message(KptWave *wave, uint32_t message, uint32_t payload) {
    auto &slot = *static_cast<WaveSlot *>(wave->owner);
    slot.slept = true;
    if (message == GWS_BARRIER) {
        Launch &launch = *this_worker->launch;
        slot.gws_epoch = launch.gws_epoch.load();
        slot.state = WaveState::gws;
        if (launch.gws_waiting.fetch_add(1) == payload) {
            launch.gws_waiting = 0;
            launch.gws_epoch.fetch_add(1, std::memory_order_release);
            launch.hard_progress.fetch_add(1, std::memory_order_relaxed);
            if (config().races) races_grid_barrier();
        }
        return;
    }
    /* The host's code is not the kernel's: a fault in it is the program's own. */
    this_worker->in_kernel = 0;
    answer_host_calls();
    this_worker->in_kernel = 1;
}

uint64_t on_clock(KptWave *, int realtime) {
    /* The constant clock of AMD GPUs ticks at 100 MHz; the other one is given 1 GHz. */
    uint64_t time = nanoseconds();
    return realtime ? time / 10 : time;
}

void on_sleep(KptWave *wave, uint32_t) { static_cast<WaveSlot *>(wave->owner)->slept = true; }

void on_image(KptWave *wave, const KptImageUse *use, const uint32_t *words, uint64_t exec) {
    image_access(wave, *use, words, exec, {config().major, config().checked, config().counted});
}

const KptServices table = {on_fault, on_access, on_message,  on_clock, on_sleep,
                           on_run,   lds_used,  vector_wait, on_image, race_cell};

} // namespace

const KptServices *services() { return &table; }

} // namespace kpt
