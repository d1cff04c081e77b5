/* Writes what happened as lines of JSON; places inside the program as offsets that a reader of debug information turns
   into source lines. */
#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <thread>
#include <tuple>

#include "runtime.h"

extern "C" char __executable_start;

namespace kpt {

Settings settings;

namespace {

const unsigned SHOWN_PER_PLACE = 3, SHOWN_IN_ALL = 50;
const uint64_t DIGESTED_BYTES = 1ull << 30;
std::mutex mutex;
/* Never destroyed: the report at the program's end reads them. */
auto &seen = *new std::map<std::tuple<std::string, uint32_t, uint32_t>, unsigned>;
auto &places = *new std::vector<Place>;
auto &numbers = *new std::map<std::pair<const char *, uint32_t>, uint32_t>;
std::atomic<Launch *> launch_now{nullptr};
std::atomic<uint64_t> faults{0}, launches{0};
std::atomic<bool> ended{false};
unsigned shown = 0;
int output = -1;

std::string quoted(const std::string &text) {
    std::string out = "\"";
    for (char c : text) {
        if (c == '"' || c == '\\') out += '\\';
        if (uint8_t(c) < 32) {
            char escaped[8];
            snprintf(escaped, sizeof escaped, "\\u%04x", c);
            out += escaped;
        } else {
            out += c;
        }
    }
    return out + "\"";
}

std::string member(const char *name, const std::string &text) {
    return std::string(",\"") + name + "\":" + quoted(text);
}
std::string member(const char *name, uint64_t value) {
    return std::string(",\"") + name + "\":" + std::to_string(value);
}
std::string triple(const char *name, const uint32_t *of) {
    return std::string(",\"") + name + "\":[" + std::to_string(of[0]) + "," + std::to_string(of[1]) + "," +
           std::to_string(of[2]) + "]";
}

void line(const std::string &json) {
    if (output < 0) return;
    std::string whole = json + "\n";
    ssize_t ignored = write(output, whole.data(), whole.size());
    (void)ignored;
}

std::string place_members(const char *prefix, Place place) {
    std::string p = prefix;
    if (place.file) return member((p + "file").c_str(), place.file) + member((p + "line").c_str(), place.line);
    return place.line ? member((p + "pc").c_str(), place.line) : "";
}

/* As the machine-code runtime does it, so that the same contents have the same digest. */
uint64_t digest(const uint8_t *data, uint64_t bytes) {
    uint64_t hash = 0xcbf29ce484222325ull;
    for (uint64_t i = 0; i < bytes; i += 8) {
        uint64_t word = 0;
        memcpy(&word, data + i, bytes - i < 8 ? bytes - i : 8);
        hash = (hash ^ word) * 0x100000001b3ull;
        hash ^= hash >> 29;
    }
    return hash;
}

double number(const char *name, double otherwise) {
    const char *text = getenv(name);
    return text && *text ? strtod(text, nullptr) : otherwise;
}

__attribute__((constructor(101))) void start() {
    const char *flags = getenv("KPT_EMULATE_FLAGS"), *report = getenv("KPT_EMULATE_REPORT");
    auto has = [&](const char *word) { return flags && strstr(flags, word); };
    settings.races = has("races");
    settings.memory = has("checked") || settings.races;
    settings.shuffle_blocks = has("shuffle-blocks");
    settings.seed = uint64_t(number("KPT_EMULATE_SEED", 1));
    settings.watchdog_s = number("KPT_EMULATE_WATCHDOG_S", 60);
    /* Device memory is this machine's; looking for races takes ten bytes more for each that is touched. */
    double here = double(sysconf(_SC_PHYS_PAGES)) * double(sysconf(_SC_PAGESIZE)) / double(1ull << 30);
    settings.memory_gb = number("KPT_EMULATE_MEMORY_GB", 0.75 * here / (settings.races ? 11 : 1));
    unsigned cores = std::thread::hardware_concurrency();
    settings.threads = unsigned(number("KPT_EMULATE_THREADS", cores ? cores : 1));
    if (settings.threads < 1) settings.threads = 1;
    if (report && *report) output = open(report, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    start_memory();
}

__attribute__((destructor)) void at_the_end() { report_end(); }

} // namespace

uint64_t fault_count() { return faults; }
void set_current_launch(Launch *launch) { launch_now = launch; }
Launch *current_launch() { return launch_now; }

uint32_t offset_of(uintptr_t address) { return uint32_t(address - uintptr_t(&__executable_start)); }

uint32_t place_number(Place place) {
    if (!place.file) return place.line;
    static thread_local std::pair<const char *, uint32_t> last{nullptr, 0};
    static thread_local uint32_t last_number = 0;
    std::pair<const char *, uint32_t> key{place.file, place.line};
    if (key == last) return last_number;
    std::lock_guard<std::mutex> lock(mutex);
    auto made = numbers.emplace(key, uint32_t(places.size()));
    if (made.second) places.push_back(place);
    last = key;
    return last_number = 0x80000000u | made.first->second;
}

Place place_of(uint32_t number) {
    if (!(number >> 31)) return {nullptr, number};
    std::lock_guard<std::mutex> lock(mutex);
    return places[number & 0x7fffffff];
}

std::string place_text(Place place) {
    const char *name = place.file ? strrchr(place.file, '/') : nullptr;
    return place.file ? std::string(name ? name + 1 : place.file) + ":" + std::to_string(place.line) : "";
}

std::string thread_text(uint32_t serial, uint32_t number) {
    const KptLaunch &what = launch_now.load()->what;
    uint64_t block = serial - launch_now.load()->serial_base;
    const uint32_t *g = what.grid, *b = what.block;
    char text[160];
    snprintf(text, sizeof text, "thread (%u,%u,%u) of block (%u,%u,%u)", number % b[0], number / b[0] % b[1],
             number / b[0] / b[1], unsigned(block % g[0]), unsigned(block / g[0] % g[1]),
             unsigned(block / g[0] / g[1]));
    return text;
}

void report_fault(const Fault &fault) {
    faults++;
    uint32_t here = place_number(fault.place), there = place_number(fault.other);
    std::lock_guard<std::mutex> lock(mutex);
    unsigned &before = seen[{fault.kind, here, there}];
    if (before++ >= SHOWN_PER_PLACE || shown++ >= SHOWN_IN_ALL) return;
    const Launch *launch = launch_now;
    std::string out = "{\"event\":\"fault\"" + member("kind", fault.kind);
    if (launch) out += member("kernel", launch->what.kernel);
    if (const Thread *t = fault.thread) {
        out += triple("grid_block", t->block->index) + triple("thread", t->index) + member("wave", t->warp) +
               member("lane", t->lane) + ",\"calls\":[";
        uint32_t depth = t->depth < 64 ? t->depth : 64;
        for (uint32_t i = depth; i > 0; i--)
            out += (i < depth ? "," : "") + std::to_string(offset_of(t->calls[i - 1] - 1));
        out += "]";
    }
    out += place_members("", fault.place) + place_members("other_", fault.other);
    line(out + member("detail", fault.detail) + member("hardware", fault.hardware) + "}");
    if (output < 0)
        fprintf(stderr, "kpt: %s %s: %s\n", fault.kind, place_text(fault.place).c_str(), fault.detail.c_str());
}

void report_launch(const KptLaunch &launch, double seconds) {
    launches++;
    char time[32];
    snprintf(time, sizeof time, "%.9f", seconds);
    line("{\"event\":\"launch\"" + member("kernel", launch.kernel) + triple("grid", launch.grid) +
         triple("block", launch.block) + member("lds", launch.shared_bytes) + ",\"seconds\":" + time + "}");
}

void report_unsupported(const char *function) {
    line("{\"event\":\"unsupported\"" + member("function", function) + "}");
}

void report_buffer(const Allocation &a) {
    if (output < 0 || a.kind != Kind::device || !a.bytes) return;
    uint64_t bytes = a.bytes < DIGESTED_BYTES ? a.bytes : DIGESTED_BYTES;
    char text[32];
    snprintf(text, sizeof text, "%" PRIx64, digest(reinterpret_cast<const uint8_t *>(a.base), bytes));
    line("{\"event\":\"buffer\"" + member("id", a.id) + member("bytes", a.bytes) + member("digest", text) + "}");
}

void report_end() {
    if (ended.exchange(true) || output < 0) return;
    each_live(report_buffer);
    line("{\"event\":\"end\"" + member("launches", launches) + member("faults", faults) + "}");
}

} // namespace kpt
