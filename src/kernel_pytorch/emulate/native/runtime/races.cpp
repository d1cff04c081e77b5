/* Races: two accesses to a byte, at least one a plain write, that nothing orders. In LDS a barrier orders; in global
 * memory inside one launch, an atomic by the first workgroup after its access and one by the second before its own do
 * too (a flag, a counter, a lock). Lanes of one wave run in step and are not compared. Launches follow each other. */
#include <cstdlib>
#include <cstring>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "checks.h"
#include "config.h"
#include "memory.h"
#include "race_pages.h"
#include "scheduler.h"
#include "stream_order.h"

namespace kpt {
namespace {

enum { COHERENT = 1, FIRST_GUESS = 2, FLAT = 4 };

/* One thread runs blocks while races are looked for, so this needs no lock. */
struct History {
    std::unique_ptr<RacePages> pages = std::make_unique<RacePages>();
    std::vector<Moment> moments{1};
    std::unordered_map<uint32_t, uint32_t> last_atomic; /* by workgroup */
    std::set<Group *> groups;                           /* that run now */
    uint32_t atomics = 0, grid_barrier = 0;
    const void *last_atomic_wave =
        nullptr; /* an atomic's lanes come one after the other: they are one point of order */
    uint32_t last_atomic_at = 0;
    const KptKernel *kernel = nullptr;
    std::vector<uint8_t> places; /* what each instruction's text says about order */
};

/* Each launch has its own: one in the background goes on between others. */
History &history(Launch &launch) {
    if (!launch.race_history) launch.race_history = std::make_shared<History>();
    return *static_cast<History *>(launch.race_history.get());
}

/* Cells of LDS that are below are from before the last barrier. */
void all_before_are_ordered(const History &h, Group &group) {
    group.lds_notes.ordered = uint32_t(h.moments.size()) * KPT_CELL_WAVE;
    for (WaveSlot &slot : group.waves) slot.wave.race_cell = 0;
}

/* Kernels find the cells by these. */
void show_cells(Group &group) {
    group.lds_notes.writers = group.lds_shadow.writers();
    group.lds_notes.readers = group.lds_shadow.readers();
    group.lds_notes.cell_shift = group.lds_shadow.shift();
}

void forget(History &h, Launch &launch) {
    for (UseKind kind : {UseKind::atomic, UseKind::read, UseKind::write})
        h.pages->add_touched(kind, launch.touched[size_t(kind)]);
    h.pages = std::make_unique<RacePages>();
    h.moments.assign(1, Moment());
    for (Group *group : h.groups) {
        group->lds_shadow.start(launch.lds_bytes, Shadow::WORD);
        show_cells(*group);
        all_before_are_ordered(h, *group);
        for (WaveSlot &slot : group->waves) slot.race_moment = NOBODY;
    }
}

bool ordered_between_groups(const History &h, const Moment &before, const Moment &now) {
    if (before.stamp < h.grid_barrier) return true;
    auto first = h.last_atomic.find(before.group), second = h.last_atomic.find(now.group);
    return first != h.last_atomic.end() && second != h.last_atomic.end() && first->second > before.stamp &&
           second->second > before.stamp;
}

/* Whether nothing orders what left a cell and an access that would leave `mine`. */
bool conflict(const History &h, bool in_lds, uint32_t cell, uint32_t mine) {
    const uint32_t earlier = moment_of(cell), later = moment_of(mine);
    if (earlier == NOBODY || (is_atomic(cell) && is_atomic(mine))) return false;
    if (earlier == later) return is_several(cell);
    const Moment &before = h.moments[earlier], &now = h.moments[later];
    if (before.group == now.group) return before.wave != now.wave && before.epoch == now.epoch;
    return !in_lds && !ordered_between_groups(h, before, now);
}

/* Atomic and volatile loads and stores carry a coherence scope in the instruction; plain ones do not. */
bool is_coherent(const char *text) {
    return strstr(text, " sc0") || strstr(text, " sc1") || strstr(text, " glc") || strstr(text, "scope:");
}

/* The text of an operand, by its place in the disassembly; "" where there are not so many. */
std::string operand_of(const char *text, int number) {
    const char *at = strchr(text, ' ');
    while (at && number-- > 0) at = strchr(at + 1, ',');
    if (!at) return "";
    at += strspn(at, " ,");
    return {at, strcspn(at, " ,")};
}

/* The last vector register of an operand: 35 for v35 and v[34:35]; -1 for others. */
int last_register(const std::string &operand) {
    if (operand[0] != 'v') return -1;
    const size_t pair = operand.find(':');
    return atoi(operand.c_str() + (pair == std::string::npos ? 1 : pair + 1));
}

/* Whether a plain load is the first guess of a compare-and-swap loop, which is what the compiler makes of an atomic the
 * GPU has no instruction for: the swap comes next and compares with what was loaded. Where the address is the same for
 * all lanes it is a scalar load, from the base of the swap. */
bool is_first_guess(const KptKernel &kernel, uint32_t at) {
    if (at + 1 >= kernel.place_count) return false;
    const char *load = kernel.places[at].text, *next = kernel.places[at + 1].text;
    if (!strstr(load, "_load_") || !strstr(next, "_atomic_cmpswap")) return false;
    if (strncmp(load, "s_load_", 7) == 0) return operand_of(load, 1) == operand_of(next, 3);
    const int loaded = last_register(operand_of(load, 0));
    return loaded >= 0 && loaded == last_register(operand_of(next, 2));
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
    uint32_t cell;           /* what it leaves, without the lane */
    uint32_t reported = ~0u; /* the lane that was, last: a lane's access is one report */

    bool writes() const { return flags & (KPT_WRITE | KPT_ATOMIC); }
    bool reads() const { return flags & (KPT_READ | KPT_ATOMIC); }
};

void report(const History &h, WaveAccess &access, uint32_t lane, uint32_t other, bool other_read) {
    if (access.reported == lane) return;
    access.reported = lane;
    std::string text =
        std::string(access.writes() ? "written" : "read") + " while unordered with " +
        (moment_of(other) == moment_of(access.cell)
             ? "a read by another wave, in front of this one's own read"
             : who(h.moments[moment_of(other)], lane_of(other), other_read ? "a read" : "a write")) +
        (access.flags & KPT_IN_LDS ? "; no barrier lies between" : "; nothing orders the two inside the launch");
    report_kernel_fault(*access.wave, KPT_FAULT_RACE, int(lane),
                        access.address + uint64_t(lane - access.lane) * access.bytes, access.bytes, text.c_str());
}

/* Whether all cells were left by one moment, which is the usual case. */
bool left_by_one(const uint32_t *cells, uint32_t count) {
    uint32_t other = 0, i = 0;
    for (; i + 16 <= count; i += 16)
        for (uint32_t k = 0; k < 16; k++) other |= cells[i + k] ^ cells[0];
    for (; i < count; i++) other |= cells[i] ^ cells[0];
    return !(other & ~(KPT_CELL_ATOMIC - 1u));
}

/* Whether nothing conflicts; the question is asked once for cells that were left by one moment. */
bool in_order(const History &h, const WaveAccess &access, const uint32_t *cells, uint32_t count) {
    const bool in_lds = access.flags & KPT_IN_LDS;
    if (left_by_one(cells, count)) return !conflict(h, in_lds, cells[0], access.cell);
    uint32_t safe = NOBODY;
    for (uint32_t i = 0; i < count; i++) {
        if ((cells[i] ^ safe) < KPT_CELL_ATOMIC) continue;
        if (conflict(h, in_lds, cells[i], access.cell)) return false;
        safe = cells[i] & ~(KPT_CELL_ATOMIC - 1u);
    }
    return true;
}

/* `count` cells of lanes from that of `mine` on, `to_lane` cells for each, or for each cell the lanes of `lanes`. */
void note(uint32_t *cells, uint32_t count, uint32_t mine, uint32_t to_lane, uint32_t lanes) {
    if (to_lane > 1) {
        for (uint32_t i = 0; i < count; i++) cells[i] = mine + i / to_lane;
        return;
    }
    uint32_t i = 0;
    for (; i + 16 <= count; i += 16)
        for (uint32_t k = 0; k < 16; k++) cells[i + k] = mine + (i + k) * lanes;
    for (; i < count; i++) cells[i] = mine + i * lanes;
}

/* What a plain read leaves of the cell of the reader before it: that there was another wave's plain read, in no order
 * with this one. A write by the wave that read last is a race with that read. */
uint32_t several_after(const History &h, const WaveAccess &access, uint32_t cell) {
    if (is_atomic(access.cell)) return 0;
    if (moment_of(cell) == moment_of(access.cell)) return cell & KPT_CELL_SEVERAL;
    return !is_atomic(cell) && conflict(h, access.flags & KPT_IN_LDS, cell, access.cell) ? KPT_CELL_SEVERAL : 0;
}

/* Some bytes of an access that lie in one shadow: `count` of them from `start`, `done` others of the access before. */
struct Part {
    uint64_t start, count, done;
};

/* Looks at all cells at once. False where one is in conflict; then nothing was noted. */
bool compare_all(const History &h, const WaveAccess &access, Shadow &shadow, const Part &part) {
    const uint32_t shift = shadow.shift(), cells = uint32_t(part.count >> shift);
    uint32_t *writer = shadow.writers() + (part.start >> shift), *reader = shadow.readers() + (part.start >> shift);
    if (part.done % access.bytes) return false; /* a lane on two pages */
    if (!in_order(h, access, writer, cells)) return false;
    if (access.writes() && !in_order(h, access, reader, cells)) return false;
    const uint32_t mine = access.cell + access.lane + uint32_t(part.done / access.bytes);
    const uint32_t to_lane = access.bytes >> shift, lanes = to_lane ? 1 : (1u << shift) / access.bytes;
    if (access.writes()) note(writer, cells, mine, to_lane, lanes);
    if (!access.reads()) return true;
    if (left_by_one(reader, cells)) {
        note(reader, cells, mine | several_after(h, access, reader[0]), to_lane, lanes);
        return true;
    }
    for (uint32_t i = 0; i < cells; i++)
        reader[i] = (mine + (to_lane ? i / to_lane : i * lanes)) | several_after(h, access, reader[i]);
    return true;
}

/* Looks at one cell after the other and reports. */
void compare(const History &h, WaveAccess &access, Shadow &shadow, const Part &part) {
    if (compare_all(h, access, shadow, part)) return;
    shadow.to_words(); /* each lane has a report */
    const bool in_lds = access.flags & KPT_IN_LDS;
    const uint32_t shift = shadow.shift();
    uint32_t *writer = shadow.writers() + (part.start >> shift), *reader = shadow.readers() + (part.start >> shift);
    uint32_t lane = access.lane + uint32_t(part.done / access.bytes);
    uint32_t left = access.bytes - uint32_t(part.done % access.bytes);
    for (uint64_t i = 0; i < part.count >> shift; i++) {
        bool after_write = conflict(h, in_lds, writer[i], access.cell);
        const bool after_read = access.writes() && conflict(h, in_lds, reader[i], access.cell);
        if (after_write && !access.writes() && is_atomic(writer[i]) && access.place & FIRST_GUESS) after_write = false;
        if (after_write || after_read) report(h, access, lane, after_write ? writer[i] : reader[i], !after_write);
        if (access.writes()) writer[i] = access.cell + lane;
        if (access.reads()) reader[i] = (access.cell + lane) | several_after(h, access, reader[i]);
        left -= 1u << shift;
        if (left == 0) {
            lane++;
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
                                   (strncmp(kernel.places[at].text, "flat_", 5) == 0 ? FLAT : 0) |
                                   (is_first_guess(kernel, at) ? FIRST_GUESS : 0));
    }
    return h.places.data();
}

/* The number of what a wave does now; the same one until something orders it. */
uint32_t current_moment(History &h, WaveSlot &slot) {
    const Group &group = *slot.group;
    if (slot.race_moment != NOBODY && slot.race_stamp == h.atomics && slot.race_epoch == group.epoch)
        return slot.race_moment;
    if (h.moments.size() == MOST_MOMENTS) {
        say("races: the history of a launch is full; what came before is forgotten");
        forget(h, *this_worker->launch);
    }
    Moment m;
    m.group = uint32_t(group.block);
    m.epoch = slot.race_epoch = group.epoch;
    m.stamp = slot.race_stamp = h.atomics;
    m.wave = uint16_t(slot.wave.wave_in_group);
    slot.race_moment = uint32_t(h.moments.size());
    h.moments.push_back(m);
    return slot.race_moment;
}

void check_lds_races(History &h, WaveAccess &access, Group &group, uint64_t size) {
    Shadow &lds = group.lds_shadow;
    if (access.address >= lds.bytes()) return;
    if (size > lds.bytes() - access.address) size = lds.bytes() - access.address;
    const uint32_t shift = lds.shift();
    lds.fit(access.address, size, access.bytes);
    if (lds.shift() != shift) show_cells(group);
    compare(h, access, lds, {access.address, size, 0});
}

} // namespace

void races_group_started(Group &group) {
    Launch &launch = *this_worker->launch;
    History &h = history(launch);
    h.groups.insert(&group);
    group.lds_shadow.start(launch.lds_bytes, Shadow::WORD);
    show_cells(group);
    all_before_are_ordered(h, group);
    group.lds_notes.plain = 0;
}

void races_barrier(Group &group) { all_before_are_ordered(history(*this_worker->launch), group); }

void races_grid_barrier() {
    History &h = history(*this_worker->launch);
    h.grid_barrier = ++h.atomics;
}

void races_group_ended(Group &group) { history(*this_worker->launch).groups.erase(&group); }

int race_cell(KptWave *wave) {
    auto &slot = *static_cast<WaveSlot *>(wave->owner);
    if (!wave->race_cell) wave->race_cell = current_moment(history(*this_worker->launch), slot) * KPT_CELL_WAVE;
    return 1;
}

void check_races(KptWave *wave, uint32_t lane, uint32_t lanes, uint64_t address, uint32_t bytes, uint32_t flags,
                 bool counts) {
    auto &slot = *static_cast<WaveSlot *>(wave->owner);
    Group &group = *slot.group;
    Launch &launch = *this_worker->launch;
    History &h = history(launch);
    const uint32_t place = wave->at < wave->kernel->place_count ? places_of(h, *wave->kernel)[wave->at] : 0;
    const uint64_t size = uint64_t(lanes) * bytes;
    const bool in_lds = flags & KPT_IN_LDS;
    /* A load straight into LDS goes past the caches where it reads, not where it writes. */
    const bool atomic = (flags & KPT_ATOMIC) || ((place & COHERENT) && (!in_lds || (place & FLAT)));
    if (!atomic || group.lds_notes.plain) h.last_atomic_wave = nullptr;
    group.lds_notes.plain = 0;
    WaveAccess access{wave, lane, address, bytes, flags, place, atomic ? uint32_t(KPT_CELL_ATOMIC) : 0u};
    if (in_lds) {
        race_cell(wave);
        access.cell |= wave->race_cell;
        check_lds_races(h, access, group, size);
        return;
    }
    const bool goes_on = atomic && h.last_atomic_wave == wave && h.last_atomic_at == wave->at;
    access.cell |= (goes_on && slot.race_moment != NOBODY ? slot.race_moment : current_moment(h, slot)) * KPT_CELL_WAVE;
    if (atomic) {
        if (!goes_on) ++h.atomics;
        h.last_atomic[uint32_t(group.block)] = h.atomics;
        h.last_atomic_wave = wave;
        h.last_atomic_at = wave->at;
    }
    if (!counts) return; /* the runtime's own protocol */
    const UseKind kind = atomic ? UseKind::atomic : flags & KPT_WRITE ? UseKind::write : UseKind::read;
    for (uint64_t done = 0; done < size;) {
        const uint64_t at = address + done, offset = at % SHADOW_PAGE;
        const uint64_t here = size - done < SHADOW_PAGE - offset ? size - done : SHADOW_PAGE - offset;
        RacePage &page = h.pages->page(at);
        page.shadow.fit(offset, here, bytes);
        compare(h, access, page.shadow, {offset, here, done});
        if (!page.touch(kind, uint32_t(offset), uint32_t(here))) launch_touches(at, here, kind);
        done += here;
    }
}

void races_touched(Launch &launch) {
    if (!launch.race_history) return;
    for (UseKind kind : {UseKind::atomic, UseKind::read, UseKind::write})
        history(launch).pages->add_touched(kind, launch.touched[size_t(kind)]);
}

} // namespace kpt
