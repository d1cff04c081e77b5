#include "memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <shared_mutex>
#include <vector>

#include "config.h"
#include "report.h"
#include "stream_order.h"

namespace kpt {
namespace {

const uint64_t PAGE = 4096, GUARD = 64 * 1024; /* strided over-reads land in the guard, not in a neighbour */
const uint64_t QUARANTINE_BYTES = 64ull << 30;
const size_t QUARANTINE_COUNT = 8192;
/* Two mappings per allocation; the kernel's default limit is 65530. Past this, small ones share pages' neighbours. */
const size_t GUARDED_COUNT = 24000;
const uint64_t FILLED_BYTES = 64ull << 20;
const uint64_t HUGE_SPAN = 4ull << 20;

struct Space {
    std::shared_mutex mutex;
    uint64_t arena = 0, arena_bytes = 0, next = 0;
    std::map<uint64_t, Allocation *> live;  /* by base */
    std::map<uint64_t, Allocation *> freed; /* by base */
    std::deque<Allocation *> quarantine;
    uint64_t quarantined = 0;
    std::map<uint64_t, uint64_t> gaps; /* freed address space that may be used again: start -> bytes */
    uint64_t count = 0;
    std::vector<uint64_t> used;
    uint64_t host_used = 0;
};

Space &space() {
    static Space *value = new Space;
    return *value;
}

bool reserve(Space &s) {
    for (uint64_t bytes = 16ull << 40; bytes >= (1ull << 30); bytes /= 2) {
        void *got = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (got == MAP_FAILED) continue;
        s.arena = s.next = uint64_t(got);
        s.arena_bytes = bytes;
        return true;
    }
    return false;
}

/* Address space for `bytes` of pages with a guard above; 0 where none is left. */
uint64_t take(Space &s, uint64_t bytes, uint64_t alignment) {
    uint64_t need = bytes + GUARD;
    if (alignment <= PAGE)
        for (auto gap = s.gaps.begin(); gap != s.gaps.end(); ++gap) {
            if (gap->second < need) continue;
            uint64_t start = gap->first, left = gap->second - need;
            s.gaps.erase(gap);
            if (left) s.gaps[start + need] = left;
            return start;
        }
    uint64_t start = rounded_up(s.next + GUARD, std::max(alignment, PAGE));
    if (start + need > s.arena + s.arena_bytes) return 0;
    s.next = start + need;
    return start;
}

void give(Space &s, uint64_t start, uint64_t bytes) {
    auto after = s.gaps.lower_bound(start);
    if (after != s.gaps.end() && after->first == start + bytes) {
        bytes += after->second;
        after = s.gaps.erase(after);
    }
    if (after != s.gaps.begin()) {
        auto before = std::prev(after);
        if (before->first + before->second == start) {
            before->second += bytes;
            return;
        }
    }
    s.gaps[start] = bytes;
}

void forget_oldest(Space &s) {
    Allocation *old = s.quarantine.front();
    s.quarantine.pop_front();
    s.quarantined -= old->span_bytes;
    s.freed.erase(old->base);
    give(s, old->span, old->span_bytes + GUARD);
    delete old;
}

void fill(const Allocation &a) {
    uint64_t head = std::min(a.bytes, FILLED_BYTES);
    memset(reinterpret_cast<void *>(a.base), config().fill, head);
    /* Filling all of a very large buffer would take the memory that a program may never touch. */
    uint64_t tail = std::min(a.bytes - head, uint64_t(1) << 20);
    if (tail) memset(reinterpret_cast<void *>(a.base + a.bytes - tail), config().fill, tail);
}

uint8_t *bitmap(uint64_t bytes) {
    void *map =
        mmap(nullptr, bytes / 8 + PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return map == MAP_FAILED ? nullptr : static_cast<uint8_t *>(map);
}

Allocation *holder(std::map<uint64_t, Allocation *> &table, uint64_t address) {
    auto after = table.upper_bound(address);
    if (after == table.begin()) return nullptr;
    Allocation *found = std::prev(after)->second;
    return found->holds(address) ? found : nullptr;
}

bool counts_as_device(Kind kind) { return kind == Kind::device || kind == Kind::array || kind == Kind::managed; }

const char *kind_name(const Allocation &a) {
    switch (a.kind) {
    case Kind::device: return "device buffer";
    case Kind::host: return "host buffer (hipHostMalloc)";
    case Kind::managed: return "managed buffer";
    case Kind::registered: return "registered host buffer";
    case Kind::image: return "code object's image";
    case Kind::internal: return "buffer of the runtime";
    case Kind::array: return "array";
    case Kind::mapped: return "mapped device memory (hipMemMap)";
    }
    return "buffer";
}

} // namespace

Allocation *allocate(Kind kind, uint64_t bytes, int device, unsigned flags, hipError_t &error, uint64_t alignment) {
    Space &s = space();
    std::unique_lock<std::shared_mutex> lock(s.mutex);
    error = hipErrorOutOfMemory;
    if (s.used.size() <= size_t(device)) s.used.resize(size_t(device) + 1);
    bool charged = counts_as_device(kind);
    uint64_t limit = config().memory_limit;
    if (charged && (bytes > limit || s.used[size_t(device)] > limit - bytes)) return nullptr;
    if (kind == Kind::host && bytes > config().memory_limit) return nullptr;
    if (!s.arena && !reserve(s)) return nullptr;
    uint64_t align = std::max(alignment, config().alignment);
    uint64_t span_bytes = rounded_up(std::max<uint64_t>(bytes, 1), std::max(PAGE, std::min<uint64_t>(align, PAGE)));
    uint64_t span = take(s, span_bytes, align);
    while (!span && !s.quarantine.empty()) {
        forget_oldest(s);
        span = take(s, span_bytes, align);
    }
    if (!span) return nullptr;
    void *got = mmap(reinterpret_cast<void *>(span), span_bytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
    if (got == MAP_FAILED) {
        give(s, span, span_bytes + GUARD);
        return nullptr;
    }
    if (span_bytes >= HUGE_SPAN) madvise(got, span_bytes, MADV_HUGEPAGE); /* one fault for 2 MiB, not for 4 KiB */
    auto *a = new Allocation;
    a->base = (span + span_bytes - bytes) / align * align;
    if (align > PAGE || s.live.size() > GUARDED_COUNT || config().whole_pages) a->base = span;
    a->bytes = bytes;
    a->kind = kind;
    a->device = device;
    a->flags = flags;
    a->id = kind == Kind::internal || kind == Kind::image ? 0 : ++s.count;
    a->span = span;
    a->span_bytes = span_bytes;
    s.live[a->base] = a;
    if (charged) s.used[size_t(device)] += bytes;
    lock.unlock();
    if (kind != Kind::internal && kind != Kind::image) fill(*a);
    if (config().checked && (kind == Kind::device || kind == Kind::array)) a->written = bitmap(bytes);
    error = hipSuccess;
    return a;
}

Allocation *adopt(void *host, uint64_t bytes, unsigned flags, Kind kind) {
    Space &s = space();
    std::unique_lock<std::shared_mutex> lock(s.mutex);
    uint64_t base = uint64_t(host);
    auto next = s.live.lower_bound(base);
    if (holder(s.live, base) || (next != s.live.end() && next->first < base + bytes)) return nullptr;
    auto *a = new Allocation;
    a->base = a->span = base;
    a->bytes = a->span_bytes = bytes;
    a->kind = kind;
    a->adopted = true;
    a->flags = flags;
    a->id = kind == Kind::registered ? ++s.count : 0;
    s.live[base] = a;
    return a;
}

bool release(uint64_t address) {
    Space &s = space();
    std::unique_lock<std::shared_mutex> lock(s.mutex);
    auto at = s.live.find(address);
    if (at == s.live.end()) return false;
    Allocation *a = at->second;
    if (a->kind == Kind::device) report_buffer(*a, "free");
    forget_uses(a->base);
    s.live.erase(at);
    if (counts_as_device(a->kind)) s.used[size_t(a->device)] -= a->bytes;
    if (a->written) munmap(a->written, a->bytes / 8 + PAGE);
    a->written = nullptr;
    if (a->adopted) {
        delete a;
        return true;
    }
    a->freed = true;
    mmap(reinterpret_cast<void *>(a->span), a->span_bytes, PROT_NONE,
         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
    s.freed[a->base] = a;
    if (a->of_graph) return true; /* its address stays taken: the graph may be launched again */
    s.quarantine.push_back(a);
    s.quarantined += a->span_bytes;
    while (s.quarantine.size() > QUARANTINE_COUNT || s.quarantined > QUARANTINE_BYTES) forget_oldest(s);
    return true;
}

bool allocate_again(uint64_t address) {
    Space &s = space();
    std::unique_lock<std::shared_mutex> lock(s.mutex);
    auto at = s.freed.find(address);
    if (at == s.freed.end()) return s.live.count(address) > 0;
    Allocation *a = at->second;
    uint64_t &used = s.used[size_t(a->device)];
    if (!a->of_graph || a->bytes > config().memory_limit || used > config().memory_limit - a->bytes) return false;
    void *got = mmap(reinterpret_cast<void *>(a->span), a->span_bytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
    if (got == MAP_FAILED) return false;
    a->freed = false;
    used += a->bytes;
    s.freed.erase(at);
    s.live[a->base] = a;
    lock.unlock();
    fill(*a);
    if (config().checked) a->written = bitmap(a->bytes);
    return true;
}

Allocation *find(uint64_t address) {
    Space &s = space();
    std::shared_lock<std::shared_mutex> lock(s.mutex);
    return holder(s.live, address);
}

static std::string size_text(uint64_t bytes) { return std::to_string(bytes) + (bytes == 1 ? " byte" : " bytes"); }

static std::string label(const Allocation &a) {
    std::string text = std::string(kind_name(a));
    if (a.id) text += " #" + std::to_string(a.id);
    return text + " of " + size_text(a.bytes);
}

std::string describe(uint64_t address, bool &freed) {
    Space &s = space();
    std::shared_lock<std::shared_mutex> lock(s.mutex);
    freed = false;
    if (Allocation *a = holder(s.freed, address)) {
        freed = true;
        return std::to_string(address - a->base) + " bytes into " + label(*a) + ", which was freed";
    }
    if (Allocation *a = holder(s.live, address)) return std::to_string(address - a->base) + " bytes into " + label(*a);
    if (address < PAGE * 16) return "a null pointer plus " + size_text(address);
    bool in_arena = address >= s.arena && address < s.arena + s.arena_bytes;
    auto comparable = [in_arena](const Allocation *a) { return a->adopted != in_arena && a->kind != Kind::internal; };
    const Allocation *above = nullptr, *below = nullptr;
    auto after = s.live.upper_bound(address);
    for (auto at = after; at != s.live.end() && !above; ++at)
        if (comparable(at->second)) above = at->second;
    for (auto at = after; at != s.live.begin() && !below;)
        if (comparable((--at)->second)) below = at->second;
    uint64_t up = above ? above->base - address : ~0ull, down = below ? address - (below->base + below->bytes) : ~0ull;
    uint64_t near = in_arena ? 1ull << 32 : 1ull << 20;
    if (down <= up && down < near) return size_text(down) + " past the end of " + label(*below);
    if (up < near) return size_text(up) + " before the start of " + label(*above);
    if (in_arena) return "device address space that nothing was allocated at";
    return "memory of the host that was neither allocated through HIP nor registered: the device cannot reach it";
}

bool is_plain_host(uint64_t address) {
    Space &s = space();
    std::shared_lock<std::shared_mutex> lock(s.mutex);
    bool in_arena = address >= s.arena && address < s.arena + s.arena_bytes;
    return address >= PAGE * 16 && address >> 47 == 0 && !in_arena && !holder(s.live, address);
}

uint64_t used(int device) {
    Space &s = space();
    std::shared_lock<std::shared_mutex> lock(s.mutex);
    return size_t(device) < s.used.size() ? s.used[size_t(device)] : 0;
}

bool charge(int device, uint64_t bytes) {
    Space &s = space();
    std::unique_lock<std::shared_mutex> lock(s.mutex);
    if (s.used.size() <= size_t(device)) s.used.resize(size_t(device) + 1);
    uint64_t limit = config().memory_limit, &in_use = s.used[size_t(device)];
    if (bytes > limit || in_use > limit - bytes) return false;
    in_use += bytes;
    return true;
}

void discharge(int device, uint64_t bytes) {
    Space &s = space();
    std::unique_lock<std::shared_mutex> lock(s.mutex);
    s.used[size_t(device)] -= bytes;
}

static void set_bits(Allocation &a, uint64_t offset, uint64_t bytes) {
    while (bytes && offset % 8) {
        __atomic_fetch_or(&a.written[offset / 8], uint8_t(1u << (offset % 8)), __ATOMIC_RELAXED);
        offset++, bytes--;
    }
    memset(a.written + offset / 8, 0xff, bytes / 8);
    for (offset += bytes / 8 * 8, bytes %= 8; bytes; offset++, bytes--)
        __atomic_fetch_or(&a.written[offset / 8], uint8_t(1u << (offset % 8)), __ATOMIC_RELAXED);
}

void note_written(uint64_t address, uint64_t bytes) {
    if (!config().checked) return;
    Allocation *a = find(address);
    if (a && a->written) set_bits(*a, address - a->base, std::min(bytes, a->base + a->bytes - address));
}

void note_unwritten(uint64_t address, uint64_t bytes) {
    if (!config().checked) return;
    Allocation *a = find(address);
    if (!a || !a->written) return;
    uint64_t first = address - a->base, last = first + std::min(bytes, a->base + a->bytes - address);
    for (uint64_t i = first; i < last; i++) {
        if (i % 8 == 0 && last - i >= 8) {
            a->written[i / 8] = 0;
            i += 7;
        } else {
            __atomic_fetch_and(&a->written[i / 8], uint8_t(~(1u << (i % 8))), __ATOMIC_RELAXED);
        }
    }
}

void note_copied(uint64_t to, uint64_t from, uint64_t bytes) {
    if (!config().checked) return;
    Allocation *a = find(from);
    if (!a || !a->written) return note_written(to, bytes);
    Allocation *b = find(to);
    if (!b || !b->written) return;
    for (uint64_t i = 0; i < bytes && b->holds(to + i) && a->holds(from + i); i++) {
        uint64_t o = from + i - a->base, p = to + i - b->base;
        uint8_t bit = uint8_t(1u << (p % 8));
        if (a->written[o / 8] >> (o % 8) & 1)
            __atomic_fetch_or(&b->written[p / 8], bit, __ATOMIC_RELAXED);
        else
            __atomic_fetch_and(&b->written[p / 8], uint8_t(~bit), __ATOMIC_RELAXED);
    }
}

void release_all() {
    std::vector<uint64_t> bases;
    {
        std::shared_lock<std::shared_mutex> lock(space().mutex);
        for (auto &entry : space().live)
            if (entry.second->id) bases.push_back(entry.first);
    }
    for (uint64_t base : bases) release(base);
}

void each_allocation(void (*visit)(const Allocation &)) {
    std::vector<const Allocation *> all;
    {
        std::shared_lock<std::shared_mutex> lock(space().mutex);
        for (auto &entry : space().live) all.push_back(entry.second);
    }
    std::sort(all.begin(), all.end(), [](const Allocation *a, const Allocation *b) { return a->id < b->id; });
    for (const Allocation *a : all) visit(*a);
}

} // namespace kpt
