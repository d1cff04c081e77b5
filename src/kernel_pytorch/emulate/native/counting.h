/* Counts of a KPT_COUNT build: cache lines of global accesses, bank conflicts of LDS. Nothing in other builds. */
#ifndef KPT_COUNTING_H
#define KPT_COUNTING_H

#include "engine.h"

#ifdef KPT_COUNT
#define KPT_COUNT_ONE(w, field, lanes, ex, place)                                                                      \
    do {                                                                                                               \
        KptCounters *counters = (w)->counters;                                                                         \
        counters->field++;                                                                                             \
        if (lanes) {                                                                                                   \
            counters->active_lanes += (uint64_t)__builtin_popcountll(ex);                                              \
            counters->possible_lanes += WAVE;                                                                          \
        }                                                                                                              \
        if (counters->per_place) counters->per_place[place]++;                                                         \
    } while (0)

/* 64-byte lines an access touches, and the fewest that its bytes would fit in. */
static inline void kpt_count_lines(KptWave *w, const uint64_t *at, uint32_t count, uint32_t bytes, int writes) {
    uint64_t lines[2 * WAVE];
    uint32_t known = 0;
    for (uint32_t i = 0; i < count; i++)
        for (uint64_t line = at[i] / 64; line <= (at[i] + bytes - 1) / 64; line++) {
            uint32_t seen = known;
            while (seen > 0 && lines[seen - 1] != line) seen--;
            if (!seen && known < 2 * WAVE) lines[known++] = line;
        }
    KptCounters *counters = w->counters;
    counters->lines_touched += known;
    counters->lines_ideal += ((uint64_t)count * bytes + 63) / 64;
    *(writes ? &counters->global_bytes_written : &counters->global_bytes_read) += (uint64_t)count * bytes;
}
/* 32 banks of four bytes serve 32 lanes at a time: a bank asked for several words needs a cycle for each. */
static inline void kpt_count_banks(KptWave *w, const uint64_t *at, uint32_t count, uint32_t bytes) {
    for (uint32_t first = 0; first < count; first += 32) {
        uint32_t words[32][32], known[32] = {0}, most = 1;
        for (uint32_t i = first; i < count && i < first + 32; i++)
            for (uint64_t word = at[i] / 4; word <= (at[i] + bytes - 1) / 4; word++) {
                const uint32_t bank = word % 32, all = known[bank];
                uint32_t seen = all;
                while (seen > 0 && words[bank][seen - 1] != (uint32_t)word) seen--;
                if (seen || all == 32) continue;
                words[bank][all] = (uint32_t)word;
                known[bank] = all + 1;
                if (all + 1 > most) most = all + 1;
            }
        /* Wider accesses take more cycles of their own accord. */
        uint32_t usual = (bytes + 3) / 4;
        w->counters->lds_conflict_cycles += most > usual ? most - usual : 0;
    }
    w->counters->lds_accesses++;
}
#endif
#endif
