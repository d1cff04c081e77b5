#include "config.h"

#include <unistd.h>

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <thread>

namespace kpt {
namespace {

std::string environment(const char *name) {
    const char *value = getenv(name);
    return value ? value : "";
}

double number(const char *name, double otherwise) {
    std::string text = environment(name);
    if (text.empty()) return otherwise;
    char *end = nullptr;
    double value = strtod(text.c_str(), &end);
    if (*end != 0 || value < 0) {
        say("%s=%s is not a number: %g is used", name, text.c_str(), otherwise);
        return otherwise;
    }
    return value;
}

uint32_t count(const Json &object, const char *name) { return uint32_t(object[name].number_or(0)); }

bool read_gpu(Config &out) {
    std::string path = environment("KPT_EMULATE_GPU");
    if (path.empty()) {
        say("KPT_EMULATE_GPU is not set, so there is no device; start the program with `kpt emulate`");
        return false;
    }
    std::ifstream file(path);
    std::stringstream text;
    text << file.rdbuf();
    std::string problem;
    if (!file || !parse_json(text.str(), out.gpu, problem)) {
        say("%s: not a device description (%s); there is no device", path.c_str(),
            file ? problem.c_str() : "cannot be read");
        return false;
    }
    const Json &o = out.gpu["occupancy"];
    out.occupancy = {
        count(o, "wave_size"),          count(o, "simds_per_cu"),          count(o, "vgprs_per_simd"),
        count(o, "vgpr_granule"),       count(o, "sgprs_per_simd"),        count(o, "sgpr_granule"),
        count(o, "max_waves_per_simd"), count(o, "barriers_per_cu"),       count(o, "lds_bytes_per_cu"),
        count(o, "lds_granule"),        count(o, "max_lds_per_workgroup"), count(o, "max_threads_per_workgroup"),
        count(o, "compute_units")};
    out.target = out.gpu["target"].text_or("");
    out.name = out.gpu["name"].text_or("");
    if (out.target.compare(0, 3, "gfx") != 0 || out.occupancy.compute_units == 0 || out.occupancy.wave_size == 0) {
        say("%s: the device description is not complete; there is no device", path.c_str());
        return false;
    }
    out.devices = int(out.gpu["devices"].number_or(1));
    out.device_memory = uint64_t(out.gpu["memory_bytes"].number_or(0));
    return true;
}

void read_target(Config &out) {
    /* gfx942 is 9.4.2, gfx90a is 9.0.10, gfx1100 is 11.0.0: two digits of the major number from gfx10 on. */
    std::string digits = out.target.substr(3);
    size_t wide = digits.size() > 3 ? 2 : 1;
    out.major = atoi(digits.substr(0, wide).c_str());
    out.minor = int(strtol(digits.substr(wide, 1).c_str(), nullptr, 16));
    bool gfx90a = out.target == "gfx90a", gfx94 = out.major == 9 && out.minor >= 4;
    out.packed_work_item_ids = gfx90a || gfx94 || out.major >= 11;
    out.architected_flat_scratch = gfx94 || out.major >= 11;
    out.ids_in_ttmp = out.major >= 12;
}

Config read() {
    Config out;
    out.usable = read_gpu(out);
    if (out.usable) read_target(out);
    std::stringstream flags(environment("KPT_EMULATE_FLAGS"));
    for (std::string flag; std::getline(flags, flag, ',');) {
        if (flag == "checked")
            out.checked = true;
        else if (flag == "waits")
            out.waits = true;
        else if (flag == "quick")
            out.quick = true;
        else if (flag == "debug")
            out.debug = true;
        else if (flag == "counted")
            out.counted = true;
        else if (flag == "races")
            out.races = out.checked = true;
        else if (flag == "shuffle-blocks")
            out.shuffle_blocks = true;
        else if (flag == "whole-pages")
            out.whole_pages = true;
        else if (flag == "quiet-faults")
            out.quiet_faults = true;
        else if (!flag.empty())
            say("KPT_EMULATE_FLAGS: %s is not a flag and is ignored", flag.c_str());
    }
    out.cache = environment("KPT_EMULATE_CACHE");
    out.translate = environment("KPT_EMULATE_TRANSLATE");
    out.compile = environment("KPT_EMULATE_COMPILE");
    out.report = environment("KPT_EMULATE_REPORT");
    unsigned cores = std::thread::hardware_concurrency();
    out.threads = unsigned(number("KPT_EMULATE_THREADS", cores ? cores : 1));
    if (out.threads == 0) out.threads = 1;
    if (out.threads > 1024) out.threads = 1024;
    /* The race detector keeps one history of accesses: an order that threads do not disturb. */
    if (out.races) out.threads = 1;
    out.watchdog_s = number("KPT_EMULATE_WATCHDOG_S", 120);
    double limit_gb = number("KPT_EMULATE_MEMORY_GB", 0);
    uint64_t host = uint64_t(sysconf(_SC_PHYS_PAGES)) * uint64_t(sysconf(_SC_PAGESIZE));
    if (limit_gb > 0) {
        out.memory_limit = uint64_t(limit_gb * double(1ull << 30));
        out.device_memory = out.memory_limit;
    } else {
        /* What the machine can hold beside the program itself, when the GPU has more than that. */
        host = host / 4 * 3;
        out.memory_limit = out.device_memory < host ? out.device_memory : host;
    }
    std::string fill = environment("KPT_EMULATE_FILL");
    if (!fill.empty()) out.fill = uint8_t(strtoul(fill.c_str(), nullptr, 16));
    uint64_t alignment = uint64_t(number("KPT_EMULATE_ALIGNMENT", 16));
    if (alignment >= 1 && alignment <= 4096 && (alignment & (alignment - 1)) == 0) out.alignment = alignment;
    out.seed = uint64_t(number("KPT_EMULATE_SEED", 0));
    return out;
}

} // namespace

const Config &config() {
    static const Config *value = new Config(read());
    return *value;
}

void say(const char *format, ...) {
    char text[4096];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    fflush(stdout);
    fprintf(stderr, "kpt emulate: %s\n", text);
}

} // namespace kpt
