/* The registers a wave starts with, as LLVM's AMDGPU user guide gives them ("Initial Kernel Execution State"). */
#include <cstring>
#include <tuple>

#include "config.h"
#include "launch.h"

namespace kpt {
namespace {

/* Bits of the descriptor's kernel_code_properties. */
enum {
    PRIVATE_SEGMENT_BUFFER = 1 << 0,
    DISPATCH_PTR = 1 << 1,
    QUEUE_PTR = 1 << 2,
    KERNARG_PTR = 1 << 3,
    DISPATCH_ID = 1 << 4,
    FLAT_SCRATCH_INIT = 1 << 5,
    PRIVATE_SEGMENT_SIZE = 1 << 6,
};

void put64(KptWave &wave, uint32_t at, uint64_t value) {
    if (at + 1 >= KPT_SGPRS) return;
    wave.s[at] = uint32_t(value);
    wave.s[at + 1] = uint32_t(value >> 32);
}

uint32_t bits(uint32_t word, int from, int count) { return word >> from & ((1u << count) - 1); }

void user_registers(Launch &launch, uint64_t kernarg, uint64_t packet, uint64_t queue) {
    const KptKernel &k = *launch.kernel;
    KptWave &w = launch.start;
    uint32_t at = 0;
    if (k.properties & PRIVATE_SEGMENT_BUFFER) launch.scratch_buffer_sgpr = at, at += 4;
    if (k.properties & DISPATCH_PTR) put64(w, at, packet), at += 2;
    if (k.properties & QUEUE_PTR) put64(w, at, queue), at += 2;
    if (k.properties & KERNARG_PTR) put64(w, at, kernarg), at += 2;
    if (k.properties & DISPATCH_ID) put64(w, at, 1), at += 2;
    if (k.properties & FLAT_SCRATCH_INIT) launch.flat_scratch_sgpr = at, at += 2;
    if (k.properties & PRIVATE_SEGMENT_SIZE) w.s[at++] = launch.scratch_lane_bytes;
    uint32_t words = bits(k.kernarg_preload, 0, 7), from = bits(k.kernarg_preload, 7, 9);
    for (uint32_t i = 0; i < words && at < KPT_VCC; i++, at++)
        memcpy(&w.s[at], reinterpret_cast<const uint8_t *>(kernarg) + 4 * (from + i), 4);
}

void system_registers(Launch &launch) {
    const Config &c = config();
    const KptKernel &k = *launch.kernel;
    uint32_t at = bits(k.rsrc2, 1, 5);
    if (!c.ids_in_ttmp) {
        for (int i = 0; i < 3; i++)
            if (bits(k.rsrc2, 7 + i, 1)) launch.id_sgpr[i] = at++;
        if (bits(k.rsrc2, 10, 1)) launch.info_sgpr = at++;
    }
    /* The scratch of a wave is its own block of memory here, so its offset in a common one is zero. */
    if (!c.architected_flat_scratch && bits(k.rsrc2, 0, 1) && at < KPT_VCC) launch.start.s[at++] = 0;
}

std::shared_ptr<const WorkItems> work_items(const Launch &launch, const dim3 &block) {
    auto made = std::make_shared<WorkItems>();
    const bool packed = config().packed_work_item_ids;
    made->ids.assign(size_t(launch.waves) * launch.id_registers * launch.wave_size, 0);
    made->exec.assign(launch.waves, 0);
    uint64_t total = block.count();
    for (uint64_t thread = 0; thread < total; thread++) {
        uint64_t wave = thread / launch.wave_size, lane = thread % launch.wave_size;
        uint32_t id[3] = {uint32_t(thread % block.x), uint32_t(thread / block.x % block.y),
                          uint32_t(thread / block.x / block.y)};
        made->exec[wave] |= 1ull << lane;
        uint32_t *row = &made->ids[wave * launch.id_registers * launch.wave_size + lane];
        if (packed) {
            *row = id[0] | id[1] << 10 | id[2] << 20;
            continue;
        }
        for (uint32_t r = 0; r < launch.id_registers; r++) row[r * launch.wave_size] = id[r];
    }
    return made;
}

/* Made again only for another shape of block: for a small kernel they are a good part of its cost. Used by whose turn it
 * is. */
void work_item_ids(Launch &launch) {
    static std::tuple<uint32_t, uint32_t, uint32_t, uint32_t, uint32_t> last_shape;
    static auto *last = new std::shared_ptr<const WorkItems>;
    const dim3 &block = launch.request->block;
    const uint32_t wanted = bits(launch.kernel->rsrc2, 11, 2) + 1;
    launch.id_registers = config().packed_work_item_ids ? 1 : wanted;
    const auto shape = std::make_tuple(block.x, block.y, block.z, launch.id_registers, launch.wave_size);
    if (!*last || shape != last_shape) *last = work_items(launch, block);
    last_shape = shape;
    launch.items = *last;
}

} // namespace

void set_up_waves(Launch &launch, uint64_t kernarg, uint64_t packet, uint64_t queue) {
    const KptKernel &k = *launch.kernel;
    KptWave &w = launch.start;
    memset(&w, 0, sizeof w);
    user_registers(launch, kernarg, packet, queue);
    system_registers(launch);
    work_item_ids(launch);
    w.mode = bits(k.rsrc1, 12, 8);
    if (config().major < 12) w.mode |= bits(k.rsrc1, 21, 1) << 8 | bits(k.rsrc1, 23, 1) << 9;
    w.mode |= bits(k.rsrc1, 26, 1) << 23;
    w.lds_bytes = launch.lds_bytes;
    w.scratch_lane_bytes = launch.scratch_lane_bytes;
    w.kernel = &k;
    w.s[KPT_M0] = ~0u; /* older code bounds LDS addresses by it */
}

} // namespace kpt
