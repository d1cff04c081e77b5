/* Loads straight into LDS (global_load_lds, buffer_load ... lds), and what is used of them before they are waited for.
 *
 * The data is there at once here, so the order has to be followed by hand. A wave's own accesses need its wait. Another
 * wave's need the wait and then a barrier: what was under way when the last barrier was passed may still be when that
 * wave reads. Bytes that were loaded behind the last barrier are a race between waves, which --check races finds. */
#include <algorithm>
#include <mutex>
#include <set>
#include <string>
#include <tuple>

#include "checks.h"
#include "config.h"
#include "scheduler.h"

namespace kpt {
namespace {

/* More than the counter holds: an access with that many behind it is done, since the hardware stalls before. */
const uint64_t MOST = 63;

/* Each pair of instructions once. */
bool is_new(const KptWave &wave, const LdsLoad &load) {
    static std::mutex mutex;
    static std::set<std::tuple<const KptKernel *, uint32_t, uint32_t>> *seen =
        new std::set<std::tuple<const KptKernel *, uint32_t, uint32_t>>;
    std::lock_guard<std::mutex> lock(mutex);
    return seen->insert({wave.kernel, load.place, wave.at}).second;
}

void report(const KptWave &wave, const LdsLoad &load, uint32_t lane, uint64_t offset, uint32_t bytes, bool reads) {
    if (!is_new(wave, load)) return;
    const KptPlace &place = wave.kernel->places[load.place];
    const char *counter = config().major >= 12 ? "loadcnt" : "vmcnt";
    std::string what = "offset " + std::to_string(offset) + " in LDS is " + (reads ? "read" : "written") + " while `" +
                       place.text + "`";
    if (*place.file) what += std::string(" at ") + place.file + ":" + std::to_string(place.line);
    what += " of wave " + std::to_string(load.wave) + " may still be writing it";
    what += std::string("\n    a wait for ") + counter;
    if (load.wave == wave.wave_in_group)
        what += "(" + std::to_string(wave.issued - load.number) + ") is missing between the two";
    else
        what += " is missing in that wave, in front of the barrier between the two";
    report_kernel_fault(wave, KPT_FAULT_WAIT, int(lane), offset, bytes, what.c_str());
}

/* Whether a load may be under way where a wave uses its bytes. */
bool is_under_way(const KptWave &wave, const LdsLoad &load, uint32_t epoch) {
    if (load.wave == wave.wave_in_group) return load.waited == ~0u && wave.issued - load.number < MOST;
    return load.begun < epoch && load.waited >= epoch;
}

} // namespace

void vector_wait(KptWave *wave, uint32_t left) {
    Group &group = *static_cast<WaveSlot *>(wave->owner)->group;
    for (LdsLoad &load : group.lds_loads)
        if (load.wave == wave->wave_in_group && load.waited == ~0u && wave->issued - load.number >= left)
            load.waited = group.epoch;
}

void lds_used(KptWave *wave, uint32_t lane, uint32_t lanes, uint64_t offset, uint32_t bytes, uint32_t flags) {
    Group &group = *static_cast<WaveSlot *>(wave->owner)->group;
    std::vector<LdsLoad> &loads = group.lds_loads;
    uint64_t end = offset + uint64_t(lanes) * bytes;
    if (wave->loads_lds) {
        if (!loads.empty() && loads.back().wave == wave->wave_in_group && loads.back().number == wave->issued &&
            loads.back().end == offset) {
            loads.back().end = end;
            return;
        }
        /* What was waited for in front of the last barrier is done for everybody. */
        uint32_t epoch = group.epoch;
        auto is_over = [epoch](const LdsLoad &load) { return load.waited < epoch; };
        loads.erase(std::remove_if(loads.begin(), loads.end(), is_over), loads.end());
        loads.push_back({offset, end, wave->issued, wave->wave_in_group, wave->at, epoch});
        return;
    }
    for (const LdsLoad &load : loads) {
        if (end <= load.first || offset >= load.end || !is_under_way(*wave, load, group.epoch)) continue;
        uint64_t place = offset > load.first ? offset : load.first;
        report(*wave, load, lane + uint32_t((place - offset) / bytes), place, bytes, flags & KPT_READ);
    }
}

} // namespace kpt
