#include "launch.h"

#include <time.h>

#include <cstring>
#include <map>
#include <mutex>
#include <set>

#include "config.h"
#include "errors.h"
#include "hostcall.h"
#include "memory.h"
#include "pending_items.h"
#include "report.h"
#include "stream_order.h"
#include "turn.h"

namespace kpt {
namespace {

const uint64_t ARGUMENT_SPACE = 64 * 1024;
const size_t DYNAMIC_STACK_BYTES = 16 * 1024;
const double SLICE_S = 0.02; /* of a launch in the background, until the next one goes on */

} // namespace

/* hsa_kernel_dispatch_packet_t */
struct Packet {
    uint16_t header, setup, block[3], reserved;
    uint32_t grid[3], private_bytes, group_bytes;
    uint64_t kernel, kernarg, reserved2, completion;
};

/* What cooperative groups read (mg_info of the device library). */
struct GridSync {
    uint64_t all;
    uint32_t grid, grids;
    uint64_t before, total;
    uint32_t word[2], groups, pad;
};

/* One launch at a time uses this memory. */
struct HiddenSpace {
    uint8_t kernarg[ARGUMENT_SPACE];
    alignas(64) Packet packet;
    alignas(64) uint8_t queue[256];
    alignas(64) GridSync sync;
};

namespace {

/* What ended launches left, for the next; used by whose turn it is. */
std::vector<HiddenSpace *> &free_spaces() {
    static auto *value = new std::vector<HiddenSpace *>;
    return *value;
}

HiddenSpace *hidden_space() {
    if (!free_spaces().empty()) {
        HiddenSpace *space = free_spaces().back();
        free_spaces().pop_back();
        return space;
    }
    hipError_t error;
    Allocation *memory = allocate(Kind::internal, sizeof(HiddenSpace), 0, 0, error, 4096);
    return memory ? reinterpret_cast<HiddenSpace *>(memory->base) : nullptr;
}

bool is_hidden(const KptArg &argument) { return strncmp(argument.kind, "hidden_", 7) == 0; }

/* The value of a hidden argument. */
uint64_t hidden_value(const char *name, const LaunchRequest &r, const HiddenSpace &s) {
    auto is = [name](const char *other) { return strcmp(name, other) == 0; };
    auto axis = [name] { return name[strlen(name) - 1] - 'x'; };
    const uint32_t block[3] = {r.block.x, r.block.y, r.block.z};
    if (!strncmp(name, "block_count_", 12)) return r.threads[axis()] / block[axis()];
    if (!strncmp(name, "group_size_", 11)) return block[axis()];
    if (!strncmp(name, "remainder_", 10)) return r.threads[axis()] % block[axis()];
    if (is("grid_dims")) return 3; /* HIP's launches have three, whatever their sizes */
    if (is("hostcall_buffer")) return hostcall_buffer();
    if (is("heap_v1")) return device_heap();
    if (is("multigrid_sync_arg")) return r.cooperative ? uint64_t(&s.sync) : 0;
    if (is("dynamic_lds_size")) return r.dynamic_lds;
    if (is("private_base")) return KPT_PRIVATE_APERTURE;
    if (is("shared_base")) return KPT_SHARED_APERTURE;
    if (is("queue_ptr")) return uint64_t(s.queue);
    return 0; /* global offsets, printf buffer (OpenCL's), default queue, completion action: not used by HIP */
}

void fill_space(HiddenSpace &s, const LaunchRequest &r, const Launch &launch) {
    const KptKernel &k = *launch.kernel;
    memset(s.kernarg, 0, r.arguments.size() + 256 < ARGUMENT_SPACE ? r.arguments.size() + 256 : ARGUMENT_SPACE);
    memcpy(s.kernarg, r.arguments.data(), r.arguments.size());
    s.sync = {};
    s.sync.all = uint64_t(r.among.barrier.get());
    s.sync.grid = r.among.number;
    s.sync.grids = r.among.grids;
    s.sync.before = r.among.threads_before;
    s.sync.total = r.among.barrier ? r.among.threads : r.grid.count() * r.block.count();
    s.sync.groups = uint32_t(launch.blocks);
    for (uint32_t i = 0; i < k.arg_count; i++) {
        const KptArg &a = k.args[i];
        if (!is_hidden(a) || a.offset + a.bytes > ARGUMENT_SPACE) continue;
        uint64_t value = hidden_value(a.kind + 7, r, s);
        memcpy(s.kernarg + a.offset, &value, a.bytes < 8 ? a.bytes : 8);
    }
    s.packet = {};
    s.packet.setup = 3;
    s.packet.block[0] = uint16_t(r.block.x), s.packet.block[1] = uint16_t(r.block.y),
    s.packet.block[2] = uint16_t(r.block.z);
    for (int i = 0; i < 3; i++) s.packet.grid[i] = uint32_t(r.threads[i]);
    s.packet.private_bytes = launch.scratch_lane_bytes;
    s.packet.group_bytes = launch.lds_bytes;
    s.packet.kernarg = uint64_t(s.kernarg);
    uint32_t shared = KPT_SHARED_APERTURE, apart = KPT_PRIVATE_APERTURE;
    memcpy(s.queue + 64, &shared, 4); /* amd_queue_t: group, then private aperture */
    memcpy(s.queue + 68, &apart, 4);
}

/* Room for calls whose depth the compiler could not see; hipDeviceSetLimit(hipLimitStackSize) may ask for more. */
uint32_t dynamic_stack() {
    size_t asked = device_limit(0);
    return uint32_t((asked > DYNAMIC_STACK_BYTES ? asked : DYNAMIC_STACK_BYTES) + 15) / 16 * 16;
}

uint64_t seed() {
    static uint64_t value = config().seed ? config().seed : uint64_t(seconds_now() * 1e9) | 1;
    static bool reported = false;
    if (!reported)
        say("blocks run in random order, seed %llu (KPT_EMULATE_SEED repeats it)", (unsigned long long)value);
    reported = true;
    return value;
}

/* Of all threads: other work of the machine does not count. */
double cpu_seconds() {
    timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return double(time.tv_sec) + 1e-9 * double(time.tv_nsec);
}

void report_resources(const KptKernel &kernel, const std::string &detail) {
    Fault fault;
    fault.kind = "resources";
    fault.kernel = kernel.symbol;
    fault.detail = detail;
    fault.hardware = "the launch fails";
    report_fault(fault);
}

/* Every kernel's once, at its first launch. */
void report_missing_waits(const KptKernel &kernel) {
    static std::set<const KptKernel *> *reported = new std::set<const KptKernel *>;
    if (!kernel.missing_wait_count || !reported->insert(&kernel).second) return;
    for (uint32_t i = 0; i < kernel.missing_wait_count; i++) {
        const KptRemark &remark = kernel.missing_waits[i];
        Fault fault;
        fault.kind = "wait";
        fault.kernel = kernel.symbol;
        fault.instruction = remark.text;
        fault.file = remark.file;
        fault.line = remark.line;
        fault.detail = remark.detail;
        fault.hardware = "the old value may be used: the result depends on timing";
        report_fault(fault);
    }
}

/* A pointer that real hardware could not follow is worth a word, once; whether the kernel does is not known yet. */
void note_host_pointers(const KptKernel &k, const std::vector<uint8_t> &arguments) {
    static std::mutex mutex;
    static std::set<std::string> *reported = new std::set<std::string>;
    for (uint32_t i = 0; i < k.arg_count; i++) {
        const KptArg &a = k.args[i];
        uint64_t address = 0;
        if (strcmp(a.kind, "global_buffer") != 0 || a.bytes != 8) continue;
        memcpy(&address, arguments.data() + a.offset, 8);
        if (!is_plain_host(address)) continue;
        std::lock_guard<std::mutex> lock(mutex);
        std::string place = std::string(k.symbol) + " " + std::to_string(i);
        if (reported->insert(place).second)
            say("%s: argument %u%s%s points to memory of the host that HIP does not know; a GPU faults when it follows it",
                k.symbol, i + 1, *a.name ? " " : "", a.name);
    }
}

} // namespace

uint32_t units(const KptKernel &kernel) {
    bool pairs = config().major >= 10 && (kernel.rsrc1 >> 29 & 1);
    return pairs ? config().occupancy.compute_units / 2 : config().occupancy.compute_units;
}

uint32_t blocks_per_unit(const KptKernel &k, uint32_t threads, uint64_t dynamic_lds) {
    const Occupancy &o = config().occupancy;
    auto up = [](uint64_t value, uint64_t step) { return step ? (value + step - 1) / step * step : value; };
    uint32_t halves = k.wave_size > o.wave_size ? k.wave_size / o.wave_size : 1;
    uint32_t cus = config().major >= 10 && (k.rsrc1 >> 29 & 1) ? 2 : 1;
    uint64_t simds = uint64_t(o.simds_per_cu) * cus, waves = (threads + k.wave_size - 1) / k.wave_size;
    uint64_t most = o.max_waves_per_simd;
    uint64_t registers = k.vgprs > k.agprs ? k.vgprs : k.agprs;
    uint64_t by_vgprs = o.vgprs_per_simd / halves / up(registers ? registers : 1, o.vgpr_granule / halves);
    uint64_t per_simd = by_vgprs < most ? by_vgprs : most;
    if (o.sgprs_per_simd) {
        uint64_t by_sgprs = o.sgprs_per_simd / up(k.sgprs ? k.sgprs : 1, o.sgpr_granule);
        per_simd = by_sgprs < per_simd ? by_sgprs : per_simd;
    }
    uint64_t fit = per_simd * simds / (waves ? waves : 1);
    uint64_t lds = k.lds_bytes + dynamic_lds;
    if (lds > o.max_lds_per_workgroup) return 0;
    if (lds) {
        uint64_t by_lds = uint64_t(o.lds_bytes_per_cu) * cus / up(lds, o.lds_granule);
        fit = by_lds < fit ? by_lds : fit;
    }
    uint64_t barriers = uint64_t(o.barriers_per_cu) * cus;
    if (waves > 1 && barriers < fit) fit = barriers;
    return uint32_t(fit);
}

hipError_t prepare_launch(hipFunction_t function, dim3 grid, dim3 block, uint64_t dynamic_lds, void **params,
                          void **extra, bool cooperative, LaunchRequest &out) {
    const KptKernel &k = *function->kernel;
    if (!grid.x || !grid.y || !grid.z || !block.x || !block.y || !block.z) return hipErrorInvalidConfiguration;
    const uint64_t threads[3] = {uint64_t(grid.x) * block.x, uint64_t(grid.y) * block.y, uint64_t(grid.z) * block.z};
    for (uint64_t count : threads)
        if (count > UINT32_MAX) return hipErrorInvalidConfiguration;
    const Occupancy &o = config().occupancy;
    if (block.count() > o.max_threads_per_workgroup) {
        report_resources(k, std::to_string(block.count()) + " threads per block; " + config().name + " has at most " +
                                std::to_string(o.max_threads_per_workgroup));
        return hipErrorInvalidConfiguration;
    }
    if (k.max_workgroup_size && block.count() > k.max_workgroup_size) {
        report_resources(k, std::to_string(block.count()) + " threads per block; the kernel's launch bounds allow " +
                                std::to_string(k.max_workgroup_size));
        return hipErrorLaunchFailure;
    }
    if (k.lds_bytes + dynamic_lds > o.max_lds_per_workgroup) {
        report_resources(k, std::to_string(k.lds_bytes + dynamic_lds) + " bytes of LDS per block (" +
                                std::to_string(k.lds_bytes) + " static); " + config().name + " has " +
                                std::to_string(o.max_lds_per_workgroup));
        return hipErrorInvalidValue;
    }
    out.function = function;
    out.grid = grid;
    out.block = block;
    memcpy(out.threads, threads, sizeof threads);
    out.dynamic_lds = uint32_t(dynamic_lds);
    out.cooperative = cooperative;
    if (cooperative && grid.count() > uint64_t(blocks_per_unit(k, uint32_t(block.count()), dynamic_lds)) * units(k))
        return hipErrorCooperativeLaunchTooLarge;
    uint32_t size = k.kernarg_bytes;
    for (uint32_t i = 0; i < k.arg_count; i++)
        if (k.args[i].offset + k.args[i].bytes > size) size = k.args[i].offset + k.args[i].bytes;
    if (size > ARGUMENT_SPACE - 256) return hipErrorInvalidValue;
    out.arguments.assign(size, 0);
    if (extra) {
        const void *data = nullptr;
        size_t bytes = 0;
        for (void **at = extra; uint64_t(*at) != 3; at += 2) {
            if (uint64_t(*at) == 1)
                data = at[1];
            else if (uint64_t(*at) == 2)
                bytes = *static_cast<size_t *>(at[1]);
            else
                return hipErrorInvalidValue;
        }
        if (data) memcpy(out.arguments.data(), data, bytes < size ? bytes : size);
        note_host_pointers(k, out.arguments);
        return hipSuccess;
    }
    uint32_t index = 0;
    for (uint32_t i = 0; i < k.arg_count; i++) {
        const KptArg &a = k.args[i];
        if (is_hidden(a)) continue;
        if (!params) return hipErrorInvalidValue;
        if (params[index]) memcpy(out.arguments.data() + a.offset, params[index], a.bytes);
        index++;
    }
    note_host_pointers(k, out.arguments);
    return hipSuccess;
}

void conclude(Launch &launch) {
    const LaunchRequest &r = *launch.request;
    const KptKernel &k = *launch.kernel;
    note_fidelity(k);
    report_launch(k.symbol, r.grid, r.block, launch.lds_bytes, launch.seconds, launch.cpu_seconds, r.stream,
                  config().counted ? &launch.counters : nullptr);
    if (config().counted) report_places(k, launch.place_counts.data());
}

/* Runs it until it ends or pauses; true when it has ended. The caller has the turn. */
static bool run(Launch &launch) {
    const double start = seconds_now(), cpu = reporting() && !launch.background ? cpu_seconds() : 0;
    const bool ended = run_blocks(launch);
    answer_host_calls();
    launch.seconds += seconds_now() - start;
    if (cpu > 0) launch.cpu_seconds += cpu_seconds() - cpu;
    if (!ended) return false;
    if (config().races) launch_touched(launch);
    conclude(launch);
    free_spaces().push_back(launch.space);
    return true;
}

std::atomic<unsigned> launches_of_the_program{0};

hipError_t begin_launch(const LaunchRequest &r, bool background, std::unique_ptr<Launch> &rest) {
    if (stuck() != hipSuccess) return stuck();
    Turn turn;
    static uint64_t launches = 0;
    auto made = std::make_unique<Launch>();
    Launch &launch = *made;
    launch.space = hidden_space();
    if (!launch.space) return hipErrorOutOfMemory;
    launch.number = ++launches;
    const KptKernel &k = *r.function->kernel;
    report_missing_waits(k);
    launch.request = &r;
    launch.kernel = &k;
    launch.background = background;
    launch.wave_size = k.wave_size;
    launch.waves = uint32_t((r.block.count() + k.wave_size - 1) / k.wave_size);
    launch.blocks = r.grid.count();
    launch.partial = r.threads[0] % r.block.x || r.threads[1] % r.block.y || r.threads[2] % r.block.z;
    launch.lds_bytes = k.lds_bytes + r.dynamic_lds;
    launch.scratch_lane_bytes = (k.scratch_lane_bytes + 15) / 16 * 16 + (k.uses_dynamic_stack ? dynamic_stack() : 0);
    uint64_t resident = uint64_t(blocks_per_unit(k, uint32_t(r.block.count()), r.dynamic_lds)) * units(k);
    launch.resident_per_worker = (resident + config().threads - 1) / config().threads;
    if (!launch.resident_per_worker) launch.resident_per_worker = 1;
    if (config().shuffle_blocks) launch.shuffle_seed = seed();
    HiddenSpace &s = *launch.space;
    fill_space(s, r, launch);
    set_up_waves(launch, uint64_t(s.kernarg), uint64_t(&s.packet), uint64_t(s.queue));
    if (config().counted) launch.place_counts.assign(k.place_count, 0);
    if (config().races) launch.begun_at = order_stamp();
    launch.slice_end = seconds_now() + SLICE_S;
    if (!background) launches_of_the_program++;
    const bool ended = run(launch);
    if (!background) launches_of_the_program--;
    if (ended) return hipSuccess;
    launch.kept = r;
    launch.request = &launch.kept;
    launch.background = true;
    rest = std::move(made);
    return hipSuccess;
}

bool go_on(Launch &launch) {
    Turn turn;
    launch.slice_end = seconds_now() + SLICE_S;
    return run(launch);
}

void merge_counters(Launch &launch, const KptCounters &from, const std::vector<uint64_t> &places) {
    static std::mutex mutex;
    std::lock_guard<std::mutex> lock(mutex);
    const auto *source = reinterpret_cast<const uint64_t *>(&from);
    auto *target = reinterpret_cast<uint64_t *>(&launch.counters);
    for (size_t i = 0; i < offsetof(KptCounters, per_place) / 8; i++) target[i] += source[i];
    for (size_t i = 0; i < places.size(); i++) launch.place_counts[i] += places[i];
}

} // namespace kpt
