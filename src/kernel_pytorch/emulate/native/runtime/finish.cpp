/* Waiting for what is pending, and seeing that it will never be done. */
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>

#include "config.h"
#include "errors.h"
#include "pending_items.h"
#include "pool.h"
#include "report.h"
#include "scheduler.h"
#include "stream.h"
#include "turn.h"

namespace kpt {
namespace {

const auto LOOK = std::chrono::milliseconds(50);

/* Threads of the process that neither wait for pending work nor are ours: they may still write what a kernel waits for. */
bool others_go_on(const Pending &p) {
    FILE *status = fopen("/proc/self/status", "r");
    char line[256];
    unsigned threads = 0;
    while (status && fgets(line, sizeof line, status))
        if (sscanf(line, "Threads: %u", &threads) == 1) break;
    if (status) fclose(status);
    return threads > p.waiting + pool_threads() + 1 || p.callbacks;
}

std::string state_of_program(const char *call) {
    return *call ? std::string("the program waits for it in ") + call : "the program has ended";
}

/* Nothing will ever be done of it. */
void give_up(Pending &p, Stuck how, const char *call) {
    Turn turn; /* nobody runs a launch while this one lives */
    std::lock_guard<std::mutex> lock(p.mutex);
    if (stuck() != hipSuccess) return;
    bool kernels = false;
    for (const ItemRef &item : p.live) {
        if (!item->launch) continue;
        Launch &launch = *item->launch;
        report_stuck(launch, {launch.parked.begin(), launch.parked.end()}, how, state_of_program(call));
        kernels = true;
    }
    if (kernels) return;
    Fault fault;
    fault.kind = "watchdog";
    fault.detail = "deadlock: a stream waits for a value (hipStreamWaitValue); " + state_of_program(call) +
                   ", and no kernel, copy or thread goes on that could write it";
    fault.hardware = "the stream hangs";
    report_fault(fault);
    stick(hipErrorLaunchFailure);
}

/* Until all have ended, or the device has failed. */
void wait_for_all(std::vector<ItemRef> items, const char *call) {
    Pending &p = pending();
    std::unique_lock<std::mutex> lock(p.mutex);
    p.waiting++;
    const double limit = config().watchdog_s;
    uint64_t hard = p.hard, soft = p.soft;
    double hard_time = seconds_now(), soft_time = hard_time;
    auto all_ended = [&items] {
        while (!items.empty() && items.back()->ended) items.pop_back();
        return items.empty();
    };
    while (!p.done.wait_for(lock, LOOK, all_ended)) {
        const double time = seconds_now();
        if (hard != p.hard) hard = p.hard, hard_time = soft_time = time;
        if (soft != p.soft || launches_of_the_program) soft = p.soft, soft_time = time;
        if (launches_of_the_program) hard_time = time;
        if (limit <= 0) continue;
        const bool endless = time - hard_time > limit;
        const bool dead = time - soft_time > std::min(limit, STUCK_S) && !others_go_on(p);
        if (!dead && !endless) continue;
        const bool truly = dead || time - soft_time > limit;
        lock.unlock();
        give_up(p, truly ? Stuck::deadlock : Stuck::endless, call);
        lock.lock();
    }
    p.waiting--;
}

} // namespace

bool is_pending(const ItemRef &item) {
    if (!item || !anything_pending()) return false;
    Pending &p = pending();
    std::unique_lock<std::mutex> lock(p.mutex);
    if (item->ended) return false;
    const double time = seconds_now();
    if (!p.asked_since || p.asked_at != p.hard + p.soft) p.asked_since = time, p.asked_at = p.hard + p.soft;
    if (config().watchdog_s <= 0 || time - p.asked_since < config().watchdog_s) return true;
    p.asked_since = 0;
    lock.unlock();
    give_up(p, Stuck::deadlock, "a loop that asks for its end");
    return true;
}

void finish(const ItemRef &item, const char *call) {
    if (!item || !anything_pending()) return;
    wait_for_all({item}, call);
}

void finish(const ihipStream_t *stream, int device, const char *call) {
    if (!anything_pending()) return;
    Pending &p = pending();
    std::unique_lock<std::mutex> lock(p.mutex);
    std::vector<ItemRef> items = before_next(p, stream, device);
    auto last = p.lasts.find(key_of(stream, device));
    /* The default stream stands for all blocking ones, any other for itself. */
    if (stream->id) items = last == p.lasts.end() ? std::vector<ItemRef>() : std::vector<ItemRef>{last->second.item};
    lock.unlock();
    wait_for_all(items, call);
}

void finish_device(int device, const char *call) {
    if (!anything_pending()) return;
    Pending &p = pending();
    std::vector<ItemRef> items;
    std::unique_lock<std::mutex> lock(p.mutex);
    for (const ItemRef &item : p.live)
        if (item->device == device) items.push_back(item);
    lock.unlock();
    wait_for_all(items, call);
}

void finish_all(const char *call) {
    if (!anything_pending()) return;
    Pending &p = pending();
    std::unique_lock<std::mutex> lock(p.mutex);
    std::vector<ItemRef> items(p.live.begin(), p.live.end());
    lock.unlock();
    wait_for_all(items, call);
}

} // namespace kpt

using namespace kpt;

/* For the torch device, whose operators run on the host. */
KPT_API int kptPending() { return anything_pending(); }
KPT_API void kptFinish(hipStream_t handle, int device) {
    if (ihipStream_t *stream = resolve(handle)) finish(stream, device, "an operator of torch");
}
