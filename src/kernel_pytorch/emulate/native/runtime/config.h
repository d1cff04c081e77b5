/* What the environment says: the GPU to be, checks, limits. Read once, at the first call of the API. */
#ifndef KPT_CONFIG_H
#define KPT_CONFIG_H

#include <cstdint>
#include <ctime>
#include <string>

#include "json.h"

namespace kpt {

struct Occupancy {
    uint32_t wave_size, simds_per_cu, vgprs_per_simd, vgpr_granule, sgprs_per_simd, sgpr_granule;
    uint32_t max_waves_per_simd, barriers_per_cu, lds_bytes_per_cu, lds_granule, max_lds_per_workgroup;
    uint32_t max_threads_per_workgroup, compute_units;
};

struct Config {
    bool usable = false; /* a GPU is described; without one the runtime has no device */
    Json gpu;
    Occupancy occupancy{};
    std::string target, name;
    int major = 9, minor = 0; /* of the target: gfx942 is 9 and 4, gfx1100 is 11 and 0 */
    bool packed_work_item_ids = true, architected_flat_scratch = true, ids_in_ttmp = false;
    int devices = 1;
    uint64_t device_memory = 0; /* what the GPU has */
    uint64_t memory_limit = 0;  /* what may be allocated here */
    bool checked = false, counted = false, races = false, shuffle_blocks = false, waits = false, debug = false,
         quick = false;
    uint64_t seed = 0;
    bool whole_pages = false;  /* buffers start with a page, as drivers give them, and do not end with one */
    bool quiet_faults = false; /* whoever started the program shows them from the report */
    std::string cache, translate, compile, report;
    unsigned threads = 1;
    double watchdog_s = 120;
    uint8_t fill = 0xff;
    uint64_t alignment = 16;
};

const Config &config();

inline bool is_device(int device) { return device >= 0 && device < config().devices; }

inline uint64_t rounded_up(uint64_t value, uint64_t step) { return (value + step - 1) / step * step; }

inline double seconds_now() {
    timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return double(time.tv_sec) + 1e-9 * double(time.tv_nsec);
}

/* One line on standard error, with the runtime's name before it. */
void say(const char *format, ...) __attribute__((format(printf, 1, 2)));

} // namespace kpt
#endif
