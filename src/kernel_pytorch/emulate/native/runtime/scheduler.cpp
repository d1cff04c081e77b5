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
#include "group.h"
#include "pending.h"
#include "pool.h"
#include "report.h"
#include "turn.h"

namespace kpt {

thread_local Worker *this_worker = nullptr;

namespace {

/* How often in a row a working group keeps its worker before other blocks may start beside it. */
const unsigned SLICES = 8;
/* A kernel in which nothing ends for this long goes on in the background: it may wait in a loop that counts or looks at
 * a clock, so that its state is always a new one. */
const double LONG_S = 2;
/* What Launch::Quiet says of a worker that has work to do, and of one that has none any more. */
const uint64_t BUSY = ~0ull, GONE = ~0ull - 1;

struct Watch {
    double hard_time, soft_time;
    uint64_t hard = 0, soft = 0;
};

/* True when the launch leaves its worker: nothing can go on, nothing came to an end for too long, or the program should go
 * on beside it. Launches in the background are looked after where the program waits for them. */
bool leaves(Launch &launch, const std::deque<Group *> &resident, Watch &watch) {
    if (launch.background) return false;
    const double limit = config().watchdog_s, time = seconds_now();
    uint64_t hard = launch.steps(), soft = launch.soft_progress.load(std::memory_order_relaxed);
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
