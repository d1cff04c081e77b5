/* A workgroup on its worker: its waves begin, run in turns and end. */
#ifndef KPT_GROUP_H
#define KPT_GROUP_H

#include "scheduler.h"

namespace kpt {

/* Bytes of a wave's registers and private memory. */
struct Sizes {
    size_t vgprs, agprs, scratch, all;
};
Sizes storage_sizes(const Launch &launch);

void start_group(Worker &worker, Group &group, uint64_t block);

enum class Outcome { finished, waiting, working, stopped };

/* Runs a group's waves round robin until all have ended, all wait, or its rounds are used up. */
Outcome run_group(Worker &worker, Group &group, const Sizes &sizes);

} // namespace kpt
#endif
