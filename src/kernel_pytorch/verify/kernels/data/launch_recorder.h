/* What the recorder knows, apart from the names of CUDA and HIP that lead to it (recorded_names.c). */
#ifndef KPT_LAUNCH_RECORDER_H
#define KPT_LAUNCH_RECORDER_H

#include <stddef.h>
#include <stdint.h>

typedef struct {
    unsigned x, y, z;
} KptDim3;

typedef enum { KPT_CUDA, KPT_HIP, KPT_DRIVER } KptRuntime;

/* One launch as the program asked for it. Either `params` (an array of pointers to the arguments) or `extra` (the
 * packed form of the module interfaces) has the arguments; `fixed_name` stands where there is no kernel (a graph). */
typedef struct {
    KptRuntime runtime;
    const void *handle;
    const char *fixed_name;
    KptDim3 grid, block;
    void **params, **extra;
    size_t shared_bytes;
    void *stream;
} KptLaunch;

/* True while the recorder or the real function runs: a runtime may call its own exported functions. */
extern __thread int kpt_inside;

/* The function of this name behind ours; ends the program with a message where there is none. */
void *kpt_real(const char *name);
/* The same, or null. */
void *kpt_maybe(const char *name);

void kpt_say(const char *format, ...);
int kpt_copy(KptRuntime runtime, void *to, uint64_t from, size_t bytes);
int kpt_synchronize(KptRuntime runtime);
int kpt_last_error(KptRuntime runtime, int clear);
int kpt_capturing(KptRuntime runtime, void *stream);
void kpt_clear_memory(KptRuntime runtime, void *address, size_t bytes, void *stream);

void kpt_allocated(KptRuntime runtime, void *address, size_t bytes, int on_host, void *stream);
void kpt_freed(void *address);
void kpt_named(const void *handle, const char *symbol);
void kpt_same(const void *handle, const void *host);
void kpt_variable(KptRuntime runtime, const void *host, const char *symbol, size_t bytes);

/* Around the real launch. `kpt_before` answers the launch's number, or -1 where it is not recorded. */
long kpt_before(const KptLaunch *launch);
void kpt_after(long number, int error);

/* Sizes of a kernel's arguments, by position; 0 for one whose size is not known (its value is not looked at). Answers
 * how many there are, or -1. */
int kpt_argument_sizes(const KptLaunch *launch, const char *symbol, const void *host, size_t *sizes, int most);

#endif
