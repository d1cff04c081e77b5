/* Device memory: one reserved range. Every allocation lies between redzones; a freed one is not used again. */
#include <sys/mman.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>

#include "errors.h"
#include "runtime.h"

extern "C" char __executable_start, _end;

namespace kpt {
namespace {

const uint64_t ALIGN = 256, REDZONE_BYTES = 256, PAGE = 4096;
/* Each protected range may split a mapping in two, and the kernel allows some 65000 of them. */
const uint64_t MOST_GUARDED = 20000;
std::mutex mutex;
/* Never destroyed: the report at the program's end reads them. */
auto &allocations = *new std::map<uintptr_t, Allocation>;
auto &registered = *new std::map<uintptr_t, uint64_t>;
auto &arenas = *new std::vector<uint8_t *>;
auto &spare_parameters = *new std::map<uint64_t, std::vector<uintptr_t>>; // by padded size: a launch each
uintptr_t next_base = HEAP + 4096, next_arena = ARENAS;
uint64_t count = 0, used = 0, guarded = 0;

uint8_t *valid_of(uintptr_t address) { return reinterpret_cast<uint8_t *>(VALID) + (address - HEAP) / 8; }

void reserve(uintptr_t at, uint64_t bytes, int access = PROT_READ | PROT_WRITE) {
    void *got = mmap(reinterpret_cast<void *>(at), bytes, access,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
    if (got == reinterpret_cast<void *>(at)) return;
    fprintf(stderr, "kpt: %llu GB of address space cannot be reserved (%s): is there a limit (ulimit -v)?\n",
            (unsigned long long)(bytes >> 30), strerror(errno));
    _Exit(2);
}

/* Contents that no kernel should rely on, so that reading them shows. */
void fill(uintptr_t base, uint64_t bytes) {
    uint64_t head = bytes < (1 << 20) ? bytes : (1 << 20);
    memset(reinterpret_cast<void *>(base), 0xcb, head);
}

} // namespace

void start_memory() {
    /* Code that no check sees, such as the C library's, runs into unmapped pages instead. */
    reserve(HEAP, HEAP_BYTES, PROT_NONE);
    reserve(ARENAS, ARENAS_BYTES);
    reserve(VALID, SPACE_BYTES / 8);
    reserve(STACKS, STACKS_BYTES);
    if (settings.memory) reserve(WRITTEN, SPACE_BYTES / 8);
    if (!settings.races) return;
    reserve(WORDS, SPACE_BYTES / 4 * sizeof(Word));
    reserve(BYTES, SPACE_BYTES * sizeof(Word));
    start_races();
}

void set_valid(uintptr_t address, uint64_t bytes) {
    memset(valid_of(address), 0, bytes / 8);
    if (bytes % 8) *valid_of(address + bytes) = uint8_t(bytes % 8);
}

void set_invalid(uintptr_t address, uint64_t bytes, State state) { memset(valid_of(address), state, (bytes + 7) / 8); }

void mark_written(uintptr_t address, uint64_t bytes) {
    if (!settings.memory || address - HEAP >= SPACE_BYTES) return;
    auto *bits = reinterpret_cast<uint8_t *>(WRITTEN);
    uintptr_t at = address - HEAP, end = at + bytes;
    if (bytes <= 8 && at % 8 + bytes <= 8) {
        uint8_t mask = uint8_t(((1u << bytes) - 1) << at % 8);
        if ((__atomic_load_n(&bits[at / 8], __ATOMIC_RELAXED) & mask) != mask)
            __atomic_fetch_or(&bits[at / 8], mask, __ATOMIC_RELAXED);
        return;
    }
    while (at < end && at % 8) {
        __atomic_fetch_or(&bits[at / 8], uint8_t(1u << at % 8), __ATOMIC_RELAXED);
        at++;
    }
    uint64_t whole = (end - at) / 8;
    if (at < end) memset(&bits[at / 8], 0xff, whole);
    for (at += whole * 8; at < end; at++) __atomic_fetch_or(&bits[at / 8], uint8_t(1u << at % 8), __ATOMIC_RELAXED);
}

void *allocate(uint64_t bytes, Kind kind) {
    std::lock_guard<std::mutex> lock(mutex);
    if (kind != Kind::parameter && kind != Kind::pinned && used + bytes > total_bytes()) return nullptr;
    uint64_t padded = (bytes + ALIGN - 1) / ALIGN * ALIGN;
    if (kind == Kind::parameter && !spare_parameters[padded].empty()) {
        uintptr_t again = spare_parameters[padded].back();
        spare_parameters[padded].pop_back();
        set_valid(again, bytes);
        allocations[again] = {again, bytes, 0, kind, true};
        return reinterpret_cast<void *>(again);
    }
    uintptr_t base = next_base + REDZONE_BYTES;
    if (bytes >= PAGE) base = (base + 2 * PAGE - 1) / PAGE * PAGE; // a whole page before it stays unmapped
    if (base + padded + REDZONE_BYTES > HEAP + HEAP_BYTES) return nullptr;
    next_base = base + padded;
    uintptr_t first = base / PAGE * PAGE, last = (base + padded + PAGE - 1) / PAGE * PAGE;
    if (mprotect(reinterpret_cast<void *>(first), last - first, PROT_READ | PROT_WRITE) != 0) return nullptr;
    set_invalid(base - REDZONE_BYTES, REDZONE_BYTES, REDZONE);
    set_invalid(base, padded + REDZONE_BYTES, REDZONE);
    set_valid(base, bytes);
    if (kind != Kind::parameter) {
        used += bytes;
        fill(base, bytes);
        if (kind != Kind::device) mark_written(base, bytes); // the host writes there unseen
    }
    allocations[base] = {base, bytes, kind == Kind::parameter ? 0 : ++count, kind, true};
    return reinterpret_cast<void *>(base);
}

int release(void *memory, Kind kind) {
    std::lock_guard<std::mutex> lock(mutex);
    auto found = allocations.find(uintptr_t(memory));
    if (found == allocations.end() || !found->second.live) return ERROR_INVALID_VALUE;
    Allocation &a = found->second;
    bool pinned = a.kind == Kind::pinned;
    if (pinned != (kind == Kind::pinned)) return ERROR_INVALID_VALUE;
    a.live = false;
    if (a.kind != Kind::parameter) used -= a.bytes;
    set_invalid(a.base, a.bytes, FREED);
    if (a.kind == Kind::parameter) {
        spare_parameters[(a.bytes + ALIGN - 1) / ALIGN * ALIGN].push_back(a.base);
        return 0;
    }
    uintptr_t first = (a.base + PAGE - 1) / PAGE * PAGE, last = (a.base + a.bytes) / PAGE * PAGE;
    if (first < last) madvise(reinterpret_cast<void *>(first), last - first, MADV_DONTNEED);
    if (first < last && guarded++ < MOST_GUARDED) mprotect(reinterpret_cast<void *>(first), last - first, PROT_NONE);
    return 0;
}

const Allocation *nearest_allocation(uintptr_t address) {
    std::lock_guard<std::mutex> lock(mutex);
    auto after = allocations.upper_bound(address);
    const Allocation *best = nullptr;
    if (after != allocations.end()) best = &after->second;
    if (after == allocations.begin()) return best;
    const Allocation *before = &std::prev(after)->second;
    if (!best) return before;
    uintptr_t behind = address < before->base + before->bytes ? 0 : address - (before->base + before->bytes);
    return behind <= best->base - address ? before : best;
}

const Allocation *allocation_at(uintptr_t address) {
    const Allocation *near = nearest_allocation(address);
    return near && address >= near->base && address < near->base + (near->bytes ? near->bytes : 1) ? near : nullptr;
}

bool covers(const void *memory, uint64_t bytes) {
    const Allocation *a = allocation_at(uintptr_t(memory));
    return a && a->live && uintptr_t(memory) + bytes <= a->base + a->bytes;
}

bool in_space(uintptr_t address) { return address - HEAP < SPACE_BYTES; }
bool in_image(uintptr_t address) { return address >= uintptr_t(&__executable_start) && address < uintptr_t(&_end); }

bool is_registered(uintptr_t address) {
    std::lock_guard<std::mutex> lock(mutex);
    auto after = registered.upper_bound(address);
    if (after == registered.begin()) return false;
    --after;
    return address < after->first + after->second;
}

void register_host(void *memory, uint64_t bytes, bool on) {
    std::lock_guard<std::mutex> lock(mutex);
    if (on)
        registered[uintptr_t(memory)] = bytes;
    else
        registered.erase(uintptr_t(memory));
}

void each_live(void (*visit)(const Allocation &)) {
    std::lock_guard<std::mutex> lock(mutex);
    for (auto &one : allocations)
        if (one.second.live) visit(one.second);
}

uint64_t used_bytes() { return used; }
uint64_t total_bytes() { return uint64_t(settings.memory_gb * double(1ull << 30)); }

uint8_t *take_arena(uint64_t bytes) {
    std::lock_guard<std::mutex> lock(mutex);
    uint8_t *arena;
    if (arenas.empty()) {
        arena = reinterpret_cast<uint8_t *>(next_arena);
        next_arena += ARENA_BYTES;
        set_invalid(uintptr_t(arena), ARENA_BYTES, UNUSED);
    } else {
        arena = arenas.back();
        arenas.pop_back();
    }
    if (bytes) {
        set_valid(uintptr_t(arena), bytes);
        if (settings.memory)
            memset(reinterpret_cast<uint8_t *>(WRITTEN) + (uintptr_t(arena) - HEAP) / 8, 0, (bytes + 7) / 8);
    }
    return arena;
}

void give_arena(uint8_t *arena, uint64_t bytes) {
    std::lock_guard<std::mutex> lock(mutex);
    set_invalid(uintptr_t(arena), bytes + 7, UNUSED);
    arenas.push_back(arena);
}

} // namespace kpt

using namespace kpt;

namespace {

std::mutex slots_mutex;
const int MOST_SLOTS = 1 << 14;
uint64_t offsets[MOST_SLOTS];
int slot_count = 0;
uint64_t next_slot = ARENA_SLOTS;

} // namespace

extern "C" void *kpt_shared(int *slot, size_t bytes, size_t align, const char *name) {
    Thread *t = kpt_current;
    if (!t) return calloc(1, bytes); // a host pass over code that only kernels run
    if (!__atomic_load_n(slot, __ATOMIC_ACQUIRE)) {
        std::lock_guard<std::mutex> lock(slots_mutex);
        if (!*slot) {
            uint64_t wanted = align > 128 ? align : 128;
            next_slot = (next_slot + 127 + wanted) / wanted * wanted;
            if (next_slot + bytes + 256 > ARENA_BYTES || slot_count + 1 == MOST_SLOTS) {
                fprintf(stderr, "kpt: with %s the program's __shared__ variables take more than %llu bytes together\n",
                        name, (unsigned long long)(ARENA_BYTES - ARENA_SLOTS));
                _Exit(2);
            }
            offsets[++slot_count] = next_slot;
            next_slot += bytes;
            __atomic_store_n(slot, slot_count, __ATOMIC_RELEASE);
        }
    }
    Block &block = *t->block;
    auto number = size_t(*slot);
    if (block.declared.size() <= number) block.declared.resize(number + 8);
    uint64_t offset = offsets[number];
    if (!block.declared[number]) {
        block.declared[number] = 1;
        set_valid(uintptr_t(block.arena) + offset, bytes);
        if (settings.memory)
            memset(reinterpret_cast<uint8_t *>(WRITTEN) + (uintptr_t(block.arena) + offset - HEAP) / 8, 0,
                   (bytes + 7) / 8);
        memset(block.arena + offset, 0xcb, bytes);
    }
    return block.arena + offset;
}

extern "C" void *kpt_dynamic_shared(void) { return kpt_current ? kpt_current->block->arena : nullptr; }
extern "C" size_t kpt_dynamic_shared_bytes(void) {
    return kpt_current ? worker_of(kpt_current)->launch->what.shared_bytes : 0;
}
extern "C" void *kpt_parameters(size_t bytes, size_t align) {
    (void)align;
    void *memory = allocate(bytes ? bytes : 1, Kind::parameter);
    mark_written(uintptr_t(memory), bytes);
    return memory;
}
