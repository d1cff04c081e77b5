/* Which waves go on and which only wait for others. */
#include <algorithm>

#include "scheduler.h"

namespace kpt {

namespace {

/* What is left to a wave that comes back to states it has been in: it waits for another, and only looks again. */
const int64_t LEAST_BUDGET = 64;

uint64_t state_digest(const Launch &launch, const WaveSlot &slot) {
    const KptWave &w = slot.wave;
    uint64_t hash = w.resume * 0x9e3779b97f4a7c15ull + w.exec;
    auto mix = [&hash](const uint32_t *words, size_t count) {
        for (size_t i = 0; i < count; i++) hash = (hash ^ words[i]) * 0x100000001b3ull;
    };
    mix(w.s, KPT_SGPRS);
    mix(w.v, size_t(launch.kernel->vgprs) * launch.wave_size);
    hash ^= uint64_t(w.scc) << 1;
    return hash ? hash : 1;
}

} // namespace

/* A loop that waits need not have the same state at every yield: its rounds and the budget have different lengths. */
bool new_state(Launch &launch, WaveSlot &slot) {
    const uint64_t digest = state_digest(launch, slot);
    const uint32_t kept = sizeof slot.digests / sizeof *slot.digests;
    if (!slot.yields) std::fill_n(slot.digests, kept, 0); /* most waves never yield: their start is cheaper without */
    if (digest != slot.digests[(slot.yields + kept - 1) % kept])
        launch.soft_progress.fetch_add(1, std::memory_order_relaxed);
    bool seen = false;
    for (uint64_t one : slot.digests) seen = seen || one == digest;
    if (!seen) launch.fresh_states.fetch_add(1, std::memory_order_relaxed);
    slot.digests[slot.yields++ % kept] = digest;
    slot.budget = seen ? std::max(LEAST_BUDGET, slot.budget / 2) : BUDGET;
    return !seen;
}

} // namespace kpt
