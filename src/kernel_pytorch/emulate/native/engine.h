/* What a translated kernel and the runtime share. C11 and C++17.
 *
 * A translated kernel is one C function that runs one wave from a resume point until it ends, meets a barrier or
 * has used up its budget of back edges. All state that outlives such a stretch is in KptWave, so the runtime may
 * suspend a wave anywhere it stops and needs no fibers. Device addresses are host addresses. */
#ifndef KPT_ENGINE_H
#define KPT_ENGINE_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define KPT_ABI_VERSION 5

/* Upper halves of flat addresses that mean LDS and private memory: no host address has bits 48 and up set. */
#define KPT_SHARED_APERTURE 0x00010000u
#define KPT_PRIVATE_APERTURE 0x00020000u

/* Where the registers that have no number of their own live in KptWave.s. */
enum { KPT_VCC = 106, KPT_TTMP = 108, KPT_M0 = 124, KPT_SGPRS = 128 };

/* Why `run` returned. */
typedef enum {
    KPT_DONE = 0,    /* s_endpgm */
    KPT_BARRIER = 1, /* waits for the other waves of the workgroup */
    KPT_YIELD = 2,   /* budget spent, s_sleep, or a message was sent to the host: run others, then resume */
} KptStop;

typedef enum {
    KPT_FAULT_TRAP = 1,       /* s_trap: abort(), __builtin_trap, a failed assert */
    KPT_FAULT_LDS_BOUNDS,     /* LDS access beyond the workgroup's allocation */
    KPT_FAULT_SCRATCH_BOUNDS, /* private memory access beyond the kernel's frame */
    KPT_FAULT_BAD_JUMP,       /* s_setpc / s_swappc to an address that is no function or label */
    KPT_FAULT_MISALIGNED,     /* an access the target does not allow at that alignment */
    KPT_FAULT_BOUNDS,         /* global access outside any live allocation (checked builds) */
    KPT_FAULT_FREED,          /* global access to freed memory (checked builds) */
    KPT_FAULT_UNWRITTEN,      /* read of bytes nobody wrote (checked builds) */
    KPT_FAULT_INACTIVE_LANE,  /* a cross-lane read whose source lane is off (checked builds) */
    KPT_FAULT_RACE,           /* two unordered accesses, one a write (checked builds) */
    KPT_FAULT_BARRIER,        /* some waves ended while others wait at a barrier */
    KPT_FAULT_READ_ONLY,      /* a write to memory the device may only read */
    KPT_FAULT_WAIT,           /* LDS used while a load straight into it may be under way (builds with KPT_WAITS) */
    KPT_FAULT_DESCRIPTOR,     /* an image instruction whose image or sampler descriptor makes no sense */
} KptFaultKind;

/* How memory is touched, for the access hook. */
enum { KPT_READ = 1, KPT_WRITE = 2, KPT_ATOMIC = 4, KPT_IN_LDS = 8, KPT_IN_SCRATCH = 16 };

typedef struct KptWave KptWave;

/* What an image instruction, or a typed access of a buffer, is by its text alone. */
enum {
    KPT_IMAGE_LOAD,
    KPT_IMAGE_STORE,
    KPT_IMAGE_SAMPLE,
    KPT_IMAGE_GATHER,
    KPT_IMAGE_INFO,
    KPT_TYPED_LOAD,
    KPT_TYPED_STORE
};
enum { KPT_DIM_1D, KPT_DIM_2D, KPT_DIM_3D, KPT_DIM_1D_ARRAY, KPT_DIM_2D_ARRAY, KPT_DIM_OF_RESOURCE /* gfx9 */ };
/* What stands before or behind the coordinates: nothing, the level of detail, gradients, a bias of the level. */
enum { KPT_LEVEL_NONE, KPT_LEVEL_GIVEN, KPT_LEVEL_GRADIENT, KPT_LEVEL_BIAS };
enum {
    KPT_IMAGE_UNNORMALIZED = 1, /* whatever the sampler says */
    KPT_IMAGE_A16 = 2,          /* coordinates of 16 bits, two in a register */
    KPT_IMAGE_G16 = 4,          /* gradients of 16 bits */
    KPT_IMAGE_D16 = 8,          /* data of 16 bits, two in a register */
    KPT_IMAGE_ARRAY = 16,       /* gfx9: the last coordinate is a layer */
    KPT_IMAGE_AGPR = 32,        /* data in accumulation registers */
};
typedef struct KptImageUse {
    uint8_t action, dim, level, dmask, flags;
    uint8_t addresses; /* registers with coordinates; those behind the last one follow it */
    uint16_t address[12];
    uint16_t data; /* the first register with data */
    uint16_t lanes;
    uint32_t offset; /* of a typed access; its address: index, then offset, each if there is one */
    uint8_t has_index, has_offset;
} KptImageUse;

/* What a kernel may ask of the runtime. */
typedef struct KptServices {
    /* Does not return to the kernel when the fault is fatal (longjmp to the scheduler). */
    void (*fault)(KptWave *wave, KptFaultKind kind, uint32_t lane, uint64_t address, uint32_t bytes);
    /* Called for every lane's access in checked builds only; `flags` as above. Scratch accesses are not reported. */
    void (*access)(KptWave *wave, uint32_t lane, uint64_t address, uint32_t bytes, uint32_t flags);
    /* s_sendmsg; the kernel returns KPT_YIELD after it. */
    void (*message)(KptWave *wave, uint32_t message, uint32_t payload);
    /* s_memtime / s_memrealtime / s_getreg SHADER_CYCLES */
    uint64_t (*clock)(KptWave *wave, int realtime);
    void (*sleep)(KptWave *wave, uint32_t units);
    /* As `access`, for `lanes` lanes from `lane` on, each `bytes` wide, one behind the other. 0: something is wrong with
     * one of them, nothing was noted, and each has to be shown by itself. */
    int (*run)(KptWave *wave, uint32_t lane, uint32_t lanes, uint64_t address, uint32_t bytes, uint32_t flags);
    /* Builds with KPT_WAITS: an access of LDS, lanes as above; and a wait until at most `left` loads are under way. */
    void (*lds_used)(KptWave *wave, uint32_t lane, uint32_t lanes, uint64_t offset, uint32_t bytes, uint32_t flags);
    void (*vector_wait)(KptWave *wave, uint32_t left);
    /* An image instruction of the lanes that are on. `words`: the image's eight words and the sampler's four, or a
     * buffer's four and its scalar offset. */
    void (*image)(KptWave *wave, const KptImageUse *use, const uint32_t *words, uint64_t exec);
    /* While races are looked for: gives the wave its `race_cell`. 0: it cannot have one. */
    int (*race_cell)(KptWave *wave);
} KptServices;

/* What the race detector keeps in a cell: a number that a wave has between two points of order, whether another wave
 * read there before it and nothing orders the two reads, whether the access was atomic, and the lane. 0: nobody. */
enum { KPT_CELL_ATOMIC = 64, KPT_CELL_SEVERAL = 128, KPT_CELL_WAVE = 256 };

/* Builds with KPT_CHECK: what the runtime remembers of a workgroup's LDS. Kernels look here by themselves, and ask only
 * where that does not settle it (lds_check.h). */
typedef struct KptLdsNotes {
    uint8_t *written;            /* one for each byte: whether somebody wrote it */
    uint32_t *writers, *readers; /* while races are looked for, who came last; else NULL */
    uint32_t cell_shift;         /* a cell stands for 1 << cell_shift bytes: a word, or a byte where less was touched */
    uint32_t ordered;            /* cells below this are from before the last barrier */
    uint32_t plain;              /* set with each access that is not atomic */
} KptLdsNotes;

/* Counted only in builds with KPT_COUNT; one block per worker thread, summed by the runtime. */
typedef struct KptCounters {
    uint64_t vector_alu, scalar_alu, vector_memory, scalar_memory, lds, matrix, branch, barrier, other;
    uint64_t active_lanes, possible_lanes; /* over vector instructions: divergence */
    uint64_t global_bytes_read, global_bytes_written, lines_touched, lines_ideal; /* 64-byte lines: coalescing */
    uint64_t lds_accesses, lds_conflict_cycles;
    uint64_t *per_place; /* executions of each KptPlace, or NULL */
} KptCounters;

struct KptWave {
    uint32_t s[KPT_SGPRS]; /* SGPRs, VCC at 106, TTMP at 108, M0 at 124 */
    uint64_t exec;
    uint32_t scc;
    uint32_t mode;   /* MODE register: bits 0-3 rounding, 4-7 denormals, as the descriptor's float_mode sets them */
    uint32_t resume; /* 0 to start; the kernel's own number of the place to go on at */
    uint32_t at;     /* index into KptKernel.places of the memory or fault-capable instruction being run */
    int64_t budget;  /* back edges left before KPT_YIELD */
    uint32_t *v;     /* VGPR r of lane l is v[r * wave_size + l] */
    uint32_t *a;     /* AGPRs, the same way (gfx90a, gfx942, gfx950) */
    uint8_t *lds;
    uint32_t lds_bytes;
    uint32_t scratch_lane_bytes;
    uint8_t *scratch; /* private memory of lane l starts at scratch + l * scratch_lane_bytes */
    uint32_t group[3];
    uint32_t wave_in_group;
    const struct KptKernel *kernel;
    const KptServices *services;
    KptCounters *counters;
    void *owner;            /* the runtime's own */
    uint64_t issued;        /* builds with KPT_WAITS: vector memory accesses so far */
    uint32_t loads_lds;     /* what is stored to LDS now comes straight from memory */
    uint32_t race_cell;     /* its cell in LDS, without atomic and lane; 0: to be asked for, as after every barrier */
    KptLdsNotes *lds_notes; /* NULL: every access is shown to the runtime */
};

typedef struct KptArg {
    const char *kind; /* the metadata's .value_kind: by_value, global_buffer, hidden_block_count_x ... */
    const char *name; /* may be "" */
    uint32_t offset, bytes;
} KptArg;

/* One machine instruction that can fault or be counted. */
typedef struct KptPlace {
    const char *text; /* the instruction */
    const char *file; /* "" without debug information */
    uint32_t line;
} KptPlace;

/* What was found in the machine code before it ran: a value used before its wait. */
typedef struct KptRemark {
    const char *text; /* the instruction */
    const char *file; /* "" without debug information */
    uint32_t line;
    const char *detail;
} KptRemark;

/* An instruction whose result on hardware may differ from ours in the last places. */
typedef struct KptInexact {
    const char *mnemonic;
    uint8_t *ran; /* set when it is executed */
} KptInexact;
#define KPT_RAN(flag, ex)                                                                                              \
    if ((ex) && !(flag)) (flag) = 1

typedef struct KptKernel {
    const char *symbol;
    int (*run)(KptWave *wave); /* a KptStop */
    uint32_t wave_size, vgprs, agprs, sgprs;
    uint32_t lds_bytes, scratch_lane_bytes, kernarg_bytes, max_workgroup_size;
    uint32_t uses_dynamic_stack;
    uint32_t rsrc1, rsrc2, rsrc3, properties, kernarg_preload; /* words of the 64-byte kernel descriptor */
    const KptArg *args;
    uint32_t arg_count;
    const KptPlace *places;
    uint32_t place_count;
    const KptRemark *missing_waits;
    uint32_t missing_wait_count;
    const KptInexact *inexact;
    uint32_t inexact_count;
    const char *mnemonics; /* all that the kernel has, each once, apart by spaces */
} KptKernel;

enum { KPT_BUILD_CHECKED = 1, KPT_BUILD_COUNTED = 2 };

typedef struct KptModule {
    uint32_t abi;       /* KPT_ABI_VERSION */
    uint32_t build;     /* KPT_BUILD_* */
    const char *target; /* "gfx942" */
    const KptKernel *kernels;
    uint32_t kernel_count;
    /* Called once, before any kernel runs, with the address at which the code object's image was loaded. */
    void (*attach)(uint64_t image_base);
} KptModule;

/* The one symbol a translated module exports. */
const KptModule *kpt_module(void);

#ifdef __cplusplus
}
#endif
#endif
