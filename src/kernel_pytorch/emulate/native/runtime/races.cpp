/* Races: two accesses to a byte, at least one a plain write, that nothing orders. In LDS a barrier orders; in global
 * memory inside one launch, an atomic by the first workgroup after its access and one by the second before its own do
 * too (a flag, a counter, a lock). Lanes of one wave run in step and are not compared. Launches follow each other. */
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "checks.h"
#include "config.h"
#include "memory.h"
#include "race_shadow.h"
#include "scheduler.h"

namespace kpt {
namespace {

const uint64_t SHADOW_PAGE = 4096;
const size_t RECENT_PAGES = 64;
enum { COHERENT = 1, FIRST_GUESS = 2 };

/* One thread runs blocks while races are looked for, so this needs no lock. */
struct History {
    std::unordered_map<uint64_t, std::unique_ptr<Shadow>> pages;
    struct {
        uint64_t number = ~0ull;
        Shadow *shadow = nullptr;
    } recent[RECENT_PAGES];
    std::vector<Moment> moments;
    std::unordered_map<uint64_t, uint32_t> last_atomic; /* by workgroup */
    uint32_t atomics = 0, grid_barrier = 0;
    const void *last_atomic_wave =
        nullptr; /* an atomic's lanes come one after the other: they are one point of order */
    uint32_t last_atomic_at = 0;
    const KptKernel *kernel = nullptr;
    std::vector<uint8_t> places; /* what each instruction's text says about order */

    void forget() {
        pages.clear();
        for (auto &one : recent) one = {};
        moments.assign(1, Moment());
    }
    Shadow &page(uint64_t number) {
        auto &quick = recent[number % RECENT_PAGES];
        if (quick.number == number) return *quick.shadow;
        auto &page = pages[number];
        if (!page) page = std::make_unique<Shadow>(uint32_t(SHADOW_PAGE));
        quick.number = number;
        quick.shadow = page.get();
        return *page;
    }
};

/* Each launch has its own: one in the background goes on between others. */
History &history() {
    std::shared_ptr<void> &kept = this_worker->launch->race_history;
    if (!kept) {
        auto made = std::make_shared<History>();
        made->forget();
        kept = made;
    }
    return *static_cast<History *>(kept.get());
}

bool ordered_between_groups(const History &h, const Moment &before, const Moment &now) {
    if (before.stamp < h.grid_barrier) return true;
    auto first = h.last_atomic.find(before.group), second = h.last_atomic.find(now.group);
    return first != h.last_atomic.end() && second != h.last_atomic.end() && first->second > before.stamp &&
           second->second > before.stamp;
}

bool conflict(const History &h, bool in_lds, uint32_t earlier, const Moment &now) {
    if (earlier == NOBODY) return false;
    const Moment &before = h.moments[earlier];
    if (before.atomic && now.atomic) return false;
    if (before.group == now.group) return before.wave != now.wave && before.epoch == now.epoch;
    return !in_lds && !ordered_between_groups(h, before, now);
}

/* Atomic and volatile loads and stores carry a coherence scope in the instruction; plain ones do not. */
bool is_coherent(const char *text) {
    return strstr(text, " sc0") || strstr(text, " sc1") || strstr(text, " glc") || strstr(text, "scope:");
}

/* The last vector register of an operand, by its place in the disassembly: 35 for v35 and v[34:35]; -1 for others. */
int last_register(const char *text, int operand) {
    const char *at = strchr(text, ' ');
    while (at && operand-- > 0) at = strchr(at + 1, ',');
    if (!at) return -1;
    at += strspn(at, " ,");
    if (*at != 'v') return -1;
    const char *number = at[1] == '[' ? strchr(at, ':') : at;
    return number ? atoi(number + 1) : -1;
}

/* Whether a plain load is the first guess of a compare-and-swap loop, which is what the compiler makes of an atomic the
 * GPU has no instruction for: the swap comes next and compares with what was loaded. */
bool is_first_guess(const KptKernel &kernel, uint32_t at) {
    if (at + 1 >= kernel.place_count) return false;
    const char *load = kernel.places[at].text, *next = kernel.places[at + 1].text;
    if (!strstr(load, "_load_") || !strstr(next, "_atomic_cmpswap")) return false;
    return last_register(load, 0) >= 0 && last_register(load, 0) == last_register(next, 2);
}

std::string who(const Moment &m, uint32_t lane, const char *did) {
    return std::string(did) + " by block number " + std::to_string(m.group) + ", wave " + std::to_string(m.wave) +
           ", lane " + std::to_string(lane);
}

/* One access of a wave: lanes from `lane` on, each `bytes` wide, one behind the other from `address`. */
struct WaveAccess {
    KptWave *wave;
    uint32_t lane;
    uint64_t address;
    uint32_t bytes, flags, place;
    uint32_t moment;
    uint32_t reported = ~0u; /* the lane that was, last: a lane's access is one report */
};

void report(const History &h, WaveAccess &access, uint32_t lane, uint32_t other, bool other_read) {
    if (access.reported == lane) return;
    access.reported = lane;
    bool writes = access.flags & (KPT_WRITE | KPT_ATOMIC);
    std::string text =
        std::string(writes ? "written" : "read") + " while unordered with " +
        who(h.moments[moment_of(other)], lane_of(other), other_read ? "a read" : "a write") +
        (access.flags & KPT_IN_LDS ? "; no barrier lies between" : "; nothing orders the two inside the launch");
    report_kernel_fault(*access.wave, KPT_FAULT_RACE, int(lane),
                        access.address + uint64_t(lane - access.lane) * access.bytes, access.bytes, text.c_str());
}

/* The usual case, done without a question for each cell: words that one moment wrote, if any did, and that a wave reads.
 * False where it is another case; then nothing was noted. */
bool read_in_one(const History &h, const WaveAccess &access, const uint32_t *writer, uint32_t *reader, uint32_t cells,
                 uint32_t mine, uint32_t per_lane) {
    uint32_t wrote = moment_of(writer[0]), other = 0;
    for (uint32_t i = 1; i < cells; i++) other |= writer[i] ^ writer[0];
    if (moment_of(other)) return false;
    if (conflict(h, access.flags & KPT_IN_LDS, wrote, h.moments[access.moment])) return false;
    if (per_lane == 1)
        for (uint32_t i = 0; i < cells; i++) reader[i] = mine + i;
    else
        for (uint32_t i = 0; i < cells; i++) reader[i] = mine + i / per_lane;
    return true;
}

/* Looks at the cells of the bytes from `start` of a shadow; `done` bytes of the access came before them. A cell mostly
 * holds what the cell before it held, so the question of order is asked once for each of them. */
void compare(const History &h, WaveAccess &access, Shadow &shadow, uint64_t start, uint64_t bytes, uint64_t done) {
    const Moment now = h.moments[access.moment];
    const bool in_lds = access.flags & KPT_IN_LDS;
    const bool writes = access.flags & (KPT_WRITE | KPT_ATOMIC), reads = access.flags & (KPT_READ | KPT_ATOMIC);
    const uint32_t step = shadow.step();
    uint32_t *writer = shadow.writers() + start / step, *reader = shadow.readers() + start / step;
    uint32_t safe_writer = NOBODY, safe_reader = NOBODY, lane = access.lane + uint32_t(done / access.bytes);
    uint32_t mine = access.moment << LANE_BITS | lane, left = access.bytes - uint32_t(done % access.bytes);
    if (!writes && left == access.bytes &&
        read_in_one(h, access, writer, reader, uint32_t(bytes / step), mine, access.bytes / step))
        return;
    for (uint64_t i = 0; i < bytes / step; i++) {
        uint32_t wrote = moment_of(writer[i]), read = moment_of(reader[i]);
        if (wrote != safe_writer || (writes && read != safe_reader)) {
            bool after_write = conflict(h, in_lds, wrote, now);
            bool after_read = writes && conflict(h, in_lds, read, now);
            if (after_write && !writes && h.moments[wrote].atomic && access.place & FIRST_GUESS) after_write = false;
            if (after_write || after_read) report(h, access, lane, after_write ? writer[i] : reader[i], !after_write);
            if (!after_write) safe_writer = wrote;
            if (!after_read) safe_reader = read;
        }
        if (writes) writer[i] = mine;
        if (reads) reader[i] = mine;
        left -= step;
        if (left == 0) {
            lane++;
            mine++;
            left = access.bytes;
        }
    }
}

const uint8_t *places_of(History &h, const KptKernel &kernel) {
    if (h.kernel != &kernel) {
        h.kernel = &kernel;
        h.places.assign(kernel.place_count + 1, 0);
        for (uint32_t at = 0; at < kernel.place_count; at++)
            h.places[at] = uint8_t((is_coherent(kernel.places[at].text) ? COHERENT : 0) |
                                   (is_first_guess(kernel, at) ? FIRST_GUESS : 0));
    }
    return h.places.data();
}

/* The number of what a wave does now; the same one until something orders it. */
uint32_t current_moment(History &h, WaveSlot &slot, bool atomic) {
    uint32_t &known = slot.race_moment[atomic];
    const Group &group = *slot.group;
    if (known && known < h.moments.size()) {
        const Moment &m = h.moments[known];
        if (m.group == uint32_t(group.block) && m.epoch == group.epoch && m.stamp == h.atomics &&
            m.wave == slot.wave.wave_in_group && m.atomic == atomic)
            return known;
    }
    if (h.moments.size() == MOST_MOMENTS) {
        say("races: the history of a launch is full; what came before is forgotten");
        h.forget();
    }
    Moment m;
    m.group = uint32_t(group.block);
    m.epoch = group.epoch;
    m.stamp = h.atomics;
    m.wave = uint16_t(slot.wave.wave_in_group);
    m.atomic = atomic;
    known = uint32_t(h.moments.size());
    h.moments.push_back(m);
    return known;
}

} // namespace

void races_group_started(Group &group) {
    delete static_cast<Shadow *>(group.lds_history);
    group.lds_history = new Shadow(this_worker->launch->lds_bytes);
}

void races_grid_barrier() { history().grid_barrier = ++history().atomics; }

void races_group_ended(Group &group) {
    delete static_cast<Shadow *>(group.lds_history);
    group.lds_history = nullptr;
}

bool check_races(KptWave *wave, uint32_t lane, uint32_t lanes, uint64_t address, uint32_t bytes, uint32_t flags,
                 bool counts) {
    auto &slot = *static_cast<WaveSlot *>(wave->owner);
    Group &group = *slot.group;
    History &h = history();
    uint32_t place = wave->at < wave->kernel->place_count ? places_of(h, *wave->kernel)[wave->at] : 0;
    bool atomic = (flags & KPT_ATOMIC) || (place & COHERENT);
    bool goes_on = atomic && h.last_atomic_wave == wave && h.last_atomic_at == wave->at;
    if (!atomic) h.last_atomic_wave = nullptr;
    uint32_t moment = goes_on && slot.race_moment[1] ? slot.race_moment[1] : current_moment(h, slot, atomic);
    WaveAccess access{wave, lane, address, bytes, flags, place, moment};
    uint64_t size = uint64_t(lanes) * bytes;
    if (flags & KPT_IN_LDS) {
        auto *lds = static_cast<Shadow *>(group.lds_history);
        if (!lds || address >= lds->bytes()) return atomic;
        if (size > lds->bytes() - address) size = lds->bytes() - address;
        lds->fit(address, size | bytes);
        compare(h, access, *lds, address, size, 0);
        return atomic;
    }
    if (atomic) {
        if (!goes_on) ++h.atomics;
        h.last_atomic[uint32_t(group.block)] = h.atomics;
        h.last_atomic_wave = wave;
        h.last_atomic_at = wave->at;
    }
    if (!counts) return atomic; /* the runtime's own protocol */
    for (uint64_t done = 0; done < size;) {
        uint64_t at = address + done, offset = at % SHADOW_PAGE;
        uint64_t here = size - done < SHADOW_PAGE - offset ? size - done : SHADOW_PAGE - offset;
        Shadow &page = h.page(at / SHADOW_PAGE);
        page.fit(offset, here | bytes);
        compare(h, access, page, offset, here, done);
        done += here;
    }
    return atomic;
}

} // namespace kpt
