#include "scheduler.h"

#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>

#include "config.h"
#include "hostcall.h"
#include "pending.h"
#include "pool.h"
#include "report.h"
#include "turn.h"

namespace kpt {

thread_local Worker *this_worker = nullptr;

namespace {

/* Rounds a working group keeps its worker before other blocks may start beside it. */
const unsigned ROUNDS = 16, SLICES = 8;
/* A kernel in which nothing ends for this long goes on in the background: it may wait in a loop that counts or looks at
 * a clock, so that its state is always a new one. */
const double LONG_S = 2;
/* What Launch::Quiet says of a worker that has work to do, and of one that has none any more. */
const uint64_t BUSY = ~0ull, GONE = ~0ull - 1;

/* A permutation of 0..count-1 by a four-round Feistel network over the next even power of two. */
uint64_t shuffled(uint64_t index, uint64_t count, uint64_t seed) {
    unsigned half = 1;
    while (1ull << (2 * half) < count) half++;
    uint64_t mask = (1ull << half) - 1;
    do {
        uint64_t left = index >> half, right = index & mask;
        for (uint64_t round = 0; round < 4; round++) {
            uint64_t mixed = (right + seed + round * 0x9e3779b97f4a7c15ull) * 0xbf58476d1ce4e5b9ull;
            mixed ^= mixed >> 29;
            uint64_t next = left ^ (mixed >> 7 & mask);
            left = right;
            right = next;
        }
        index = left << half | right;
    } while (index >= count);
    return index;
}

struct Sizes {
    size_t vgprs, agprs, scratch, all;
};

Sizes storage_sizes(const Launch &launch) {
    size_t lanes = launch.wave_size * 4;
    Sizes s;
    s.vgprs = rounded_up((size_t(launch.kernel->vgprs) + 4) * lanes, 64);
    s.agprs = rounded_up((size_t(launch.kernel->agprs) + 4) * lanes, 64);
    s.scratch = rounded_up(size_t(launch.scratch_lane_bytes) * launch.wave_size + 64, 64);
    s.all = s.vgprs + s.agprs + s.scratch;
    return s;
}

uint8_t *take_storage(Worker &worker, const Sizes &sizes) {
    if (!worker.storage.empty()) {
        uint8_t *block = worker.storage.back();
        worker.storage.pop_back();
        return block;
    }
    return static_cast<uint8_t *>(aligned_alloc(64, rounded_up(sizes.all, 64)));
}

void describe_scratch(const Launch &launch, KptWave &wave) {
    uint64_t base = uint64_t(wave.scratch);
    if (launch.scratch_buffer_sgpr != ~0u) {
        uint32_t *v = &wave.s[launch.scratch_buffer_sgpr];
        v[0] = uint32_t(base);
        v[1] = uint32_t(base >> 32) & 0xffff;
        v[2] = launch.scratch_lane_bytes * launch.wave_size;
        v[3] = 1u << 23; /* ADD_TID_ENABLE: the engine knows private memory by it */
    }
    if (launch.flat_scratch_sgpr != ~0u) {
        wave.s[launch.flat_scratch_sgpr] = uint32_t(base);
        wave.s[launch.flat_scratch_sgpr + 1] = uint32_t(base >> 32);
    }
}

bool start_wave(Worker &worker, Group &group, WaveSlot &slot, uint32_t index, const Sizes &sizes) {
    const Launch &launch = *worker.launch;
    slot.storage = take_storage(worker, sizes);
    if (!slot.storage) return false;
    KptWave &w = slot.wave;
    memcpy(&w, &launch.start, sizeof w);
    w.v = reinterpret_cast<uint32_t *>(slot.storage);
    w.a = reinterpret_cast<uint32_t *>(slot.storage + sizes.vgprs);
    w.scratch = slot.storage + sizes.vgprs + sizes.agprs;
    w.lds = group.lds;
    w.exec = launch.items->exec[index];
    w.wave_in_group = index;
    memcpy(w.group, group.id, sizeof w.group);
    for (int i = 0; i < 3; i++)
        if (launch.id_sgpr[i] != ~0u) w.s[launch.id_sgpr[i]] = group.id[i];
    if (launch.info_sgpr != ~0u) w.s[launch.info_sgpr] = uint32_t(index == 0) << 31 | index << 6 | launch.waves;
    w.s[KPT_TTMP + 7] = (group.id[1] & 0xffff) | group.id[2] << 16;
    w.s[KPT_TTMP + 8] = index << 25;
    w.s[KPT_TTMP + 9] = group.id[0];
    describe_scratch(launch, w);
    size_t words = size_t(launch.id_registers) * launch.wave_size;
    memcpy(w.v, &launch.items->ids[index * words], words * 4);
    w.services = services();
    w.counters = &worker.counters;
    w.owner = &slot;
    slot.group = &group;
    memset(slot.digests, 0, sizeof slot.digests);
    slot.yields = 0;
    slot.budget = BUDGET;
    slot.state = WaveState::ready;
    return true;
}

/* A partial last block (hipExtModuleLaunchKernel's thread counts): lanes beyond the grid do not run. */
uint64_t clipped(const Launch &launch, const Group &group, uint32_t wave, uint64_t exec) {
    const LaunchRequest &r = *launch.request;
    for (uint32_t lane = 0; lane < launch.wave_size; lane++) {
        uint64_t t = uint64_t(wave) * launch.wave_size + lane;
        if (t >= r.block.count()) break;
        uint64_t id[3] = {t % r.block.x, t / r.block.x % r.block.y, t / r.block.x / r.block.y};
        uint64_t size[3] = {r.block.x, r.block.y, r.block.z};
        for (int i = 0; i < 3; i++)
            if (group.id[i] * size[i] + id[i] >= r.threads[i]) exec &= ~(1ull << lane);
    }
    return exec;
}

void start_group(Worker &worker, Group &group, uint64_t block) {
    Launch &launch = *worker.launch;
    const dim3 &grid = launch.request->grid;
    if (config().shuffle_blocks) block = shuffled(block, launch.blocks, launch.shuffle_seed);
    group.block = block;
    group.id[0] = uint32_t(block % grid.x);
    group.id[1] = uint32_t(block / grid.x % grid.y);
    group.id[2] = uint32_t(block / grid.x / grid.y);
    group.live = launch.waves;
    group.epoch = 0;
    group.lds_loads.clear();
    group.waves.resize(launch.waves);
    for (WaveSlot &slot : group.waves) slot.state = WaveState::fresh;
    size_t need = launch.lds_bytes + 128;
    if (group.lds_memory.size() < need) group.lds_memory.resize(need);
    group.lds = reinterpret_cast<uint8_t *>(rounded_up(uint64_t(group.lds_memory.data()), 64));
    if (config().checked) {
        memset(group.lds, config().fill, launch.lds_bytes);
        group.lds_written.assign(launch.lds_bytes, 0);
    }
    if (config().races) races_group_started(group);
    launch.hard_progress.fetch_add(1, std::memory_order_relaxed);
}

void end_wave(Worker &worker, WaveSlot &slot) {
    worker.storage.push_back(slot.storage);
    slot.storage = nullptr;
    slot.state = WaveState::done;
    slot.group->live--;
    worker.launch->hard_progress.fetch_add(1, std::memory_order_relaxed);
}

/* Runs one wave until it stops; false when it faulted and the launch is over. */
bool run_wave(Worker &worker, WaveSlot &slot, int &stop) {
    worker.running = &slot;
    slot.wave.budget = slot.budget;
    slot.slept = false;
    if (sigsetjmp(worker.jump, 0) != 0) {
        worker.in_kernel = 0;
        if (worker.fault_address) report_memory_fault(worker);
        worker.launch->stop = true;
        return false;
    }
    worker.in_kernel = 1;
    stop = worker.launch->kernel->run(&slot.wave);
    worker.in_kernel = 0;
    return true;
}

void release_barrier(Worker &worker, Group &group) {
    Launch &launch = *worker.launch;
    uint32_t ended = 0;
    for (WaveSlot &slot : group.waves) {
        ended += slot.state == WaveState::done;
        if (slot.state == WaveState::barrier) slot.state = WaveState::ready;
    }
    if (ended && config().checked) {
        const WaveSlot *first = nullptr;
        for (WaveSlot &slot : group.waves)
            if (!first && slot.state == WaveState::ready) first = &slot;
        Fault fault;
        fault.kind = "barrier";
        fault.kernel = launch.kernel->symbol;
        memcpy(fault.group, group.id, sizeof fault.group);
        fault.wave = first ? first->wave.wave_in_group : 0;
        fault.detail = std::to_string(ended) + " of " + std::to_string(launch.waves) +
                       " waves ended before this barrier, so not every thread of the block reached it";
        fault.hardware = "AMD hardware counts only waves that still run, so it goes on; CUDA does not define it";
        report_fault(fault);
    }
    group.epoch++;
    launch.hard_progress.fetch_add(1, std::memory_order_relaxed);
}

enum class Outcome { finished, waiting, working, stopped };

/* Runs a group's waves round robin until all have ended, all wait, or its rounds are used up. */
Outcome run_group(Worker &worker, Group &group, const Sizes &sizes) {
    Launch &launch = *worker.launch;
    bool partial = launch.request->threads[0] % launch.request->block.x ||
                   launch.request->threads[1] % launch.request->block.y ||
                   launch.request->threads[2] % launch.request->block.z;
    for (unsigned round = 0; round < ROUNDS; round++) {
        bool moved = false;
        uint32_t at_barrier = 0;
        for (uint32_t i = 0; i < launch.waves; i++) {
            WaveSlot &slot = group.waves[i];
            if (slot.state == WaveState::done) continue;
            if (slot.state == WaveState::barrier) {
                at_barrier++;
                continue;
            }
            if (slot.state == WaveState::gws) {
                if (launch.gws_epoch.load(std::memory_order_acquire) == slot.gws_epoch) continue;
                slot.state = WaveState::ready;
                moved = true;
            }
            if (slot.state == WaveState::fresh) {
                if (!start_wave(worker, group, slot, i, sizes)) {
                    say("no memory for the registers of a wave of %s", launch.kernel->symbol);
                    launch.stop = true;
                    return Outcome::stopped;
                }
                if (partial) slot.wave.exec = clipped(launch, group, i, slot.wave.exec);
                if (!slot.wave.exec) {
                    end_wave(worker, slot);
                    continue;
                }
            }
            int stop = KPT_DONE;
            if (!run_wave(worker, slot, stop)) return Outcome::stopped;
            if (stop == KPT_DONE) {
                end_wave(worker, slot);
                moved = true;
            } else if (stop == KPT_BARRIER) {
                slot.state = WaveState::barrier;
                at_barrier++;
                moved = true;
            } else if (slot.state != WaveState::gws) {
                if (new_state(launch, slot)) moved = moved || !slot.slept;
            }
        }
        if (group.live == 0) return Outcome::finished;
        if (at_barrier == group.live) {
            release_barrier(worker, group);
            moved = true;
            round = 0;
        }
        if (launch.stop.load(std::memory_order_relaxed)) return Outcome::stopped;
        answer_host_calls();
        if (!moved) return Outcome::waiting;
    }
    return Outcome::working;
}

struct Watch {
    double hard_time, soft_time;
    uint64_t hard = 0, soft = 0;
};

/* True when the launch leaves its worker: nothing can go on, nothing came to an end for too long, or the program should go
 * on beside it. Launches in the background are looked after where the program waits for them. */
bool leaves(Launch &launch, const std::deque<Group *> &resident, Watch &watch) {
    if (launch.background) return false;
    const double limit = config().watchdog_s, time = seconds_now();
    uint64_t hard = launch.hard_progress.load(std::memory_order_relaxed),
             soft = launch.soft_progress.load(std::memory_order_relaxed);
    if (hard != watch.hard) watch.hard = hard, watch.hard_time = watch.soft_time = time;
    if (soft != watch.soft) watch.soft = soft, watch.soft_time = time;
    if (limit > 0) {
        bool stuck = time - watch.soft_time > std::min(limit, STUCK_S), endless = time - watch.hard_time > limit;
        if (stuck || endless) {
            if (!launch.stop.exchange(true))
                report_stuck(launch, {resident.begin(), resident.end()}, stuck ? Stuck::deadlock : Stuck::endless, "");
            return true;
        }
    }
    if (config().debug || time - watch.hard_time < (limit > 0 ? std::min(LONG_S, limit / 2) : LONG_S)) return false;
    launch.pause = Pause::long_one;
    return true;
}

void retire(Worker &worker, Group *group) {
    if (config().races) races_group_ended(*group);
    worker.spare.emplace_back(group);
}

/* Whether no wave of any worker can go on by itself, while at least one looks at memory that something outside may write.
 * `at` is the progress since which this worker saw all its waves come back to states they had been in. */
bool all_quiet(Launch &launch, unsigned index, uint64_t at, const std::deque<Group *> &resident) {
    bool spins = false;
    for (const Group *group : resident)
        for (const WaveSlot &slot : group->waves) spins = spins || slot.state == WaveState::ready;
    std::lock_guard<std::mutex> lock(launch.mutex);
    launch.quiet[index] = {at, spins};
    spins = false;
    for (const Launch::Quiet &one : launch.quiet) {
        if (one.at != at && one.at != GONE) return false;
        spins = spins || one.spins;
    }
    return spins && launch.progress() == at;
}

/* The next of the groups that the launch held when it paused, or null. */
Group *parked_group(Worker &worker) {
    Launch &launch = *worker.launch;
    std::lock_guard<std::mutex> lock(launch.mutex);
    if (launch.parked.empty()) return nullptr;
    Group *group = launch.parked.front();
    launch.parked.pop_front();
    for (WaveSlot &slot : group->waves) slot.wave.counters = &worker.counters;
    return group;
}

Group *new_group(Worker &worker) {
    Launch &launch = *worker.launch;
    const uint64_t block = launch.next.fetch_add(1, std::memory_order_relaxed);
    if (block >= launch.blocks) return nullptr;
    if (worker.spare.empty()) worker.spare.push_back(std::make_unique<Group>());
    Group *group = worker.spare.back().release();
    worker.spare.pop_back();
    start_group(worker, *group, block);
    return group;
}

Group *first_of(std::deque<Group *> &groups) {
    if (groups.empty()) return nullptr;
    Group *group = groups.front();
    groups.pop_front();
    return group;
}

/* Runs groups until there are none left, or the launch stops or pauses; what is left then is in `resident`. */
void run_groups(Worker &worker, std::deque<Group *> &resident) {
    Launch &launch = *worker.launch;
    const Sizes sizes = storage_sizes(launch);
    Watch watch{seconds_now(), seconds_now()};
    uint64_t seen = BUSY;
    unsigned calm = 0, slices = 0;
    size_t quiet = 0;
    while (!launch.stop.load(std::memory_order_relaxed) &&
           launch.pause.load(std::memory_order_relaxed) == Pause::none) {
        if (launch.background && (turn_is_wanted() || seconds_now() > launch.slice_end)) {
            launch.pause = Pause::turn;
            break;
        }
        Group *group = launch.resumed ? parked_group(worker) : nullptr;
        if (!group && slices == 0 && resident.size() < launch.resident_per_worker) group = new_group(worker);
        if (!group) group = first_of(resident);
        if (!group) break;
        Outcome outcome = run_group(worker, *group, sizes);
        if (outcome == Outcome::finished) {
            launch.finished.fetch_add(1, std::memory_order_relaxed);
            retire(worker, group);
            calm = slices = 0;
            quiet = 0;
            continue;
        }
        /* A group that works goes on for a while; one that waits lets the others go before it. */
        slices = outcome == Outcome::working ? (slices + 1) % SLICES : 0;
        if (slices)
            resident.push_front(group);
        else
            resident.push_back(group);
        if (outcome == Outcome::stopped || leaves(launch, resident, watch)) return;
        if (outcome != Outcome::waiting) {
            calm = 0;
            quiet = 0;
            continue;
        }
        const uint64_t at = launch.progress();
        quiet = at == seen ? quiet + 1 : 0;
        seen = at;
        if (quiet > resident.size() * 2 + (launch.background ? 0 : 16) &&
            all_quiet(launch, worker.index, at, resident)) {
            launch.pause = Pause::stalled;
            return;
        }
        /* Everything here waits for another worker: let it have the core. */
        if (++calm > resident.size() * 2 + 16) {
            timespec pause{0, 50000};
            nanosleep(&pause, nullptr);
        }
    }
    if (!resident.empty()) return;
    std::lock_guard<std::mutex> lock(launch.mutex);
    launch.quiet[worker.index] = {GONE, false};
}

double thread_seconds() {
    timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return double(time.tv_sec) + 1e-9 * double(time.tv_nsec);
}

void drop(Group *group) {
    for (WaveSlot &slot : group->waves) free(slot.storage);
    if (config().races) races_group_ended(*group);
    delete group;
}

} // namespace

Launch::~Launch() {
    for (Group *group : parked) drop(group);
}

static void work(Launch &launch, unsigned index) {
    watch_faults();
    const double before = launch.background ? thread_seconds() : 0;
    auto worker = std::make_unique<Worker>();
    worker->launch = &launch;
    worker->index = index;
    if (config().counted) {
        worker->place_counts.assign(launch.kernel->place_count, 0);
        worker->counters.per_place = worker->place_counts.data();
    }
    this_worker = worker.get();
    std::deque<Group *> resident;
    run_groups(*worker, resident);
    for (uint8_t *block : worker->storage) free(block);
    this_worker = nullptr;
    if (config().counted) merge_counters(launch, worker->counters, worker->place_counts);
    if (resident.empty() && !launch.background) return;
    std::lock_guard<std::mutex> lock(launch.mutex);
    launch.parked.insert(launch.parked.end(), resident.begin(), resident.end());
    if (launch.background) launch.cpu_seconds += thread_seconds() - before;
}

static std::atomic<int> running_grids{0};

/* exit() while kernels run on other threads: what they run on must not be taken apart under them. */
static void leave_in_the_middle(int status, void *) {
    finish_all("");
    if (!running_grids.load()) return;
    report_end();
    fflush(nullptr);
    _exit(status);
}

bool run_blocks(Launch &launch) {
    static const int registered = on_exit(leave_in_the_middle, nullptr);
    (void)registered;
    unsigned threads = config().threads;
    if (launch.blocks < threads) threads = unsigned(launch.blocks);
    launch.resumed = !launch.parked.empty();
    launch.pause = Pause::none;
    launch.quiet.assign(threads, {BUSY, false});
    running_grids++;
    pool_run(threads, [&launch](unsigned index) { work(launch, index); });
    running_grids--;
    return launch.stop || launch.pause == Pause::none || launch.finished == launch.blocks;
}

} // namespace kpt
