/* The source-level GPU: every thread a fiber, every block on one OS thread, warps of 32 lanes. */
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "../include/kpt/abi.h"

namespace kpt {

constexpr unsigned WARP = 32;
constexpr size_t STACK_BYTES = 512 << 10;

/* Fixed addresses: a check is then a subtraction and a compare. All of it is reserved and takes memory when touched. */
constexpr uintptr_t HEAP = 0x100000000000, HEAP_BYTES = uintptr_t(1) << 38;
constexpr uintptr_t ARENAS = HEAP + HEAP_BYTES, ARENAS_BYTES = uintptr_t(1) << 34;
constexpr uintptr_t SPACE_BYTES = HEAP_BYTES + ARENAS_BYTES;
constexpr uintptr_t VALID = 0x180000000000;   // one byte per 8: 0 all of them, 1 to 7 the first ones, else a State
constexpr uintptr_t WRITTEN = 0x190000000000; // one bit per byte
constexpr uintptr_t WORDS = 0x200000000000;   // a Word per 4 bytes
constexpr uintptr_t BYTES = 0x300000000000;   // a Word per byte, where bytes of a word were touched one by one

constexpr uintptr_t STACKS = 0x400000000000, STACKS_BYTES = uintptr_t(65536) * STACK_BYTES;
constexpr uint64_t ARENA_BYTES = 4 << 20, ARENA_SLOTS = 1 << 20; // extern __shared__ first, then the others

enum State : uint8_t { UNUSED = 0xf8, REDZONE = 0xf9, FREED = 0xfa };
enum class Kind : uint8_t { device, managed, pinned, parameter };

struct Place {
    const char *file; // null: `line` is an offset into the program, to be looked up in its debug information
    uint32_t line;
};

/* One access as shadow memory keeps it. Serial numbers blocks over all launches: an older launch's is smaller. */
struct Access {
    uint32_t serial, place, thread : 10, atomic : 1, is_volatile : 1, clock : 20;
};
struct Word {
    uint32_t lock : 1, split : 1;
    Access write, reads[2];
};

struct Block;
struct Worker;

enum class At : uint8_t { ready, barrier, warp, grid, done };

struct SyncLog;
struct Acquired {
    SyncLog *log;
    uint32_t version;
};

struct Overwrite {
    uintptr_t address;
    unsigned bytes;
    bool is_volatile;
    uint8_t before[16];
    Access first;
    Place place;
};

struct Thread {
    void *stack_pointer;
    uint8_t *stack;
    Block *block;
    uint32_t index[3];
    uint16_t number; // in its block
    uint8_t lane;
    At at;
    bool fenced;
    uint32_t warp;
    uint32_t clock, fence_clock;
    uint32_t known[WARP]; // by lane of this warp: clocks that __syncwarp has ordered before us
    std::vector<Acquired> acquired;
    uintptr_t flag_read; // a volatile read whose value may have been released since: acquired at the next step
    Overwrite overwrite; // a second write without order: a race unless it turns out to have written the same value
    /* What it waits for. */
    Place place;
    int kind, argument, width, predicate;
    uint32_t mask;
    uint64_t value, result;
    int other;
    /* Return addresses of the functions it is in, for accesses inside library code. */
    uint32_t depth;
    uintptr_t calls[64];
};

struct Group { // lanes that wait for each other
    int kind;
    uint32_t mask, arrived;
    bool lenient;
    Place place;
};

struct Warp {
    uint32_t lanes, exited;
    std::vector<Group> groups;
};

struct Block {
    uint32_t index[3];
    uint32_t serial;
    uint64_t linear;
    std::vector<Thread *> threads;
    std::vector<Warp> warps;
    uint32_t live, arrived, at_grid;
    uint32_t barrier_clock;
    uint8_t *arena;
    std::vector<uint8_t> declared; // by slot
    std::vector<Acquired> acquired;
    Worker *worker;
};

struct Launch {
    KptLaunch what;
    uint64_t blocks;
    uint32_t threads_per_block, serial_base;
    uint32_t grid_clock;
};

struct Worker {
    void *stack_pointer;
    Launch *launch;
    std::vector<Thread *> ready;
    std::vector<Block *> resident;
    uint64_t random;
    uint64_t slices, moved; // moved: the slice in which a thread last ended or passed a barrier
    uint32_t grid_live, grid_arrived;
};

struct Settings {
    bool memory, races, shuffle_blocks;
    unsigned threads;
    uint64_t seed;
    double watchdog_s, memory_gb;
};

struct Fault {
    const char *kind;
    Place place;
    std::string detail, hardware;
    const Thread *thread; // null: nobody in particular
    Place other;          // a second place, named {other} in detail; file null and line 0: none
};

extern Settings settings;
extern "C" __thread Thread *kpt_current;
extern __thread int64_t budget; // accesses until the running thread gives way

inline Worker *worker_of(const Thread *thread) { return thread->block->worker; }
inline uint64_t next_random(uint64_t &state) {
    state += 0x9e3779b97f4a7c15ull;
    uint64_t z = state;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
}

/* report.cpp */
void report_fault(const Fault &fault);
void report_launch(const KptLaunch &launch, double seconds);
void report_unsupported(const char *function);
void report_end();
void report_buffer(const struct Allocation &allocation);
uint64_t fault_count();
std::string place_text(Place place);
uint32_t offset_of(uintptr_t address);
uint32_t place_number(Place place); // for Access
Place place_of(uint32_t number);
std::string thread_text(uint32_t serial, uint32_t number);
void set_current_launch(Launch *launch);
Launch *current_launch();

/* memory.cpp */
struct Allocation {
    uintptr_t base;
    uint64_t bytes, id;
    Kind kind;
    bool live;
};
void start_memory();
void *allocate(uint64_t bytes, Kind kind);
int release(void *memory, Kind kind);
const Allocation *allocation_at(uintptr_t address);
const Allocation *nearest_allocation(uintptr_t address);
bool covers(const void *memory, uint64_t bytes); // inside one live allocation
void mark_written(uintptr_t address, uint64_t bytes);
void set_valid(uintptr_t address, uint64_t bytes);
void set_invalid(uintptr_t address, uint64_t bytes, State state);
bool in_space(uintptr_t address);
bool in_image(uintptr_t address);
bool is_registered(uintptr_t address);
void register_host(void *memory, uint64_t bytes, bool on);
void each_live(void (*visit)(const Allocation &));
uint64_t used_bytes();
uint64_t total_bytes();
uint8_t *take_arena(uint64_t bytes);
void give_arena(uint8_t *arena, uint64_t bytes);

/* hooks.cpp */
void check_access(uintptr_t address, unsigned bytes, bool write, bool atomic, bool is_volatile, Place place);

/* races.cpp */
void start_races();
void race_access(Thread *thread, uintptr_t address, unsigned bytes, bool write, bool atomic, bool is_volatile,
                 Place place);
void release_to(Thread *thread, uintptr_t address);
void acquire_from(Thread *thread, uintptr_t address);
void settle(Thread *thread); // before a thread's next step: what its last access turned out to be
void order_warp(Warp &warp, Block &block, uint32_t warp_index, uint32_t lanes);
void order_block(Block &block);
void order_grid(Worker &worker);
void forget_launch();   // what fences ordered within it
void forget_accesses(); // serial numbers begin again

/* scheduler.cpp */
void yield(Thread *thread);
void note_progress(Worker &worker);
void make_ready(Thread *thread);
[[noreturn]] void stop_launch(int error);
bool stopping();
Thread *thread_at(Block &block, uint32_t warp, uint32_t lane);

/* barriers.cpp */
void open_barrier(Block &block); // all its threads have come: they go on
void open_grid(Worker &worker);

/* warp.cpp */
void lane_exited(Thread *thread);
bool resolve_lenient(Block &block);
std::string waiting_text(const Block &block);

/* signals.cpp */
void catch_signals();

} // namespace kpt
