/* What compiled programs and the runtime agree on. Plain C: the runtime is built once, programs every time. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Where a call stands in the user's source: filled in by default arguments at the call. */
#define KPT_HERE const char *kpt_file = __builtin_FILE(), int kpt_line = __builtin_LINE()
#define KPT_PLACE kpt_file, kpt_line

extern "C" {

enum KptWarpKind {
    KPT_SYNCWARP,
    KPT_SHFL,
    KPT_SHFL_UP,
    KPT_SHFL_DOWN,
    KPT_SHFL_XOR,
    KPT_BALLOT,
    KPT_ANY,
    KPT_ALL,
    KPT_UNI,
    KPT_MATCH_ANY,
    KPT_MATCH_ALL,
    KPT_ADD_U,
    KPT_MIN_U,
    KPT_MAX_U,
    KPT_MIN_S,
    KPT_MAX_S,
    KPT_AND,
    KPT_OR,
    KPT_XOR,
    KPT_ACTIVE
};

enum KptAtomic {
    KPT_ATOMIC_ADD,
    KPT_ATOMIC_SUB,
    KPT_ATOMIC_EXCHANGE,
    KPT_ATOMIC_MIN_S,
    KPT_ATOMIC_MIN_U,
    KPT_ATOMIC_MAX_S,
    KPT_ATOMIC_MAX_U,
    KPT_ATOMIC_AND,
    KPT_ATOMIC_OR,
    KPT_ATOMIC_XOR,
    KPT_ATOMIC_INC,
    KPT_ATOMIC_DEC,
    KPT_ATOMIC_CAS,
    KPT_ATOMIC_ADD_F,
    KPT_ATOMIC_MIN_F,
    KPT_ATOMIC_MAX_F,
    KPT_ATOMIC_LOAD,
    KPT_ATOMIC_STORE
};

/* Rendezvous of the lanes in `mask` that have not exited. `lenient`: no mask was given, so whoever is there takes part.
   `argument` is the lane or distance of a shuffle; `other` gets a second result (match_all's predicate). */
uint64_t kpt_warp(int kind, uint32_t mask, int lenient, uint64_t value, int argument, int width, int *other,
                  const char *file, int line);

/* mode 0 plain, 1 count, 2 and, 3 or. */
int kpt_syncthreads(int mode, int predicate, const char *file, int line);
void kpt_syncgrid(const char *file, int line);
void kpt_fence(int scope);

uint64_t kpt_atomic(int operation, int bytes, void *address, uint64_t value, uint64_t compare, int block_scope,
                    const char *file, int line);

/* The block's storage of one __shared__ variable (`*slot` is its number, 0 before its first use), and extern ones. */
void *kpt_shared(int *slot, size_t bytes, size_t align, const char *name);
void *kpt_dynamic_shared(void);
size_t kpt_dynamic_shared_bytes(void);

int kpt_in_kernel(void);
int kpt_lane(void);
unsigned kpt_warp_index(void);
int kpt_is_cooperative(void);
uint64_t kpt_clock(void);
uint64_t kpt_globaltimer(void);
void kpt_sleep(unsigned nanoseconds);
void kpt_round(int mode); // 0 to nearest, 1 towards zero, 2 up, 3 down
[[noreturn]] void kpt_trap(const char *what, const char *file, int line);
[[noreturn]] void kpt_assert_failed(const char *text, const char *file, int line, const char *function);
[[noreturn]] void kpt_not_supported(const char *what, const char *file, int line);

void *kpt_malloc(size_t bytes);
void *kpt_calloc(size_t count, size_t bytes);
void kpt_free(void *memory);
void *kpt_memcpy(void *to, const void *from, size_t bytes);
void *kpt_memmove(void *to, const void *from, size_t bytes);
void *kpt_memset(void *to, int value, size_t bytes);

/* A launch: `invoke(arguments)` is one thread's work; `arguments` was got from kpt_parameters. */
struct KptLaunch {
    uint32_t grid[3], block[3];
    size_t shared_bytes;
    void *stream;
    int cooperative;
    const char *kernel;
    void (*invoke)(void *);
    void *arguments;
    const char *file;
    int line;
};
void *kpt_parameters(size_t bytes, size_t align);
int kpt_launch(const struct KptLaunch *launch);
int kpt_host_launch_allowed(const char *file, int line);
}
