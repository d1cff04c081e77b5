/* What the compiler's thread sanitizer calls at every access, and what we check there. */
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>

#include "errors.h"
#include "runtime.h"

extern "C" __thread uint32_t threadIdx[3], blockIdx[3], blockDim[3], gridDim[3];

namespace kpt {
namespace {

std::string hex(uintptr_t value) {
    char text[32];
    snprintf(text, sizeof text, "0x%llx", (unsigned long long)value);
    return text;
}

std::string access_text(bool write, unsigned bytes) {
    return std::string(write ? "write" : "read") + " of " + std::to_string(bytes) + " bytes";
}

[[noreturn]] void host_died(const Fault &fault) {
    report_fault(fault);
    report_end();
    fflush(stdout);
    fprintf(stderr, "kpt: the program is ended: the host used memory that is the device's\n");
    _Exit(139);
}

[[noreturn]] void bad_address(Thread *t, uintptr_t address, unsigned bytes, bool write, Place place) {
    Fault fault{"bounds",
                place,
                access_text(write, bytes),
                "the access hits other data, or the kernel ends with an illegal address",
                t,
                {nullptr, 0}};
    if (address - ARENAS < ARENAS_BYTES) {
        fault.kind = "shared-bounds";
        uintptr_t own = address - uintptr_t(t->block->arena);
        if (own >= ARENA_BYTES)
            fault.detail += " of shared memory of another block";
        else if (own < ARENA_SLOTS)
            fault.detail += " of shared memory at byte " + std::to_string(own) + " of " +
                            std::to_string(worker_of(t)->launch->what.shared_bytes) + " bytes of dynamic shared memory";
        else
            fault.detail += " of shared memory outside every __shared__ variable";
        fault.hardware = "it reads or overwrites the block's other shared variables, or the kernel ends with an error";
    } else if (in_space(address)) {
        const Allocation *near = nearest_allocation(address);
        if (near && near->kind == Kind::parameter) near = nullptr;
        bool inside = near && address >= near->base && address < near->base + near->bytes;
        if (inside && !near->live) {
            fault.kind = "freed";
            fault.detail += " at byte " + std::to_string(address - near->base) + " of allocation " +
                            std::to_string(near->id) + " (" + std::to_string(near->bytes) + " bytes), which is freed";
            fault.hardware = "it reads or overwrites whatever got the memory next";
        } else if (near) {
            bool behind = address >= near->base;
            uint64_t away = behind ? address - near->base - near->bytes : near->base - address;
            if (inside)
                fault.detail += " across the end of allocation ";
            else
                fault.detail +=
                    ", " + std::to_string(away) + " bytes " + (behind ? "behind" : "before") + " allocation ";
            fault.detail += std::to_string(near->id) + " (" + std::to_string(near->bytes) + " bytes)";
        }
    } else if (address < 65536) {
        fault.detail += " through a null pointer (" + hex(address) + ")";
    } else if (address - STACKS < STACKS_BYTES) {
        fault.detail += " of another thread's local memory";
        fault.hardware = "local memory is a thread's own: the same address means the reader's own memory there";
    } else {
        fault.detail += " of host memory (" + hex(address) + ")";
        fault.hardware = "the kernel ends with an illegal address, unless the driver maps all host memory";
    }
    report_fault(fault);
    stop_launch(ERROR_ILLEGAL_ADDRESS);
}

bool is_valid(uintptr_t address, unsigned bytes) {
    auto *valid = reinterpret_cast<uint8_t *>(VALID);
    uintptr_t at = address - HEAP, end = at + bytes;
    for (uintptr_t granule = at / 8; granule * 8 < end; granule++) {
        uint8_t state = valid[granule];
        if (!state) continue;
        uintptr_t last = end - granule * 8 < 8 ? end - granule * 8 : 8; // bytes needed of this granule, from its start
        if (state > 7 || last > state) return false;
    }
    return true;
}

void check_written(Thread *t, uintptr_t address, unsigned bytes, Place place) {
    auto *bits = reinterpret_cast<uint8_t *>(WRITTEN);
    unsigned written = 0;
    uintptr_t at = address - HEAP;
    for (unsigned i = 0; i < bytes; i++) written += bits[(at + i) / 8] >> (at + i) % 8 & 1;
    /* Wide loads also carry padding: only those that hold nothing at all are meant. */
    if (bytes > 4 ? written != 0 : written == bytes) return;
    bool shared = address - ARENAS < ARENAS_BYTES;
    std::string where = "shared memory";
    if (const Allocation *a = shared ? nullptr : allocation_at(address))
        where = "byte " + std::to_string(address - a->base) + " of allocation " + std::to_string(a->id) + " (" +
                std::to_string(a->bytes) + " bytes)";
    report_fault({"unwritten",
                  place,
                  "read of " + std::to_string(bytes) + " bytes that nobody wrote: " + where,
                  "the value is whatever was there before",
                  t,
                  {nullptr, 0}});
}

void host_access(uintptr_t address, unsigned bytes, bool write, Place place) {
    const Allocation *a = allocation_at(address);
    if (a && a->live && a->kind != Kind::device) return;
    if (!a && nearest_allocation(address) && nearest_allocation(address)->kind == Kind::parameter) return;
    if (a && !a->live)
        host_died({"freed",
                   place,
                   access_text(write, bytes) + " on the host, of freed memory",
                   "the program may crash",
                   nullptr,
                   {nullptr, 0}});
    host_died({"host-access",
               place,
               access_text(write, bytes) + " on the host, of device memory",
               "the program crashes: device memory is reached by kernels and cudaMemcpy only",
               nullptr,
               {nullptr, 0}});
}

/* Some compilers show us reads of threadIdx and the like: variables of the OS thread that stand for registers. */
bool is_index(uintptr_t address) {
    for (const uint32_t *index : {threadIdx, blockIdx, blockDim, gridDim})
        if (address - uintptr_t(index) < 12) return true;
    return false;
}

__attribute__((noinline)) void give_way(Thread *t) {
    if (settings.races) settle(t);
    if (stopping()) stop_launch(0);
    yield(t);
}

__attribute__((noinline)) void looked_at(Thread *t, uintptr_t address, unsigned bytes, bool write, bool atomic,
                                         bool is_volatile, Place place) {
    if (settings.races) settle(t);
    if (in_space(address)) {
        if (!is_valid(address, bytes)) bad_address(t, address, bytes, write, place);
        if (address - ARENAS < ARENAS_BYTES && address - uintptr_t(t->block->arena) >= ARENA_BYTES)
            bad_address(t, address, bytes, write, place);
        if (settings.memory) {
            if (write && !atomic)
                mark_written(address, bytes);
            else
                check_written(t, address, bytes, place);
        }
    } else if (is_index(address)) {
        return;
    } else if (!in_image(address) && !is_registered(address)) {
        bad_address(t, address, bytes, write, place);
    } else if (!in_image(address)) {
        return;
    }
    if (settings.races) {
        race_access(t, address, bytes, write, atomic, is_volatile, place);
        if (is_volatile && write) release_to(t, address);
        /* The load comes after this call, and what it sees may be released in between. */
        if (is_volatile && !write) t->flag_read = address;
    }
}

inline __attribute__((always_inline)) void access(uintptr_t address, unsigned bytes, bool write, bool atomic,
                                                  bool is_volatile, Place place) {
    Thread *t = kpt_current;
    if (__builtin_expect(!t, 0)) {
        if (__builtin_expect(address - HEAP < HEAP_BYTES, 0)) host_access(address, bytes, write, place);
        return;
    }
    if (address - uintptr_t(t->stack) < STACK_BYTES) return;
    if (__builtin_expect(--budget <= 0, 0)) give_way(t);
    /* Most accesses: inside an allocation, and nothing but its bounds to check. */
    uintptr_t offset = address - HEAP;
    if (offset < SPACE_BYTES && !settings.memory && (offset & 7) + bytes <= 8 &&
        !reinterpret_cast<const uint8_t *>(VALID)[offset / 8] &&
        (offset < HEAP_BYTES || address - uintptr_t(t->block->arena) < ARENA_BYTES))
        return;
    looked_at(t, address, bytes, write, atomic, is_volatile, place);
}

inline Place caller(void *pc) { return {nullptr, offset_of(uintptr_t(pc) - 1)}; }

void range(uintptr_t address, uint64_t bytes, bool write, Place place) {
    if (!kpt_current && address - HEAP >= HEAP_BYTES) return;
    while (bytes) {
        unsigned part = unsigned(bytes < 16 ? bytes : 16 - address % 16);
        if (part > bytes) part = unsigned(bytes);
        access(address, part, write, false, false, place);
        address += part;
        bytes -= part;
    }
}

} // namespace

void check_access(uintptr_t address, unsigned bytes, bool write, bool atomic, bool is_volatile, Place place) {
    access(address, bytes, write, atomic, is_volatile, place);
}

} // namespace kpt

using namespace kpt;

#define KPT_PC caller(__builtin_return_address(0))

extern "C" {

void __tsan_init() {}
void __tsan_func_entry(void *pc) {
    Thread *t = kpt_current;
    if (!t) return;
    if (t->depth < 64) t->calls[t->depth] = uintptr_t(pc);
    t->depth++;
}
void __tsan_func_exit() {
    Thread *t = kpt_current;
    if (t && t->depth) t->depth--;
}

#define KPT_ACCESS(n)                                                                                                  \
    void __tsan_read##n(void *a) { access(uintptr_t(a), n, false, false, false, KPT_PC); }                             \
    void __tsan_write##n(void *a) { access(uintptr_t(a), n, true, false, false, KPT_PC); }                             \
    void __tsan_unaligned_read##n(void *a) { access(uintptr_t(a), n, false, false, false, KPT_PC); }                   \
    void __tsan_unaligned_write##n(void *a) { access(uintptr_t(a), n, true, false, false, KPT_PC); }                   \
    void __tsan_volatile_read##n(void *a) { access(uintptr_t(a), n, false, false, true, KPT_PC); }                     \
    void __tsan_volatile_write##n(void *a) { access(uintptr_t(a), n, true, false, true, KPT_PC); }                     \
    void __tsan_unaligned_volatile_read##n(void *a) { access(uintptr_t(a), n, false, false, true, KPT_PC); }           \
    void __tsan_unaligned_volatile_write##n(void *a) { access(uintptr_t(a), n, true, false, true, KPT_PC); }           \
    void __tsan_read_write##n(void *a) {                                                                               \
        access(uintptr_t(a), n, false, false, false, KPT_PC);                                                          \
        access(uintptr_t(a), n, true, false, false, KPT_PC);                                                           \
    }                                                                                                                  \
    void __tsan_unaligned_read_write##n(void *a) {                                                                     \
        access(uintptr_t(a), n, false, false, false, KPT_PC);                                                          \
        access(uintptr_t(a), n, true, false, false, KPT_PC);                                                           \
    }
KPT_ACCESS(1)
KPT_ACCESS(2)
KPT_ACCESS(4)
KPT_ACCESS(8)
KPT_ACCESS(16)

void __tsan_vptr_update(void **a, void *) { access(uintptr_t(a), 8, true, false, false, KPT_PC); }
void __tsan_vptr_read(void **a) { access(uintptr_t(a), 8, false, false, false, KPT_PC); }
void __tsan_read_range(void *a, uint64_t n) { range(uintptr_t(a), n, false, KPT_PC); }
void __tsan_write_range(void *a, uint64_t n) { range(uintptr_t(a), n, true, KPT_PC); }

void *kpt_memcpy(void *to, const void *from, size_t n) {
    range(uintptr_t(from), n, false, KPT_PC);
    range(uintptr_t(to), n, true, KPT_PC);
    return memcpy(to, from, n);
}
void *kpt_memmove(void *to, const void *from, size_t n) {
    range(uintptr_t(from), n, false, KPT_PC);
    range(uintptr_t(to), n, true, KPT_PC);
    return memmove(to, from, n);
}
void *kpt_memset(void *to, int value, size_t n) {
    range(uintptr_t(to), n, true, KPT_PC);
    return memset(to, value, n);
}
void *__tsan_memcpy(void *to, const void *from, uint64_t n) {
    range(uintptr_t(from), n, false, KPT_PC);
    range(uintptr_t(to), n, true, KPT_PC);
    return memcpy(to, from, n);
}
void *__tsan_memmove(void *to, const void *from, uint64_t n) {
    range(uintptr_t(from), n, false, KPT_PC);
    range(uintptr_t(to), n, true, KPT_PC);
    return memmove(to, from, n);
}
void *__tsan_memset(void *to, int value, uint64_t n) {
    range(uintptr_t(to), n, true, KPT_PC);
    return memset(to, value, n);
}

/* Device code has a heap of its own; the host's calls go where they always went. */
void *kpt_malloc(size_t bytes) { return kpt_current ? allocate(bytes, Kind::managed) : malloc(bytes); }
void *kpt_calloc(size_t count, size_t bytes) {
    if (!kpt_current) return calloc(count, bytes);
    void *memory = allocate(count * bytes, Kind::managed);
    if (memory) memset(memory, 0, count * bytes);
    return memory;
}
void kpt_free(void *memory) {
    if (!memory) return;
    if (in_space(uintptr_t(memory)))
        release(memory, Kind::managed);
    else
        free(memory);
}
}
