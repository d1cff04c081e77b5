/* What checked builds ask about every access: bounds, use after free, bytes nobody wrote, races. */
#ifndef KPT_CHECKS_H
#define KPT_CHECKS_H

#include "../engine.h"

namespace kpt {

/* One lane's access. False where it goes to memory of the runtime's own, which keeps its own order. */
bool check_access(KptWave *wave, uint32_t lane, uint64_t address, uint32_t bytes, uint32_t flags);
void check_lds(KptWave *wave, uint32_t lane, uint64_t offset, uint32_t bytes, uint32_t flags);

/* Bytes that several lanes access, one behind the other: true where nothing is wrong with any of them. Otherwise nothing
 * was noted and each lane has to be looked at by itself. */
bool check_access_run(uint64_t address, uint64_t bytes, uint32_t flags, bool &counts);
bool check_lds_run(KptWave *wave, uint64_t offset, uint64_t bytes, uint32_t flags);

/* `lanes` lanes from `lane` on, each `bytes` wide, one behind the other. `counts`: false for the runtime's own memory. */
void check_races(KptWave *wave, uint32_t lane, uint32_t lanes, uint64_t address, uint32_t bytes, uint32_t flags,
                 bool counts);
int race_cell(KptWave *wave);

/* Loads straight into LDS: an access of `lanes` lanes, which is part of such a load where the wave says so; and a wait
 * until at most `left` vector memory accesses of the wave are under way. */
void lds_used(KptWave *wave, uint32_t lane, uint32_t lanes, uint64_t offset, uint32_t bytes, uint32_t flags);
void vector_wait(KptWave *wave, uint32_t left);

/* Builds and prints the report of a fault at the wave's current place. */
void report_kernel_fault(const KptWave &wave, KptFaultKind kind, int lane, uint64_t address, uint32_t bytes,
                         const char *detail);

} // namespace kpt
#endif
