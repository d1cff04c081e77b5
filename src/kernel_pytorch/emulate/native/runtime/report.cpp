#include "report.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cinttypes>
#include <cstring>
#include <map>
#include <mutex>
#include <tuple>

#include "config.h"
#include "json.h"
#include "memory.h"

namespace kpt {
namespace {

const uint64_t DIGESTED_BYTES = 1ull << 30;
const unsigned SHOWN_PER_PLACE = 3, SHOWN_IN_ALL = 50, WRITTEN_IN_ALL = 10000;

std::atomic<uint64_t> launches{0}, faults{0};
std::atomic<double> kernel_seconds{0};
std::atomic<bool> ended{false};

int file() {
    static int descriptor = [] {
        if (config().report.empty()) return -1;
        int opened = open(config().report.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
        if (opened < 0) say("%s: the report cannot be written: %s", config().report.c_str(), strerror(errno));
        return opened;
    }();
    return descriptor;
}

std::string triple(const char *name, uint32_t x, uint32_t y, uint32_t z) {
    return std::string(",\"") + name + "\":[" + std::to_string(x) + "," + std::to_string(y) + "," + std::to_string(z) +
           "]";
}

std::string member(const char *name, const std::string &text) {
    return std::string(",\"") + name + "\":" + quoted(text);
}

std::string member(const char *name, uint64_t value) {
    return std::string(",\"") + name + "\":" + std::to_string(value);
}

std::string hex(uint64_t value) {
    char text[32];
    snprintf(text, sizeof text, "0x%" PRIx64, value);
    return text;
}

/* FNV-1a over 8-byte words (the last one padded with zeros): bytes one by one would take seconds per gigabyte. */
uint64_t digest(const uint8_t *data, uint64_t bytes) {
    uint64_t hash = 0xcbf29ce484222325ull;
    for (uint64_t i = 0; i < bytes; i += 8) {
        uint64_t word = 0;
        memcpy(&word, data + i, std::min<uint64_t>(8, bytes - i));
        hash = (hash ^ word) * 0x100000001b3ull;
        hash ^= hash >> 29;
    }
    return hash;
}

/* How often each instruction ran, over all launches; written when the process ends. */
struct Hot {
    std::mutex mutex;
    std::map<std::string, std::map<std::tuple<std::string, std::string, uint32_t>, uint64_t>> kernels;
};
Hot &hot() {
    static Hot *value = new Hot;
    return *value;
}

void places_at_exit() {
    std::lock_guard<std::mutex> lock(hot().mutex);
    for (auto &kernel : hot().kernels) {
        std::string line = "{\"event\":\"places\"" + member("kernel", kernel.first) + ",\"places\":[";
        for (auto &place : kernel.second) {
            if (line.back() == ']') line += ",";
            line += "[" + quoted(std::get<0>(place.first)) + "," + quoted(std::get<1>(place.first)) + "," +
                    std::to_string(std::get<2>(place.first)) + "," + std::to_string(place.second) + "]";
        }
        report_line(line + "]}");
    }
}

void buffers_at_exit(const Allocation &a) {
    if (a.kind == Kind::device) report_buffer(a, "exit");
}

void end_report() {
    if (!reporting() || ended.exchange(true)) return;
    each_allocation(buffers_at_exit);
    places_at_exit();
    report_fidelity();
    char seconds[32];
    snprintf(seconds, sizeof seconds, "%.6f", kernel_seconds.load());
    report_line("{\"event\":\"end\"" + member("launches", launches) + ",\"kernels_seconds\":" + seconds +
                member("faults", faults) + "}");
}

/* Runs when the process ends by exit() or by returning from main. */
__attribute__((destructor)) void at_the_end() { end_report(); }

} // namespace

void report_end() { end_report(); }

bool reporting() { return !config().report.empty() && file() >= 0; }

void report_line(const std::string &json) {
    if (!reporting()) return;
    std::string line = json + "\n";
    /* One write per line: lines of several processes do not mix. */
    ssize_t ignored = write(file(), line.data(), line.size());
    (void)ignored;
}

void report_buffer(const Allocation &a, const char *when) {
    if (!reporting() || !a.bytes) return;
    uint64_t hash = digest(reinterpret_cast<const uint8_t *>(a.base), std::min(a.bytes, DIGESTED_BYTES));
    report_line("{\"event\":\"buffer\"" + member("id", a.id) + member("bytes", a.bytes) +
                member("digest", hex(hash).substr(2)) + member("when", when) + "}");
}

void report_launch(const std::string &kernel, dim3 grid, dim3 block, uint32_t lds, double seconds, double cpu,
                   uint64_t stream, const KptCounters *c) {
    launches++;
    double before = kernel_seconds.load();
    while (!kernel_seconds.compare_exchange_weak(before, before + seconds)) {}
    if (!reporting()) return;
    char time[32], busy[32];
    snprintf(time, sizeof time, "%.9f", seconds);
    snprintf(busy, sizeof busy, "%.9f", cpu);
    std::string line = "{\"event\":\"launch\"" + member("kernel", kernel) + triple("grid", grid.x, grid.y, grid.z) +
                       triple("block", block.x, block.y, block.z) + member("lds", lds) + ",\"seconds\":" + time +
                       ",\"cpu_seconds\":" + busy + member("stream", stream);
    if (c) {
        line += ",\"counters\":{\"vector_alu\":" + std::to_string(c->vector_alu);
        line += member("scalar_alu", c->scalar_alu) + member("vector_memory", c->vector_memory) +
                member("scalar_memory", c->scalar_memory) + member("lds", c->lds) + member("matrix", c->matrix) +
                member("branch", c->branch) + member("barrier", c->barrier) + member("other", c->other) +
                member("active_lanes", c->active_lanes) + member("possible_lanes", c->possible_lanes) +
                member("global_bytes_read", c->global_bytes_read) +
                member("global_bytes_written", c->global_bytes_written) + member("lines_touched", c->lines_touched) +
                member("lines_ideal", c->lines_ideal) + member("lds_accesses", c->lds_accesses) +
                member("lds_conflict_cycles", c->lds_conflict_cycles) + "}";
    }
    report_line(line + "}");
}

void report_places(const KptKernel &kernel, const uint64_t *counts) {
    if (!reporting()) return;
    std::lock_guard<std::mutex> lock(hot().mutex);
    auto &lines = hot().kernels[kernel.symbol];
    for (uint32_t i = 0; i < kernel.place_count; i++) {
        const KptPlace &place = kernel.places[i];
        if (counts[i]) lines[{place.text, place.file, place.line}] += counts[i];
    }
}

void report_fault(const Fault &f) {
    static std::mutex mutex;
    static std::map<std::string, unsigned> seen;
    static unsigned shown = 0, written = 0;
    std::lock_guard<std::mutex> lock(mutex);
    faults++;
    std::string place = f.kind + f.kernel + f.instruction + f.file + std::to_string(f.line);
    if (++seen[place] > SHOWN_PER_PLACE || ++written > WRITTEN_IN_ALL) {
        if (seen[place] == SHOWN_PER_PLACE + 1 && !config().quiet_faults)
            say("more faults of this kind at this place are not shown");
        return;
    }
    std::string line = "{\"event\":\"fault\"" + member("kind", f.kind) + member("kernel", f.kernel) +
                       triple("grid_block", f.group[0], f.group[1], f.group[2]) + member("wave", f.wave);
    if (f.lane >= 0) line += member("lane", uint64_t(f.lane));
    line += member("instruction", f.instruction) + member("file", f.file) + member("line", f.line);
    if (f.address) line += member("address", hex(f.address));
    line += member("bytes", f.bytes) + member("detail", f.detail) + member("hardware", f.hardware) + "}";
    report_line(line);
    if ((config().quiet_faults && reporting()) || ++shown > SHOWN_IN_ALL) return;
    std::string text = "fault: " + f.kind;
    if (!f.kernel.empty()) text += "\n  kernel      " + f.kernel;
    if (!f.kernel.empty() && !f.between_streams()) {
        text += "\n  where       block (" + std::to_string(f.group[0]) + ", " + std::to_string(f.group[1]) + ", " +
                std::to_string(f.group[2]) + "), wave " + std::to_string(f.wave);
        if (f.lane >= 0) text += ", lane " + std::to_string(f.lane);
    }
    if (!f.instruction.empty()) text += "\n  instruction " + f.instruction;
    if (!f.file.empty()) text += "\n  source      " + f.file + ":" + std::to_string(f.line);
    if (f.address)
        text += "\n  address     " + hex(f.address) + (f.bytes ? ", " + std::to_string(f.bytes) + " bytes" : "");
    if (!f.detail.empty()) text += "\n  what        " + f.detail;
    if (!f.hardware.empty()) text += "\n  hardware    " + f.hardware;
    say("%s", text.c_str());
}

uint64_t faults_reported() { return faults; }

} // namespace kpt
