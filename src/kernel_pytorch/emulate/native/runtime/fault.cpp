/* Memory faults of kernels: signals, and what can be said about them. */
#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <mutex>

#include "checks.h"
#include "config.h"
#include "errors.h"
#include "image_access.h"
#include "memory.h"
#include "report.h"
#include "scheduler.h"

namespace kpt {
namespace {

const char *kind_name(KptFaultKind kind) {
    switch (kind) {
    case KPT_FAULT_TRAP: return "trap";
    case KPT_FAULT_LDS_BOUNDS: return "lds-bounds";
    case KPT_FAULT_SCRATCH_BOUNDS: return "scratch-bounds";
    case KPT_FAULT_BAD_JUMP: return "bad-jump";
    case KPT_FAULT_MISALIGNED: return "misaligned";
    case KPT_FAULT_BOUNDS: return "bounds";
    case KPT_FAULT_FREED: return "freed";
    case KPT_FAULT_UNWRITTEN: return "unwritten";
    case KPT_FAULT_INACTIVE_LANE: return "inactive-lane";
    case KPT_FAULT_RACE: return "race";
    case KPT_FAULT_BARRIER: return "barrier";
    case KPT_FAULT_READ_ONLY: return "read-only";
    case KPT_FAULT_WAIT: return "wait";
    case KPT_FAULT_DESCRIPTOR: return "descriptor";
    }
    return "unknown";
}

const char *on_hardware(KptFaultKind kind) {
    switch (kind) {
    case KPT_FAULT_TRAP: return "the queue stops and the ROCm runtime aborts the process";
    case KPT_FAULT_LDS_BOUNDS: return "reads beyond the allocation give 0 and writes are dropped, without a sign";
    case KPT_FAULT_SCRATCH_BOUNDS: return "another lane's private memory is read or overwritten";
    case KPT_FAULT_BAD_JUMP: return "undefined: usually an illegal instruction and an abort";
    case KPT_FAULT_MISALIGNED: return "the access is done at the address rounded down, or slower, by target";
    case KPT_FAULT_BOUNDS:
        return "a page of another allocation is read or overwritten, or a memory access fault aborts the process";
    case KPT_FAULT_FREED: return "whatever lies there now is read or overwritten, or the process is aborted";
    case KPT_FAULT_UNWRITTEN: return "leftover values are read: zeros on a fresh GPU, anything later";
    case KPT_FAULT_INACTIVE_LANE: return "the register's old value is read, or 0";
    case KPT_FAULT_RACE: return "the result depends on timing";
    case KPT_FAULT_BARRIER: return "waves that ended are not waited for";
    case KPT_FAULT_READ_ONLY: return "a memory access fault aborts the process";
    case KPT_FAULT_WAIT: return "the old value may be used: the result depends on timing";
    case KPT_FAULT_DESCRIPTOR: return "what the texture unit makes of these bits: some value, or a memory access fault";
    }
    return "";
}

struct sigaction before_segv, before_bus;

void hand_on(int signal, siginfo_t *info, void *context) {
    struct sigaction &before = signal == SIGBUS ? before_bus : before_segv;
    if (before.sa_flags & SA_SIGINFO && before.sa_sigaction) return before.sa_sigaction(signal, info, context);
    if (before.sa_handler == SIG_IGN) return;
    if (before.sa_handler != SIG_DFL && before.sa_handler) return before.sa_handler(signal);
    /* The default: the instruction runs again and ends the process as if we were not here. */
    sigaction(signal, &before, nullptr);
}

void on_signal(int signal, siginfo_t *info, void *context) {
    Worker *worker = this_worker;
    if (!worker || !worker->in_kernel) return hand_on(signal, info, context);
    /* A general protection fault (a non-canonical address) comes without an address. */
    worker->fault_address = info->si_addr ? uint64_t(info->si_addr) : 1;
    siglongjmp(worker->jump, 1);
}

uint64_t number_after(const char *text, const char *key) {
    const char *at = strstr(text, key);
    return at ? strtoull(at + strlen(key), nullptr, 0) : 0;
}

/* Bytes each lane accesses, by the words AMD's mnemonics use. */
uint64_t access_bytes(const char *text) {
    static const struct {
        const char *word;
        uint64_t bytes;
    } sizes[] = {{"x4", 16}, {"x3", 12},  {"x2", 8}, {"b128", 16}, {"b96", 12},
                 {"64", 8},  {"byte", 1}, {"8", 1},  {"short", 2}, {"16", 2}};
    std::string name(text, strcspn(text, " "));
    for (auto &size : sizes)
        if (name.find(size.word) != std::string::npos) return size.bytes;
    return 4;
}

/* The lane whose address is the one that faulted, from the instruction's operands; -1 where none fits. */
int guess_lane(const KptWave &w, const char *text, uint64_t address) {
    if (!strncmp(text, "image_", 6) || strstr(text, "_format_")) return image_lane();
    int64_t offset = int64_t(number_after(text, "offset:"));
    if (const char *minus = strstr(text, "offset:-")) offset = -int64_t(strtoull(minus + 8, nullptr, 0));
    uint64_t scalar = 0, wide = access_bytes(text);
    bool has_scalar = false;
    if (const char *s = strstr(text, ", s[")) {
        unsigned first = unsigned(strtoul(s + 4, nullptr, 10));
        if (first + 1 < KPT_SGPRS) scalar = w.s[first] | uint64_t(w.s[first + 1]) << 32, has_scalar = true;
    }
    uint32_t size = w.kernel->wave_size, registers = w.kernel->vgprs;
    for (const char *v = strchr(text, 'v'); v; v = strchr(v + 1, 'v')) {
        if (v == text || (v[-1] != ' ' && v[-1] != ',')) continue;
        bool pair = v[1] == '[';
        unsigned first = unsigned(strtoul(v + (pair ? 2 : 1), nullptr, 10));
        if (first + (pair ? 1u : 0u) >= registers || pair == has_scalar) continue;
        for (uint32_t lane = 0; lane < size; lane++) {
            if (!(w.exec >> lane & 1)) continue;
            uint64_t value = w.v[first * size + lane];
            if (pair) value |= uint64_t(w.v[(first + 1) * size + lane]) << 32;
            uint64_t at = value + scalar + uint64_t(offset);
            if (address >= at && address - at < wide) return int(lane);
        }
    }
    return -1;
}

} // namespace

void leave_kernel() { siglongjmp(this_worker->jump, 1); }

void watch_faults() {
    static std::mutex mutex;
    struct sigaction now;
    /* A program may set handlers of its own at any time: ours goes before them again. */
    for (int signal : {SIGSEGV, SIGBUS}) {
        sigaction(signal, nullptr, &now);
        if (now.sa_flags & SA_SIGINFO && now.sa_sigaction == on_signal) continue;
        std::lock_guard<std::mutex> lock(mutex);
        struct sigaction action;
        memset(&action, 0, sizeof action);
        action.sa_sigaction = on_signal;
        action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
        (signal == SIGBUS ? before_bus : before_segv) = now;
        sigaction(signal, &action, nullptr);
    }
    static thread_local bool prepared = false;
    if (prepared) return;
    prepared = true;
    stack_t stack;
    if (sigaltstack(nullptr, &stack) == 0 && !(stack.ss_flags & SS_DISABLE)) return;
    /* Left to the thread for good: kernels may fault on it at any later time. */
    void *memory = mmap(nullptr, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return;
    stack.ss_sp = memory;
    stack.ss_size = 65536;
    stack.ss_flags = 0;
    sigaltstack(&stack, nullptr);
}

void report_kernel_fault(const KptWave &wave, KptFaultKind kind, int lane, uint64_t address, uint32_t bytes,
                         const char *detail) {
    Fault fault;
    fault.kind = kind_name(kind);
    fault.kernel = wave.kernel->symbol;
    memcpy(fault.group, wave.group, sizeof fault.group);
    fault.wave = wave.wave_in_group;
    fault.lane = lane;
    fault.bytes = kind == KPT_FAULT_TRAP ? 0 : bytes;
    fault.address = kind == KPT_FAULT_TRAP ? 0 : address;
    if (wave.at < wave.kernel->place_count) {
        const KptPlace &place = wave.kernel->places[wave.at];
        fault.instruction = place.text;
        fault.file = place.file;
        fault.line = place.line;
    }
    fault.hardware = on_hardware(kind);
    bool global = kind == KPT_FAULT_BOUNDS || kind == KPT_FAULT_FREED || kind == KPT_FAULT_UNWRITTEN ||
                  kind == KPT_FAULT_READ_ONLY || (kind == KPT_FAULT_MISALIGNED && address > 1u << 20);
    bool freed;
    if (detail)
        fault.detail = detail;
    else if (global)
        fault.detail = describe(address, freed);
    else if (kind == KPT_FAULT_LDS_BOUNDS)
        fault.detail = "offset " + std::to_string(address) + " in an LDS allocation of " +
                       std::to_string(wave.lds_bytes) + " bytes";
    else if (kind == KPT_FAULT_SCRATCH_BOUNDS)
        fault.detail = "offset " + std::to_string(address) + " in a private frame of " +
                       std::to_string(wave.scratch_lane_bytes) + " bytes";
    else if (kind == KPT_FAULT_DESCRIPTOR)
        fault.detail = descriptor_problem();
    else if (kind == KPT_FAULT_TRAP)
        fault.detail = "the kernel stopped itself: abort(), __builtin_trap or a failed assert";
    report_fault(fault);
}

void report_memory_fault(Worker &worker) {
    uint64_t address = worker.fault_address;
    worker.fault_address = 0;
    const KptWave &wave = worker.running->wave;
    const char *text = wave.at < wave.kernel->place_count ? wave.kernel->places[wave.at].text : "";
    bool freed = false;
    std::string what =
        address == 1 ? "an address with its upper bits set: a damaged or negative pointer" : describe(address, freed);
    report_kernel_fault(wave, freed ? KPT_FAULT_FREED : KPT_FAULT_BOUNDS, guess_lane(wave, text, address),
                        address == 1 ? 0 : address, 0, what.c_str());
    stick(hipErrorIllegalAddress);
}

void report_stuck(Launch &launch, const std::vector<Group *> &resident, Stuck how, const std::string &waiting) {
    Fault fault;
    fault.kind = "watchdog";
    fault.kernel = launch.kernel->symbol;
    unsigned at_grid = 0, barrier = 0, running = 0;
    const WaveSlot *shown = nullptr;
    for (Group *group : resident)
        for (WaveSlot &slot : group->waves) {
            if (slot.state == WaveState::barrier) barrier++;
            if (slot.state == WaveState::gws) at_grid++;
            if (slot.state == WaveState::ready) running++;
            if (slot.state == WaveState::ready && !shown) shown = &slot;
        }
    if (shown) {
        memcpy(fault.group, shown->wave.group, sizeof fault.group);
        fault.wave = shown->wave.wave_in_group;
        if (shown->wave.at < launch.kernel->place_count) {
            const KptPlace &place = launch.kernel->places[shown->wave.at];
            fault.instruction = place.text, fault.file = place.file, fault.line = place.line;
        }
    }
    const bool truly = how == Stuck::deadlock;
    fault.detail = truly ? "deadlock: every wave that runs repeats the same states"
                         : "no wave ended and no barrier was passed for the watchdog's time (KPT_EMULATE_WATCHDOG_S)";
    if (!waiting.empty()) fault.detail += "; " + waiting + ", and no other kernel, copy or thread goes on";
    fault.detail += "; " + std::to_string(launch.finished.load()) + " of " + std::to_string(launch.blocks) +
                    " blocks are done; here " + std::to_string(running) + " waves spin, " + std::to_string(barrier) +
                    " wait at a barrier, " + std::to_string(at_grid) + " at a grid barrier, in " +
                    std::to_string(resident.size()) + " resident blocks (the GPU holds " +
                    std::to_string(launch.resident_per_worker * config().threads) + ")";
    fault.hardware = truly ? "the kernel hangs" : "it may run longer: raise the watchdog's time if it should";
    report_fault(fault);
    stick(truly ? hipErrorLaunchFailure : hipErrorLaunchTimeOut);
}

} // namespace kpt
