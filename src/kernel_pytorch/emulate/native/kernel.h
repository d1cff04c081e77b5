/* What every translated kernel uses: registers by number, back edges, counting, modes. */
#ifndef KPT_KERNEL_H
#define KPT_KERNEL_H

#include <fenv.h>

#include "counting.h"
#include "engine.h"
#include "lanes.h"

#define KPT_RESTRICT __restrict
#define KPT_LIKELY(condition) __builtin_expect(!!(condition), 1)
#define VG(register) (vg + (size_t)(register) * WAVE)
#define AG(register) (ag + (size_t)(register) * WAVE)

/* Memory that other waves write must be read anew in every round of a loop. */
#define KPT_BACK_EDGE(number)                                                                                          \
    asm volatile("" ::: "memory");                                                                                     \
    if (--w->budget < 0) {                                                                                             \
        w->resume = (number);                                                                                          \
        stop = KPT_YIELD;                                                                                              \
        goto leave;                                                                                                    \
    }

/* Where the code object's image lies; set once by attach. */
extern uint64_t kpt_image;

/* Host rounding as MODE says, for single precision (shift 0) or double (shift 2): nearest, up, down, to zero. */
static inline void kpt_round_as(uint32_t mode, int shift) {
    static const int modes[4] = {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
    if (mode >> shift & 3u) fesetround(modes[mode >> shift & 3u]);
    asm volatile("" ::: "memory");
}
static inline void kpt_round_to_nearest(uint32_t mode, int shift) {
    asm volatile("" ::: "memory");
    if (mode >> shift & 3u) fesetround(FE_TONEAREST);
}
static inline uint32_t kpt_set_mode(KptWave *w, uint32_t mask, uint32_t value) {
    w->mode = (w->mode & ~mask) | (value & mask);
    return w->mode;
}

#endif
