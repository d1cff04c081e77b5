/* One kernel launch: what was asked for, how it is packed, and the state its workers share. */
#ifndef KPT_LAUNCH_H
#define KPT_LAUNCH_H

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "../engine.h"
#include "hip_abi.h"
#include "module.h"
#include "stretches.h"

namespace kpt {

struct Group;
struct HiddenSpace;

/* A launch's place among those of a cooperative launch over several devices. */
struct AmongGrids {
    std::shared_ptr<uint64_t> barrier; /* memory of the device that they share */
    uint32_t number = 0, grids = 1;
    uint64_t threads_before = 0, threads = 0;
};

/* A launch as a graph keeps it: checked, arguments copied. */
struct LaunchRequest {
    hipFunction_t function = nullptr;
    dim3 grid, block;
    /* Threads in each dimension; not a multiple of the block only for hipExtModuleLaunchKernel. */
    uint64_t threads[3] = {0, 0, 0};
    uint32_t dynamic_lds = 0;
    bool cooperative = false;
    std::vector<uint8_t> arguments; /* the kernel's argument block, hidden arguments still unset */
    uint64_t stream = 0;
    AmongGrids among;
};

/* Checks sizes against the kernel and the GPU and copies the arguments (`params` or `extra`, as the API has them). */
hipError_t prepare_launch(hipFunction_t function, dim3 grid, dim3 block, uint64_t dynamic_lds, void **params,
                          void **extra, bool cooperative, LaunchRequest &out);

struct Launch;

/* Runs it to its end, or until it only waits for something outside: then the rest of it is in `rest`. Success means it was
 * started: what goes wrong on the device sticks to the device. */
hipError_t begin_launch(const LaunchRequest &request, bool background, std::unique_ptr<Launch> &rest);

/* Goes on with it for a while; true when it has ended. For launches in the background. */
bool go_on(Launch &launch);

/* Says in the report what it was and what it cost: when it has ended, or will not. */
void conclude(Launch &launch);

/* Blocks of a kernel that fit on a compute unit, as toolchain/occupancy.py counts; 0 where not even one does. */
uint32_t blocks_per_unit(const KptKernel &kernel, uint32_t block_threads, uint64_t dynamic_lds);

/* What hipDeviceGetLimit answers; 0 for a limit that is not known. */
size_t device_limit(int limit);

/* Compute units that one workgroup may use: half of the count where the kernel runs in workgroup-processor mode. */
uint32_t units(const KptKernel &kernel);

/* What differs between the waves of a block, the same in every block. */
struct WorkItems {
    std::vector<uint32_t> ids;  /* work-item ids: [wave][register][lane] */
    std::vector<uint64_t> exec; /* [wave] for a whole block */
};

/* Why a launch left the threads that ran it. */
enum class Pause {
    none,
    stalled,  /* every wave that runs comes back to states it has been in: it waits for something outside */
    long_one, /* nothing has ended for so long that the program should go on beside it */
    turn,     /* in the background: others want to run, or had nothing for a while */
};

struct Launch {
    uint64_t number = 0; /* from 1; a later launch may lie at the same address */
    const LaunchRequest *request = nullptr;
    LaunchRequest kept; /* `request` points here once the call that made the launch is over */
    const KptKernel *kernel = nullptr;
    HiddenSpace *space = nullptr;
    uint32_t wave_size = 64, waves = 1, lds_bytes = 0, scratch_lane_bytes = 0, id_registers = 1;
    uint64_t blocks = 0;
    bool partial = false; /* the last block of a row may have fewer threads */
    size_t start_bytes =
        sizeof(KptWave); /* not known when compiled: a call of memcpy is faster than the copy written out */
    KptWave start;       /* every wave's first state, apart from what depends on block and wave */
    uint32_t id_sgpr[3] = {~0u, ~0u, ~0u};
    uint32_t info_sgpr = ~0u;           /* workgroup info, where the kernel asks for it */
    uint32_t scratch_buffer_sgpr = ~0u; /* private segment buffer descriptor, where the target has one */
    uint32_t flat_scratch_sgpr = ~0u;
    std::shared_ptr<const WorkItems> items;
    uint64_t resident_per_worker = 1;
    /* hard: a wave ended or a barrier was passed, in groups that have not ended; soft: a wave yielded in another state than the time before; fresh: in
     * one that it was not seen in lately. */
    std::atomic<uint64_t> next{0}, finished{0}, hard_progress{0}, soft_progress{0}, fresh_states{0};
    std::atomic<bool> stop{false};
    std::atomic<Pause> pause{Pause::none};
    bool background = false, resumed = false;
    double slice_end = 0;       /* in the background: when it lets others run */
    std::mutex mutex;           /* of the next two */
    std::deque<Group *> parked; /* what its workers held when it paused */
    struct Quiet {
        uint64_t at;
        bool spins;
    };
    std::vector<Quiet> quiet; /* by worker: the progress at which all it holds was seen to wait */
    std::atomic<uint64_t> gws_waiting{0}, gws_epoch{0};
    KptCounters counters{};
    std::vector<uint64_t> place_counts;
    uint64_t shuffle_seed = 0;
    double seconds = 0, cpu_seconds = 0;
    uint64_t begun_at = 0;              /* in the order in which launches began and ended */
    std::vector<Stretch> touched[3];    /* by UseKind, while races are looked for */
    std::shared_ptr<void> race_history; /* the race detector's */

    ~Launch();
    /* Waves or groups ended, barriers passed; and that, or a state that is new. */
    uint64_t steps() const {
        return hard_progress.load(std::memory_order_relaxed) + finished.load(std::memory_order_relaxed);
    }
    uint64_t progress() const { return steps() + fresh_states.load(); }
};

/* Fills in registers and work-item ids from the kernel's descriptor. */
void set_up_waves(Launch &launch, uint64_t kernarg, uint64_t dispatch_packet, uint64_t queue);

/* Adds what one worker counted. */
void merge_counters(Launch &launch, const KptCounters &counters, const std::vector<uint64_t> &places);

/* Runs blocks until all are done, the launch was stopped (both: true), or it paused. */
bool run_blocks(Launch &launch);

} // namespace kpt
#endif
