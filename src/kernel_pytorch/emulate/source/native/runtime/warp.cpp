/* Lanes of a warp that wait for each other: shuffles, votes, matches, reductions, __syncwarp. */
#include <cstdio>
#include <cstring>
#include <map>

#include "errors.h"
#include "runtime.h"

namespace kpt {
namespace {

const char *const NAMES[] = {"__syncwarp",        "__shfl_sync",       "__shfl_up_sync",    "__shfl_down_sync",
                             "__shfl_xor_sync",   "__ballot_sync",     "__any_sync",        "__all_sync",
                             "__uni_sync",        "__match_any_sync",  "__match_all_sync",  "__reduce_add_sync",
                             "__reduce_min_sync", "__reduce_max_sync", "__reduce_min_sync", "__reduce_max_sync",
                             "__reduce_and_sync", "__reduce_or_sync",  "__reduce_xor_sync", "__activemask"};

std::string hex(uint32_t value) {
    char text[16];
    snprintf(text, sizeof text, "0x%08x", value);
    return text;
}

int source_lane(const Thread &t) {
    int lane = t.lane, width = t.width > 0 && t.width <= 32 ? t.width : 32, first = lane & ~(width - 1);
    int last = first | (width - 1), from;
    switch (t.kind) {
    case KPT_SHFL: return first | (t.argument & (width - 1));
    case KPT_SHFL_UP: from = lane - t.argument; return from < first ? lane : from;
    case KPT_SHFL_DOWN: from = lane + t.argument; return from > last ? lane : from;
    default: from = lane ^ (t.argument & 31); return from > last ? lane : from;
    }
}

void shuffle(Block &block, uint32_t warp, uint32_t lanes, uint32_t exited) {
    for (uint32_t left = lanes; left; left &= left - 1) {
        Thread *t = thread_at(block, warp, __builtin_ctz(left));
        int from = source_lane(*t);
        if (lanes >> from & 1) {
            t->result = thread_at(block, warp, from)->value;
            continue;
        }
        bool gone = exited >> from & 1;
        report_fault({"inactive-lane",
                      t->place,
                      std::string(NAMES[t->kind]) + " reads lane " + std::to_string(from) + ", which " +
                          (gone ? "has exited or does not exist" : "is not in the mask " + hex(t->mask)),
                      "the value is undefined: stale register contents, or what the lane last had there",
                      t,
                      {nullptr, 0}});
        t->result = 0xbad0bad0bad0bad0ull ^ block.worker->random;
    }
}

uint64_t combine(int kind, uint64_t a, uint64_t b) {
    switch (kind) {
    case KPT_ADD_U: return uint32_t(a + b);
    case KPT_MIN_U: return uint32_t(a) < uint32_t(b) ? a : b;
    case KPT_MAX_U: return uint32_t(a) > uint32_t(b) ? a : b;
    case KPT_MIN_S: return int32_t(a) < int32_t(b) ? a : b;
    case KPT_MAX_S: return int32_t(a) > int32_t(b) ? a : b;
    case KPT_AND: return a & b;
    case KPT_OR: return a | b;
    default: return a ^ b;
    }
}

void vote(Block &block, uint32_t warp, int kind, uint32_t lanes) {
    uint32_t set = 0;
    uint64_t reduced = 0;
    bool first = true, same = true;
    uint64_t value = 0;
    for (uint32_t left = lanes; left; left &= left - 1) {
        Thread *t = thread_at(block, warp, __builtin_ctz(left));
        if (t->value) set |= 1u << t->lane;
        same &= first || t->value == value;
        reduced = first ? t->value : combine(kind, reduced, t->value);
        value = t->value;
        first = false;
    }
    for (uint32_t left = lanes; left; left &= left - 1) {
        Thread *t = thread_at(block, warp, __builtin_ctz(left));
        switch (kind) {
        case KPT_BALLOT: t->result = set; break;
        case KPT_ANY: t->result = set != 0; break;
        case KPT_ALL: t->result = set == lanes; break;
        case KPT_UNI: t->result = set == 0 || set == lanes; break;
        case KPT_ACTIVE: t->result = lanes; break;
        case KPT_MATCH_ALL:
            t->result = same ? lanes : 0;
            t->other = same;
            break;
        case KPT_MATCH_ANY: {
            uint32_t equal = 0;
            for (uint32_t others = lanes; others; others &= others - 1) {
                unsigned lane = __builtin_ctz(others);
                if (thread_at(block, warp, lane)->value == t->value) equal |= 1u << lane;
            }
            t->result = equal;
            break;
        }
        default: t->result = reduced;
        }
    }
}

void finish(Block &block, uint32_t warp_index, const Group &group) {
    Warp &warp = block.warps[warp_index];
    uint32_t absent = warp.exited | ~warp.lanes;
    if (group.kind == KPT_SYNCWARP) {
        if (settings.races) order_warp(warp, block, warp_index, group.arrived);
    } else if (group.kind <= KPT_SHFL_XOR) {
        shuffle(block, warp_index, group.arrived, absent);
    } else {
        vote(block, warp_index, group.kind, group.arrived);
    }
    for (uint32_t left = group.arrived; left; left &= left - 1) {
        Thread *t = thread_at(block, warp_index, __builtin_ctz(left));
        make_ready(t);
    }
}

bool complete(const Warp &warp, const Group &group) {
    uint32_t present = warp.lanes & ~warp.exited;
    return ((group.lenient ? present : group.mask & present) & ~group.arrived) == 0;
}

} // namespace

void lane_exited(Thread *thread) {
    Block &block = *thread->block;
    Warp &warp = block.warps[thread->warp];
    warp.exited |= 1u << thread->lane;
    for (size_t i = 0; i < warp.groups.size();) {
        if (!complete(warp, warp.groups[i])) {
            i++;
            continue;
        }
        Group group = warp.groups[i];
        warp.groups.erase(warp.groups.begin() + long(i));
        finish(block, thread->warp, group);
    }
}

bool resolve_lenient(Block &block) {
    for (uint32_t w = 0; w < block.warps.size(); w++) {
        Warp &warp = block.warps[w];
        for (size_t i = 0; i < warp.groups.size(); i++) {
            if (!warp.groups[i].lenient) continue;
            Group group = warp.groups[i];
            warp.groups.erase(warp.groups.begin() + long(i));
            finish(block, w, group);
            return true;
        }
    }
    return false;
}

std::string waiting_text(const Block &block) {
    std::map<std::string, int> waiting;
    int gone = 0;
    for (const Thread *t : block.threads) {
        if (t->at == At::barrier) waiting["__syncthreads() " + place_text(t->place)]++;
        if (t->at == At::grid) waiting["grid.sync() " + place_text(t->place)]++;
        if (t->at == At::warp) {
            const Warp &warp = block.warps[t->warp];
            uint32_t missing = t->mask;
            for (const Group &g : warp.groups)
                if (g.kind == t->kind && g.mask == t->mask) missing = t->mask & warp.lanes & ~warp.exited & ~g.arrived;
            waiting[std::string(NAMES[t->kind]) + " " + place_text(t->place) + " (mask " + hex(t->mask) +
                    ", waiting for lanes " + hex(missing) + ")"]++;
        }
        gone += t->at == At::done;
    }
    std::string text;
    for (auto &one : waiting) text += (text.empty() ? "" : "; ") + std::to_string(one.second) + " at " + one.first;
    if (gone) text += "; " + std::to_string(gone) + " have ended";
    return text;
}

} // namespace kpt

using namespace kpt;

extern "C" uint64_t kpt_warp(int kind, uint32_t mask, int lenient, uint64_t value, int argument, int width, int *other,
                             const char *file, int line) {
    Thread *t = kpt_current;
    if (!t) return value;
    if (settings.races) settle(t);
    Block &block = *t->block;
    Warp &warp = block.warps[t->warp];
    uint32_t own = 1u << t->lane;
    t->place = {file, uint32_t(line)};
    t->kind = kind;
    t->argument = argument;
    t->width = width;
    t->mask = mask;
    t->value = value;
    if (!lenient && !(mask & own)) {
        report_fault({"inactive-lane",
                      t->place,
                      std::string(NAMES[kind]) + " is called by lane " + std::to_string(t->lane) + ", which its mask " +
                          hex(mask) + " leaves out",
                      "undefined: the result is not defined, and later collectives may hang",
                      t,
                      {nullptr, 0}});
        return value;
    }
    Group *group = nullptr;
    for (Group &g : warp.groups) {
        bool same = lenient ? g.lenient && g.place.line == uint32_t(line) && g.place.file == file
                            : !g.lenient && g.mask == mask;
        if (same && g.kind == kind) group = &g;
    }
    if (!group) {
        warp.groups.push_back({kind, mask, 0, lenient != 0, t->place});
        group = &warp.groups.back();
    }
    group->arrived |= own;
    t->at = At::warp;
    if (complete(warp, *group)) {
        Group whole = *group;
        warp.groups.erase(warp.groups.begin() + (group - warp.groups.data()));
        finish(block, t->warp, whole);
    } else {
        yield(t);
    }
    if (other) *other = t->other;
    return t->result;
}
