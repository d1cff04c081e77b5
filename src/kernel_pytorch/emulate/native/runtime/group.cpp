#include "group.h"

#include <cstdlib>
#include <cstring>

#include "config.h"
#include "hostcall.h"
#include "report.h"

namespace kpt {
namespace {

/* Of the waves of a group, until its worker looks at others. */
const unsigned ROUNDS = 16;

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

} // namespace

Sizes storage_sizes(const Launch &launch) {
    size_t lanes = launch.wave_size * 4;
    Sizes s;
    s.vgprs = rounded_up((size_t(launch.kernel->vgprs) + 4) * lanes, 64);
    s.agprs = rounded_up((size_t(launch.kernel->agprs) + 4) * lanes, 64);
    s.scratch = rounded_up(size_t(launch.scratch_lane_bytes) * launch.wave_size + 64, 64);
    s.all = s.vgprs + s.agprs + s.scratch;
    return s;
}

namespace {

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
    memcpy(&w, &launch.start, launch.start_bytes);
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
    w.lds_notes = config().checked ? &group.lds_notes : nullptr;
    slot.group = &group;
    slot.race_moment = 0;
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

} // namespace

void start_group(Worker &worker, Group &group, uint64_t block) {
    Launch &launch = *worker.launch;
    const dim3 &grid = launch.request->grid;
    if (config().shuffle_blocks) block = shuffled(block, launch.blocks, launch.shuffle_seed);
    group.block = block;
    if (grid.y == 1 && grid.z == 1) {
        group.id[0] = uint32_t(block);
        group.id[1] = group.id[2] = 0;
    } else {
        group.id[0] = uint32_t(block % grid.x);
        group.id[1] = uint32_t(block / grid.x % grid.y);
        group.id[2] = uint32_t(block / grid.x / grid.y);
    }
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
        group.lds_notes.written = group.lds_written.data();
    }
    if (config().races) races_group_started(group);
    worker.progress++;
}

namespace {

void end_wave(Worker &worker, WaveSlot &slot) {
    worker.storage.push_back(slot.storage);
    slot.storage = nullptr;
    slot.state = WaveState::done;
    slot.group->live--;
    worker.progress++;
}

/* Runs one wave until it stops, and says why; a fault leaves by the worker's jump. */
int run_wave(Worker &worker, WaveSlot &slot) {
    worker.running = &slot;
    slot.wave.budget = slot.budget;
    slot.slept = false;
    worker.in_kernel = 1;
    const int stop = worker.launch->kernel->run(&slot.wave);
    worker.in_kernel = 0;
    return stop;
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
    if (config().races) races_barrier(group);
    worker.progress++;
}

Outcome run_rounds(Worker &worker, Group &group, const Sizes &sizes) {
    Launch &launch = *worker.launch;
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
                if (launch.partial) slot.wave.exec = clipped(launch, group, i, slot.wave.exec);
                if (!slot.wave.exec) {
                    end_wave(worker, slot);
                    continue;
                }
            }
            const int stop = run_wave(worker, slot);
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

} // namespace

Outcome run_group(Worker &worker, Group &group, const Sizes &sizes) {
    /* Once for all its waves: with barriers they stop and go on every few hundred instructions. */
    if (sigsetjmp(worker.jump, 0) != 0) {
        worker.in_kernel = 0;
        if (worker.fault_address) report_memory_fault(worker);
        worker.launch->stop = true;
        return Outcome::stopped;
    }
    const Outcome outcome = run_rounds(worker, group, sizes);
    /* Shared between the workers, so it is touched once and not for every wave. A group that has ended is counted as one. */
    if (worker.progress && outcome != Outcome::finished)
        worker.launch->hard_progress.fetch_add(worker.progress, std::memory_order_relaxed);
    worker.progress = 0;
    return outcome;
}

} // namespace kpt
