/* Stands in for a translated module: kernels written by hand against engine.h, so that the runtime is tested without a
 * compiler for AMD GPUs and without the translator. Lanes are a loop. */
#include <string.h>

#include "engine.h"

#ifndef WAVE
#define WAVE 64
#endif
#ifndef TARGET
#define TARGET "gfx942"
#endif
#ifndef PROPERTIES
#define PROPERTIES 0x8 /* kernarg segment pointer */
#endif
#ifndef USER_SGPRS
#define USER_SGPRS 2
#endif

static uint64_t image;
static void attach(uint64_t base) { image = base; }

static uint64_t pair(const KptWave *w, int at) { return w->s[at] | (uint64_t)w->s[at + 1] << 32; }
static const uint8_t *arguments(const KptWave *w) { return (const uint8_t *)pair(w, 0); }
static uint64_t argument(const KptWave *w, int offset) {
    uint64_t value;
    memcpy(&value, arguments(w) + offset, 8);
    return value;
}

/* c[i] = a[i] + b[i] */
static int run_add(KptWave *w) {
    const float *a = (const float *)argument(w, 0), *b = (const float *)argument(w, 8);
    float *c = (float *)argument(w, 16);
    int n = (int)argument(w, 24);
    uint16_t block;
    memcpy(&block, arguments(w) + 32, 2); /* hidden_group_size_x */
    for (unsigned lane = 0; lane < WAVE; lane++) {
        int i = (int)(w->s[2] * block + (w->v[lane] & 0x3ff));
        if (w->exec >> lane & 1 && i < n) c[i] = a[i] + b[i];
    }
    return KPT_DONE;
}

/* Every wave writes what it started with: 16 SGPRs, TTMP7..9, exec, three id registers of lane 1, mode. */
static int run_state(KptWave *w) {
    uint64_t slot = w->group[0] * 64 + w->wave_in_group;
    uint32_t *out = (uint32_t *)argument(w, 0) + slot * 32;
    memcpy(out, w->s, 16 * 4);
    memcpy(out + 16, &w->s[KPT_TTMP + 7], 12);
    memcpy(out + 19, &w->exec, 8);
    for (int r = 0; r < 3; r++) out[21 + r] = w->v[r * WAVE + 1];
    out[24] = w->mode;
    out[25] = w->lds_bytes;
    out[26] = w->scratch_lane_bytes;
    return KPT_DONE;
}

/* Hidden arguments as they are. */
static int run_hidden(KptWave *w) {
    memcpy((void *)argument(w, 0), arguments(w), 128);
    return KPT_DONE;
}

/* Each wave leaves its number in LDS; after the barrier it reads its neighbour's. */
static int run_barrier(KptWave *w) {
    uint32_t *lds = (uint32_t *)w->lds, *out = (uint32_t *)argument(w, 0);
    uint32_t waves = (uint32_t)argument(w, 8);
    if (w->resume == 0) {
        lds[w->wave_in_group] = w->wave_in_group + 1 + w->group[0] * 100;
        w->resume = 1;
        return KPT_BARRIER;
    }
    out[w->group[0] * waves + w->wave_in_group] = lds[(w->wave_in_group + 1) % waves];
    return KPT_DONE;
}

/* All waves but the first wait at a barrier; the first ends. */
static int run_early(KptWave *w) {
    if (w->wave_in_group == 0) return KPT_DONE;
    if (w->resume == 0) {
        w->resume = 1;
        return KPT_BARRIER;
    }
    ((uint32_t *)argument(w, 0))[w->wave_in_group] = 1;
    return KPT_DONE;
}

/* Block 0 waits for what the last block writes. */
static int run_wait(KptWave *w) {
    volatile uint32_t *flag = (volatile uint32_t *)argument(w, 0);
    uint32_t last = (uint32_t)argument(w, 8);
    if (w->group[0] == last) flag[0] = 1;
    if (w->group[0] == 0 && !flag[0]) return KPT_YIELD;
    if (w->group[0] == 0) flag[1] = 1;
    return KPT_DONE;
}

/* Never ends; with a second argument of 1 it changes a register each time, as a loop that counts does. */
static int run_forever(KptWave *w) {
    if (argument(w, 8)) w->s[20]++;
    return KPT_YIELD;
}

static int run_store(KptWave *w) {
    char *base = (char *)argument(w, 0);
    uint64_t offset = argument(w, 8);
    w->at = 0;
    for (unsigned lane = 0; lane < WAVE; lane++) {
        uint64_t address = (uint64_t)base + offset + 4 * lane;
        w->v[2 * WAVE + lane] = (uint32_t)address;
        w->v[3 * WAVE + lane] = (uint32_t)(address >> 32);
    }
    for (unsigned lane = 0; lane < WAVE; lane++) *(volatile uint32_t *)(base + offset + 4 * lane) = lane;
    return KPT_DONE;
}

static int run_trap(KptWave *w) {
    w->at = 1;
    w->services->fault(w, KPT_FAULT_TRAP, 7, 0, 2);
    return KPT_DONE;
}

/* A grid barrier as targets with the unit for it have. */
static int run_grid(KptWave *w) {
    uint32_t *data = (uint32_t *)argument(w, 0), groups = (uint32_t)argument(w, 8);
    if (w->resume == 0) {
        data[w->group[0]] = w->group[0] + 1;
        w->resume = 1;
        w->services->message(w, 0x10000, groups - 1);
        return KPT_YIELD;
    }
    data[groups + w->group[0]] = data[(w->group[0] + 1) % groups];
    return KPT_DONE;
}

/* Reads (flag 1) or writes (2), every lane 4 bytes, through the hook of checked builds; LDS (8) by wave. */
static int run_checked(KptWave *w) {
    uint64_t base = argument(w, 0);
    uint32_t flags = (uint32_t)argument(w, 8);
    w->at = 0;
    for (unsigned lane = 0; lane < WAVE; lane++)
        if (w->exec >> lane & 1) w->services->access(w, lane, base + 4 * lane, 4, flags);
    return KPT_DONE;
}

/* Puts one printf message "n=%d s=%s\n" with two arguments through the host call buffer, in two packets. */
static void packet(const uint8_t *buffer, uint64_t first, const void *data, size_t bytes) {
    uint64_t *headers = *(uint64_t **)buffer, *payloads = *(uint64_t **)(buffer + 8);
    uint64_t *free_stack = (uint64_t *)(buffer + 24), *ready = (uint64_t *)(buffer + 32), mask = *(uint64_t *)(buffer + 40);
    uint64_t index = *free_stack & mask;
    uint64_t *header = headers + index * 3, *slot = payloads + index * 64 * 8;
    *free_stack = header[0];
    header[0] = 0;
    header[1] = 1; /* lane 0 */
    uint32_t service = 2, control = 1;
    memcpy(header + 2, &service, 4);
    memcpy((char *)header + 20, &control, 4);
    memset(slot, 0, 64);
    slot[0] = first | (bytes + 7) / 8 << 5;
    memcpy(slot + 1, data, bytes);
    *ready = index ? index : mask + 1;
}

static int run_print(KptWave *w) {
    const uint8_t *buffer = (const uint8_t *)argument(w, 0);
    uint64_t *payloads = *(uint64_t **)(buffer + 8), mask = *(uint64_t *)(buffer + 40);
    uint64_t *free_stack = (uint64_t *)(buffer + 24);
    static uint64_t used;
    if (w->resume == 0) {
        used = *free_stack & mask;
        uint64_t words[3] = {0};
        memcpy(words + 1, "n=%d s=%s\n", 11);
        packet(buffer, 1, words, 24);
        w->resume = 1;
        w->services->message(w, 1, 0);
        return KPT_YIELD;
    }
    uint64_t number = payloads[used * 64 * 8] >> 8, words[2] = {42};
    memcpy(words + 1, "abc", 4);
    packet(buffer, 2 | number << 8, words, 16);
    w->services->message(w, 1, 0);
    return KPT_DONE;
}

#define POINTER(name_, offset_) {"global_buffer", name_, offset_, 8}
#define VALUE(name_, offset_, bytes_) {"by_value", name_, offset_, bytes_}
static const KptArg add_args[] = {POINTER("a", 0), POINTER("b", 8), POINTER("c", 16), VALUE("n", 24, 4),
                                  {"hidden_group_size_x", "", 32, 2}};
static const KptArg two_args[] = {POINTER("p", 0), VALUE("n", 8, 8)};
static const KptArg print_args[] = {{"hidden_hostcall_buffer", "", 0, 8}};
static const KptArg hidden_args[] = {POINTER("out", 0),
    {"hidden_block_count_x", "", 8, 4}, {"hidden_block_count_y", "", 12, 4}, {"hidden_block_count_z", "", 16, 4},
    {"hidden_group_size_x", "", 20, 2}, {"hidden_group_size_y", "", 22, 2}, {"hidden_group_size_z", "", 24, 2},
    {"hidden_remainder_x", "", 26, 2}, {"hidden_grid_dims", "", 32, 2}, {"hidden_hostcall_buffer", "", 40, 8},
    {"hidden_multigrid_sync_arg", "", 48, 8}, {"hidden_heap_v1", "", 56, 8}, {"hidden_dynamic_lds_size", "", 64, 4},
    {"hidden_private_base", "", 68, 4}, {"hidden_shared_base", "", 72, 4}, {"hidden_queue_ptr", "", 80, 8}};
static const KptPlace places[] = {{"global_store_dword v[2:3], v0, off", "kernel.hip", 12}, {"s_trap 2", "kernel.hip", 34}};

#define RSRC1 (0xc0u << 12)
/* workgroup id x, y, z; work-item ids x, y, z */
#define RSRC2 (USER_SGPRS << 1 | 7u << 7 | 2u << 11)
#define KERNEL(name_, run_, lds_, bytes_, args_) \
    {name_, run_, WAVE, 24, 0, 32, lds_, 16, bytes_, 1024, 0, RSRC1, RSRC2, 0, PROPERTIES, 0, args_, \
     sizeof args_ / sizeof args_[0], places, 2}
static const KptKernel kernels[] = {
    KERNEL("add", run_add, 0, 40, add_args),         KERNEL("state", run_state, 128, 16, two_args),
    KERNEL("hidden", run_hidden, 0, 128, hidden_args), KERNEL("barrier", run_barrier, 256, 16, two_args),
    KERNEL("early", run_early, 0, 16, two_args),     KERNEL("wait", run_wait, 0, 16, two_args),
    KERNEL("forever", run_forever, 0, 16, two_args), KERNEL("store", run_store, 0, 16, two_args),
    KERNEL("trap", run_trap, 0, 16, two_args),       KERNEL("grid", run_grid, 0, 16, two_args),
    KERNEL("checked", run_checked, 1024, 16, two_args), KERNEL("print", run_print, 0, 8, print_args),
};
static const KptModule module = {KPT_ABI_VERSION, 0, TARGET, kernels, sizeof kernels / sizeof kernels[0], attach};
const KptModule *kpt_module(void) { return &module; }
