/* Workers, the workgroups they hold and the waves of those. */
#ifndef KPT_SCHEDULER_H
#define KPT_SCHEDULER_H

#include <setjmp.h>

#include <csignal>
#include <cstdint>
#include <memory>
#include <vector>

#include "launch.h"
#include "race_shadow.h"

namespace kpt {

enum class WaveState : uint8_t { fresh, ready, barrier, gws, done };

struct Group;

struct WaveSlot {
    KptWave wave;
    Group *group = nullptr;
    uint8_t *storage = nullptr; /* registers and scratch; back to the worker when the wave ends */
    uint64_t digests[32] = {};  /* of the states at the last yields */
    uint32_t yields = 0;
    int64_t budget = 0; /* back edges it may take until it yields */
    uint64_t gws_epoch = 0;
    WaveState state = WaveState::fresh;
    uint32_t race_moment = 0, race_epoch = 0, race_stamp = 0; /* the race detector's */
    bool slept = false;                                       /* s_sleep or a message since it was last resumed */
};

/* Bytes of LDS that a wave loads straight from memory, and between which barriers it does. */
struct LdsLoad {
    uint64_t first, end; /* bytes of LDS */
    uint64_t number;     /* how many vector memory accesses the wave had made with it */
    uint32_t wave, place;
    uint32_t begun;        /* barriers the group had passed */
    uint32_t waited = ~0u; /* the same, when the wave waited for it; ~0: not yet */
};

struct Group {
    uint64_t block = 0;
    uint32_t id[3] = {0, 0, 0};
    uint32_t live = 0;
    uint32_t epoch = 0; /* barriers passed */
    std::vector<WaveSlot> waves;
    uint8_t *lds = nullptr;
    std::vector<uint8_t> lds_memory;
    std::vector<uint8_t> lds_written; /* one for each byte of LDS, while memory is checked */
    std::vector<LdsLoad> lds_loads;   /* in kernels whose waits are looked at */
    Shadow lds_shadow;                /* the race detector's */
    KptLdsNotes lds_notes{};          /* of the two, for kernels */
};

struct Worker {
    Launch *launch = nullptr;
    unsigned index = 0;
    sigjmp_buf jump;
    volatile std::sig_atomic_t in_kernel = 0;
    WaveSlot *running = nullptr;
    volatile uint64_t fault_address = 0;
    KptCounters counters{};
    std::vector<uint64_t> place_counts;
    std::vector<uint8_t *> storage; /* free blocks for waves */
    uint64_t progress = 0;          /* waves begun and ended, barriers passed since the launch was told */
    std::vector<std::unique_ptr<Group>> spare;
};

/* The worker this thread is, while it runs blocks; null otherwise. */
extern thread_local Worker *this_worker;

/* Back edges between two looks at the other waves. Small, so that a wave that spins does not hold up the one it waits
 * for; large enough that a loop that works is not slowed down. */
const int64_t BUDGET = 2048;

/* Notes the state a wave yielded in, and sets its next budget; whether the state is a new one. */
bool new_state(Launch &launch, WaveSlot &slot);

/* What kernels call: faults, checks, messages, clocks. */
const KptServices *services();

/* Leaves the kernel that is running and stops the launch; does not return. */
[[noreturn]] void leave_kernel();

/* Puts our handlers for memory faults in front, and gives the calling thread a signal stack. */
void watch_faults();

/* Reports the memory fault that `leave_kernel` came from. */
void report_memory_fault(Worker &worker);

/* Reports a launch in which nothing goes on: who waits, and where. `waiting` says what the program does meanwhile, for
 * launches in the background. The error it leads to sticks to the device. */
enum class Stuck { deadlock, endless };
void report_stuck(Launch &launch, const std::vector<Group *> &resident, Stuck how, const std::string &waiting);

/* Without a sign of life for this long, a launch in which every wave repeats its states is given up. */
const double STUCK_S = 5;

/* Race detector: a workgroup starts, passes a barrier or ends. */
void races_group_started(Group &group);
void races_barrier(Group &group);
void races_group_ended(Group &group);
/* All workgroups have met. */
void races_grid_barrier();
/* Adds the whole words that a launch touched to its stretches. */
void races_touched(Launch &launch);

} // namespace kpt
#endif
