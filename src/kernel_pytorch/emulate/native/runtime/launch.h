/* One kernel launch: what was asked for, how it is packed, and the state its workers share. */
#ifndef KPT_LAUNCH_H
#define KPT_LAUNCH_H

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "../engine.h"
#include "hip_abi.h"
#include "module.h"

namespace kpt {

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
};

/* Checks sizes against the kernel and the GPU and copies the arguments (`params` or `extra`, as the API has them). */
hipError_t prepare_launch(hipFunction_t function, dim3 grid, dim3 block, uint64_t dynamic_lds, void **params,
                          void **extra, bool cooperative, LaunchRequest &out);

/* Runs it to its end. Success means it was started: what goes wrong on the device sticks to the device. */
hipError_t execute_launch(const LaunchRequest &request);

/* Blocks of a kernel that fit on a compute unit, as toolchain/occupancy.py counts; 0 where not even one does. */
uint32_t blocks_per_unit(const KptKernel &kernel, uint32_t block_threads, uint64_t dynamic_lds);

/* What hipDeviceGetLimit answers; 0 for a limit that is not known. */
size_t device_limit(int limit);

/* Compute units that one workgroup may use: half of the count where the kernel runs in workgroup-processor mode. */
uint32_t units(const KptKernel &kernel);

struct Launch {
    uint64_t number = 0; /* from 1; a later launch may lie at the same address */
    const LaunchRequest *request = nullptr;
    const KptKernel *kernel = nullptr;
    uint32_t wave_size = 64, waves = 1, lds_bytes = 0, scratch_lane_bytes = 0, id_registers = 1;
    uint64_t blocks = 0;
    KptWave start; /* every wave's first state, apart from what depends on block and wave */
    uint32_t id_sgpr[3] = {~0u, ~0u, ~0u};
    uint32_t info_sgpr = ~0u;           /* workgroup info, where the kernel asks for it */
    uint32_t scratch_buffer_sgpr = ~0u; /* private segment buffer descriptor, where the target has one */
    uint32_t flat_scratch_sgpr = ~0u;
    std::vector<uint32_t> ids;  /* work-item ids: [wave][register][lane] */
    std::vector<uint64_t> exec; /* [wave] for a whole block */
    uint64_t resident_per_worker = 1;
    std::atomic<uint64_t> next{0}, finished{0}, hard_progress{0}, soft_progress{0};
    std::atomic<bool> stop{false};
    std::atomic<uint64_t> gws_waiting{0}, gws_epoch{0};
    KptCounters counters{};
    std::vector<uint64_t> place_counts;
    uint64_t shuffle_seed = 0;
};

/* Fills in registers and work-item ids from the kernel's descriptor. */
void set_up_waves(Launch &launch, uint64_t kernarg, uint64_t dispatch_packet, uint64_t queue);

/* Adds what one worker counted. */
void merge_counters(Launch &launch, const KptCounters &counters, const std::vector<uint64_t> &places);

/* Runs all blocks; returns when they are done or the launch was stopped. */
void run_blocks(Launch &launch);

} // namespace kpt
#endif
