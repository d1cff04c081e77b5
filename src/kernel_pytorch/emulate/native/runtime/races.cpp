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
#include "scheduler.h"

namespace kpt {
namespace {

struct Access {
    uint32_t group = ~0u; /* order number of the workgroup */
    uint32_t epoch = 0;
    uint32_t stamp = 0; /* atomics in the launch before it */
    uint16_t wave = 0;
    uint8_t lane = 0, atomic = 0;
};

struct Byte {
    Access writer, reader;
};

const uint64_t SHADOW_PAGE = 4096;

/* One thread runs blocks while races are looked for, so this needs no lock. */
struct History {
    uint64_t launch = 0;
    std::unordered_map<uint64_t, std::unique_ptr<Byte[]>> pages;
    std::unordered_map<uint64_t, uint32_t> last_atomic; /* by workgroup */
    uint32_t atomics = 0, grid_barrier = 0;
};

History &history() {
    static History *value = new History;
    return *value;
}

struct LdsHistory {
    std::vector<Byte> bytes;
};

bool ordered_in_group(const Access &before, const Access &now) {
    return before.wave == now.wave || before.epoch != now.epoch;
}

bool ordered_between_groups(const History &h, const Access &before, const Access &now) {
    if (before.stamp < h.grid_barrier) return true;
    auto first = h.last_atomic.find(before.group), second = h.last_atomic.find(now.group);
    return first != h.last_atomic.end() && second != h.last_atomic.end() && first->second > before.stamp &&
           second->second > before.stamp;
}

bool conflict(const History *h, const Access &before, const Access &now) {
    if (before.group == ~0u || (before.atomic && now.atomic)) return false;
    if (before.group == now.group) return !ordered_in_group(before, now);
    return h && !ordered_between_groups(*h, before, now);
}

/* Atomic and volatile loads and stores carry a coherence scope in the instruction; plain ones do not. */
bool is_coherent(const KptWave &wave) {
    if (wave.at >= wave.kernel->place_count) return false;
    const char *text = wave.kernel->places[wave.at].text;
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
bool is_first_guess(const KptWave &wave) {
    const KptKernel &kernel = *wave.kernel;
    if (wave.at + 1 >= kernel.place_count) return false;
    const char *load = kernel.places[wave.at].text, *next = kernel.places[wave.at + 1].text;
    if (!strstr(load, "_load_") || !strstr(next, "_atomic_cmpswap")) return false;
    return last_register(load, 0) >= 0 && last_register(load, 0) == last_register(next, 2);
}

std::string who(const Access &a, const char *did) {
    return std::string(did) + " by block number " + std::to_string(a.group) + ", wave " + std::to_string(a.wave) +
           ", lane " + std::to_string(a.lane);
}

/* `address` and `bytes` are the whole access; `byte` is one byte of it. */
void compare(KptWave *wave, const History *h, Byte &byte, const Access &now, uint64_t address, uint32_t bytes,
             uint32_t flags, bool &reported) {
    bool writes = flags & (KPT_WRITE | KPT_ATOMIC), reads = flags & (KPT_READ | KPT_ATOMIC);
    bool write_write = writes && conflict(h, byte.writer, now), read_write = writes && conflict(h, byte.reader, now);
    bool write_read = reads && conflict(h, byte.writer, now);
    if (write_read && byte.writer.atomic && !writes && is_first_guess(*wave)) write_read = false;
    if ((write_write || read_write || write_read) && !reported) {
        reported = true;
        const Access &other = read_write && !write_write && !write_read ? byte.reader : byte.writer;
        std::string text =
            std::string(writes ? "written" : "read") + " while unordered with " +
            who(other, &other == &byte.reader ? "a read" : "a write") +
            (flags & KPT_IN_LDS ? "; no barrier lies between" : "; nothing orders the two inside the launch");
        report_kernel_fault(*wave, KPT_FAULT_RACE, now.lane, address, bytes, text.c_str());
    }
    if (writes) byte.writer = now;
    if (reads) byte.reader = now;
}

} // namespace

void races_group_started(Group &group) {
    History &h = history();
    if (this_worker && h.launch != this_worker->launch->number) {
        h.pages.clear();
        h.last_atomic.clear();
        h.atomics = h.grid_barrier = 0;
        h.launch = this_worker->launch->number;
    }
    delete static_cast<LdsHistory *>(group.lds_history);
    auto *lds = new LdsHistory;
    lds->bytes.resize(this_worker->launch->lds_bytes);
    group.lds_history = lds;
}

void races_grid_barrier() { history().grid_barrier = ++history().atomics; }

void races_group_ended(Group &group) {
    delete static_cast<LdsHistory *>(group.lds_history);
    group.lds_history = nullptr;
}

void check_races(KptWave *wave, uint32_t lane, uint64_t address, uint32_t bytes, uint32_t flags) {
    auto &slot = *static_cast<WaveSlot *>(wave->owner);
    Group &group = *slot.group;
    History &h = history();
    Access now;
    now.group = uint32_t(group.block);
    now.epoch = group.epoch;
    now.stamp = h.atomics;
    now.wave = uint16_t(wave->wave_in_group);
    now.lane = uint8_t(lane);
    now.atomic = (flags & KPT_ATOMIC) || is_coherent(*wave);
    bool reported = false;
    if (flags & KPT_IN_LDS) {
        auto *lds = static_cast<LdsHistory *>(group.lds_history);
        for (uint64_t i = address; lds && i < address + bytes && i < lds->bytes.size(); i++)
            compare(wave, nullptr, lds->bytes[i], now, address, bytes, flags, reported);
        return;
    }
    if (now.atomic) h.last_atomic[now.group] = ++h.atomics;
    Allocation *memory = find(address);
    if (!memory || memory->kind == Kind::internal || memory->kind == Kind::image)
        return; /* the runtime's own protocol */
    for (uint64_t i = address; i < address + bytes; i++) {
        auto &page = h.pages[i / SHADOW_PAGE];
        if (!page) page = std::make_unique<Byte[]>(SHADOW_PAGE);
        compare(wave, &h, page[i % SHADOW_PAGE], now, address, bytes, flags, reported);
    }
}

} // namespace kpt
