/* What checked builds ask about every access: bounds, use after free, bytes nobody wrote, races. */
#ifndef KPT_CHECKS_H
#define KPT_CHECKS_H

#include "../engine.h"

namespace kpt {

void check_access(KptWave *wave, uint32_t lane, uint64_t address, uint32_t bytes, uint32_t flags);
void check_lds(KptWave *wave, uint32_t lane, uint64_t offset, uint32_t bytes, uint32_t flags);
void check_races(KptWave *wave, uint32_t lane, uint64_t address, uint32_t bytes, uint32_t flags);

/* Builds and prints the report of a fault at the wave's current place. */
void report_kernel_fault(const KptWave &wave, KptFaultKind kind, int lane, uint64_t address, uint32_t bytes,
                         const char *detail);

} // namespace kpt
#endif
