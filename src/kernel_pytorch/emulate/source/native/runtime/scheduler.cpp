/* Runs a grid: blocks over all cores, the threads of a block as fibers in an order that the seed decides. */
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <thread>

#include "errors.h"
#include "fiber.h"
#include "runtime.h"

extern "C" {
__thread uint32_t threadIdx[3], blockIdx[3], blockDim[3], gridDim[3];
}

namespace kpt {

extern "C" {
__thread Thread *kpt_current;
}
__thread int64_t budget;

namespace {

std::atomic<int> stop_error{0};
std::atomic<uint64_t> next_block{0};
std::atomic<uint64_t> progress{0};
std::atomic<bool> running{false};
uint32_t next_serial = 1;
uint64_t launch_number = 0;
/* Blocks that wait for blocks that have not begun: so many slices without progress, and one more is begun. */
const uint64_t PATIENCE = 20000;
const uint32_t MOST_THREADS = 65536;

void fiber_main() {
    Thread *thread = kpt_current;
    const KptLaunch &what = worker_of(thread)->launch->what;
    what.invoke(what.arguments);
    thread->at = At::done;
    kpt_switch(&thread->stack_pointer, worker_of(thread)->stack_pointer);
}

uint64_t block_at(const Launch &launch, uint64_t order) {
    if (!settings.shuffle_blocks || launch.blocks < 2) return order;
    /* A walk with a step that has no factor in common with the number of blocks meets each one once. */
    uint64_t state = settings.seed * 77 + 5;
    uint64_t step = next_random(state) % launch.blocks | 1, start = next_random(state) % launch.blocks;
    auto common = [](uint64_t a, uint64_t b) {
        while (b) {
            uint64_t c = a % b;
            a = b;
            b = c;
        }
        return a;
    };
    while (common(step, launch.blocks) != 1) step++;
    return (start + (__uint128_t)order * step) % launch.blocks;
}

void admit(Worker &worker, uint64_t order) {
    Launch &launch = *worker.launch;
    const KptLaunch &what = launch.what;
    auto *block = new Block();
    block->linear = block_at(launch, order);
    block->index[0] = block->linear % what.grid[0];
    block->index[1] = block->linear / what.grid[0] % what.grid[1];
    block->index[2] = block->linear / what.grid[0] / what.grid[1];
    block->serial = launch.serial_base + uint32_t(block->linear);
    block->worker = &worker;
    block->live = launch.threads_per_block;
    block->arena = take_arena(what.shared_bytes);
    block->warps.resize((block->live + WARP - 1) / WARP);
    take_threads(block->threads, block->live);
    if (worker.resident.empty())
        worker.random = settings.seed * 0x9e3779b97f4a7c15ull + launch_number * 0x100000001b3ull + block->linear;
    for (uint32_t i = 0; i < launch.threads_per_block; i++) {
        Thread *t = block->threads[i];
        t->block = block;
        t->number = uint16_t(i);
        t->lane = i % WARP;
        t->warp = i / WARP;
        t->index[0] = i % what.block[0];
        t->index[1] = i / what.block[0] % what.block[1];
        t->index[2] = i / what.block[0] / what.block[1];
        t->at = At::ready;
        t->fenced = false;
        t->clock = 1;
        t->fence_clock = 0;
        t->depth = 0;
        t->acquired.clear();
        t->flag_read = 0;
        t->overwrite.address = 0;
        if (settings.races) memset(t->known, 0, sizeof t->known);
        block->warps[t->warp].lanes |= 1u << t->lane;
        prepare_stack(t, fiber_main);
        worker.ready.push_back(t);
    }
    worker.grid_live += block->live;
    worker.resident.push_back(block);
}

void retire(Worker &worker, Block *block) {
    give_arena(block->arena, worker.launch->what.shared_bytes);
    give_threads(block->threads);
    for (size_t i = 0; i < worker.resident.size(); i++) {
        if (worker.resident[i] != block) continue;
        worker.resident[i] = worker.resident.back();
        worker.resident.pop_back();
        break;
    }
    delete block;
}

void ended(Worker &worker, Thread *thread) {
    if (settings.races) settle(thread);
    Block *block = thread->block;
    block->live--;
    worker.grid_live--;
    lane_exited(thread);
    note_progress(worker);
    if (block->live && block->arrived == block->live) open_barrier(*block);
    if (!block->live) retire(worker, block);
    if (worker.grid_arrived && worker.grid_arrived == worker.grid_live) open_grid(worker);
}

void run(Worker &worker, Thread *thread) {
    kpt_current = thread;
    memcpy(threadIdx, thread->index, sizeof threadIdx);
    memcpy(blockIdx, thread->block->index, sizeof blockIdx);
    budget = 16 + int64_t(next_random(worker.random) & 1023);
    worker.slices++;
    kpt_switch(&worker.stack_pointer, thread->stack_pointer);
    kpt_current = nullptr;
}

void deadlock(Worker &worker) {
    for (Block *block : worker.resident) {
        bool at_barrier = false;
        Thread *first = nullptr;
        for (Thread *t : block->threads) {
            if (t->at == At::done || t->at == At::ready) continue;
            if (!first || (t->at == At::warp && first->at != At::warp)) first = t;
            at_barrier |= t->at != At::warp;
        }
        if (!first) continue;
        report_fault({at_barrier ? "barrier" : "collective",
                      first->place,
                      "no thread of the block can go on: " + waiting_text(*block),
                      "the kernel hangs, or goes on with "
                      "undefined results where the hardware does not wait",
                      first,
                      {nullptr, 0}});
        break;
    }
    stop_error = ERROR_LAUNCH_TIMEOUT;
}

bool one_more(Worker &worker) {
    Launch &launch = *worker.launch;
    if ((worker.resident.size() + 1) * launch.threads_per_block > MOST_THREADS) return false;
    uint64_t order = next_block.fetch_add(1);
    if (order >= launch.blocks) return false;
    admit(worker, order);
    return true;
}

void work(Launch &launch) {
    catch_signals();
    Worker worker{};
    worker.launch = &launch;
    memcpy(blockDim, launch.what.block, sizeof blockDim);
    memcpy(gridDim, launch.what.grid, sizeof gridDim);
    if (launch.what.cooperative)
        while (one_more(worker)) {}
    while (!stop_error.load(std::memory_order_relaxed)) {
        if (worker.ready.empty()) {
            if (worker.resident.empty()) {
                if (!one_more(worker)) break;
                continue;
            }
            bool moved = false;
            for (size_t i = 0; i < worker.resident.size() && !moved; i++) moved = resolve_lenient(*worker.resident[i]);
            if (!moved) deadlock(worker);
            continue;
        }
        size_t chosen = next_random(worker.random) % worker.ready.size();
        Thread *thread = worker.ready[chosen];
        worker.ready[chosen] = worker.ready.back();
        worker.ready.pop_back();
        run(worker, thread);
        if (thread->at == At::ready) worker.ready.push_back(thread);
        if (thread->at == At::done) ended(worker, thread);
        if (worker.slices - worker.moved > PATIENCE && one_more(worker)) worker.moved = worker.slices;
    }
    for (Block *block : worker.resident) {
        give_arena(block->arena, launch.what.shared_bytes);
        give_threads(block->threads);
        delete block;
    }
    memset(threadIdx, 0, sizeof threadIdx);
}

void watch() {
    uint64_t seen = 0;
    auto since = std::chrono::steady_clock::now();
    for (;;) {
        std::this_thread::sleep_for(std::chrono::milliseconds(200));
        auto now = std::chrono::steady_clock::now();
        uint64_t here = progress.load(std::memory_order_relaxed);
        if (!running || here != seen) {
            seen = here;
            since = now;
            continue;
        }
        double waited = std::chrono::duration<double>(now - since).count();
        if (waited < settings.watchdog_s) continue;
        if (!stop_error) {
            report_fault({"watchdog",
                          {nullptr, 0},
                          "no thread ended and no barrier was passed for the watchdog's time (--watchdog)",
                          "the kernel hangs, or is slow: raise the watchdog's time if it should run longer",
                          nullptr,
                          {nullptr, 0}});
            stop_error = ERROR_LAUNCH_TIMEOUT;
        } else if (waited > settings.watchdog_s + 3) {
            fprintf(stderr, "kpt: the kernel does not react: the program is ended\n");
            report_end();
            _Exit(1);
        }
    }
}

int check(const KptLaunch &what) {
    for (int i = 0; i < 3; i++)
        if (!what.grid[i] || !what.block[i]) return ERROR_INVALID_CONFIGURATION;
    uint64_t threads = uint64_t(what.block[0]) * what.block[1] * what.block[2];
    if (threads > 1024 || what.block[2] > 64 || what.grid[1] > 65535 || what.grid[2] > 65535 ||
        what.grid[0] > 0x7fffffff)
        return ERROR_INVALID_CONFIGURATION;
    if (what.shared_bytes > 232448) return ERROR_INVALID_VALUE;
    return 0;
}

} // namespace

void note_progress(Worker &worker) {
    worker.moved = worker.slices;
    progress.store(progress.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

Thread *thread_at(Block &block, uint32_t warp, uint32_t lane) { return block.threads[warp * WARP + lane]; }

void make_ready(Thread *thread) {
    thread->at = At::ready;
    if (thread != kpt_current) worker_of(thread)->ready.push_back(thread);
}

bool stopping() { return stop_error.load(std::memory_order_relaxed) != 0; }

void yield(Thread *thread) { kpt_switch(&thread->stack_pointer, worker_of(thread)->stack_pointer); }

void stop_launch(int error) {
    int none = 0;
    stop_error.compare_exchange_strong(none, error);
    Thread *thread = kpt_current;
    thread->at = At::barrier; // never made ready again
    for (;;) yield(thread);
}

} // namespace kpt

using namespace kpt;

extern "C" int kpt_launch(const KptLaunch *what) {
    if (int error = check(*what)) {
        if (error == ERROR_INVALID_CONFIGURATION || error == ERROR_INVALID_VALUE)
            report_fault({"resources",
                          {what->file, uint32_t(what->line)},
                          "block (" + std::to_string(what->block[0]) + "," + std::to_string(what->block[1]) + "," +
                              std::to_string(what->block[2]) + "), grid (" + std::to_string(what->grid[0]) + "," +
                              std::to_string(what->grid[1]) + "," + std::to_string(what->grid[2]) + "), " +
                              std::to_string(what->shared_bytes) + " bytes of dynamic shared memory",
                          "the launch fails and the kernel does not run",
                          nullptr,
                          {nullptr, 0}});
        return error;
    }
    static std::mutex one_at_a_time;
    std::lock_guard<std::mutex> lock(one_at_a_time);
    Launch launch{};
    launch.what = *what;
    launch.blocks = uint64_t(what->grid[0]) * what->grid[1] * what->grid[2];
    launch.threads_per_block = what->block[0] * what->block[1] * what->block[2];
    if (what->cooperative && launch.blocks * launch.threads_per_block > MOST_THREADS)
        return ERROR_COOPERATIVE_TOO_LARGE;
    if (uint64_t(next_serial) + launch.blocks > 0xfffffff0u) {
        if (settings.races) forget_accesses();
        next_serial = 1;
    }
    launch.serial_base = next_serial;
    next_serial += uint32_t(launch.blocks < 0xffffff00u ? launch.blocks : 0);
    launch_number++;
    next_block = 0;
    stop_error = 0;
    progress = progress + 1;
    set_current_launch(&launch);
    static std::once_flag once;
    std::call_once(once, [] { std::thread(watch).detach(); });
    running = true;
    auto began = std::chrono::steady_clock::now();
    uint64_t helpers = what->cooperative || launch.blocks < 2 ? 0 : settings.threads - 1;
    if (helpers >= launch.blocks) helpers = launch.blocks - 1;
    if (launch.blocks * launch.threads_per_block < 1024) helpers = 0;
    std::vector<std::thread> others;
    for (uint64_t i = 0; i < helpers; i++) others.emplace_back([&] { work(launch); });
    work(launch);
    for (auto &other : others) other.join();
    running = false;
    double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
    if (settings.races) forget_launch();
    int error = stop_error;
    if (!error) report_launch(*what, seconds);
    set_current_launch(nullptr);
    return error;
}
