#include "stream_order.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <map>
#include <mutex>
#include <set>

#include "config.h"
#include "errors.h"
#include "memory.h"
#include "report.h"
#include "stream.h"

namespace kpt {
namespace {

const uint32_t HOST = 0;
const size_t MOST_USES = 64, MOST_FREED = 1024;

/* One use of a buffer by work of a stream. */
struct StreamUse {
    uint32_t agent, tick;
    UseKind kind;
    std::string by;
    const char *place; /* "file:line", or null; never freed */
    std::vector<Stretch> stretches;
    uint64_t begun, ended; /* order_stamp() */
};

struct UsedBuffer {
    uint32_t owner = HOST; /* the stream it was allocated on, where torch's allocator says so */
    uint64_t bytes = 0;
    std::set<uint32_t> recorded; /* record_stream */
    std::vector<StreamUse> uses;
};

/* Memory that went back to its stream while another one may still use it. */
struct Freed {
    uint32_t owner;
    uint64_t bytes;
    const char *place;
    StreamUse use;
};

struct Order {
    std::mutex mutex;
    std::vector<Clock> clocks = std::vector<Clock>(1, Clock(1));
    std::vector<std::string> names = {"the host"};
    std::map<std::pair<uint64_t, int>, uint32_t> agents; /* stream's number and device */
    std::map<uint32_t, std::pair<int, bool>> streams;    /* device; waits for the default stream and the other way */
    std::map<uint64_t, UsedBuffer> buffers;              /* by base */
    std::set<std::pair<uint64_t, uint64_t>> talked; /* works that ran beside each other and used the same atomics */
    std::vector<Freed> freed;
};
Order &order() {
    static Order *value = new Order;
    return *value;
}

thread_local CurrentWork current_work;

uint64_t (*place_reader)() = nullptr;

const char *place_now() { return place_reader ? reinterpret_cast<const char *>(place_reader()) : nullptr; }

void join(Clock &into, const Clock &from) {
    if (into.size() < from.size()) into.resize(from.size());
    for (size_t i = 0; i < from.size(); i++) into[i] = std::max(into[i], from[i]);
}

uint32_t agent_of(Order &o, const ihipStream_t *stream, int device) {
    if (stream->id) device = stream->device;
    auto [at, is_new] = o.agents.insert({{stream->id, device}, uint32_t(o.clocks.size())});
    if (is_new) {
        o.clocks.emplace_back();
        std::string on = config().devices > 1 ? " of device " + std::to_string(device) : "";
        o.names.push_back((stream->id ? "stream " + std::to_string(stream->id) : "the default stream") + on);
        o.streams[at->second] = {device, stream->blocking};
    }
    return at->second;
}

/* What a stream can be sure of before its next work: what the host waited for, and by the rule of the default stream
 * what blocking streams did, or for those what the default stream did. */
const Clock &knows(Order &o, const ihipStream_t *stream, int device) {
    uint32_t agent = agent_of(o, stream, device);
    join(o.clocks[agent], o.clocks[HOST]);
    auto [own_device, blocking] = o.streams[agent];
    if (blocking)
        for (auto &[number, other] : o.agents) {
            bool with_default = !stream->id || !number.first;
            if (other != agent && with_default && o.streams[other] == std::make_pair(own_device, true))
                join(o.clocks[agent], o.clocks[other]);
        }
    return o.clocks[agent];
}

bool reached(const Clock &clock, const StreamUse &use) {
    return use.agent < clock.size() && clock[use.agent] >= use.tick;
}

uint64_t number_of(const StreamUse &use) { return uint64_t(use.agent) << 32 | use.tick; }

std::pair<uint64_t, uint64_t> pair_of(const StreamUse &a, const StreamUse &b) {
    return std::minmax({number_of(a), number_of(b)});
}

/* Kernels that run beside each other tell each other by atomics how far they are: no event is needed between them. */
void note_talk(Order &o, const UsedBuffer &buffer, const StreamUse &now) {
    for (const StreamUse &before : buffer.uses)
        if (before.kind == UseKind::atomic && before.agent != now.agent && now.begun < before.ended &&
            overlap(before.stretches, now.stretches))
            o.talked.insert(pair_of(before, now));
}

bool conflict(UseKind a, UseKind b) { return a == b ? a == UseKind::write : true; }

const char *verb(UseKind kind) {
    return kind == UseKind::read ? "reads" : kind == UseKind::write ? "writes" : "updates";
}

std::string at(const char *place) { return place && *place ? std::string(" at ") + place : ""; }

Fault fault_at(const char *place, const std::string &by) {
    Fault fault;
    fault.kind = "stream-race";
    fault.kernel = by;
    const char *colon = place ? strrchr(place, ':') : nullptr;
    if (colon) {
        fault.file.assign(place, colon);
        fault.line = uint32_t(atoi(colon + 1));
    }
    return fault;
}

void report_race(const Order &o, uint64_t bytes, const StreamUse &now, const StreamUse &before) {
    Fault fault = fault_at(now.place, now.by);
    fault.detail = "on " + o.names[now.agent] + " it " + verb(now.kind) + " memory (a buffer of " +
                   std::to_string(bytes) + " bytes) that " + before.by + at(before.place) + " " + verb(before.kind) +
                   " on " + o.names[before.agent] +
                   "; nothing orders the two: no event that is waited for, no wait_stream, no synchronisation";
    fault.hardware = "the two run at the same time: old values, new ones, or some of each";
    report_fault(fault);
}

void report_freed(const Order &o, const Freed &freed, const char *place) {
    Fault fault = fault_at(place, "an allocation");
    fault.detail = "on " + o.names[freed.owner] + " it may get the memory of a buffer of " +
                   std::to_string(freed.bytes) + " bytes that was freed" + at(freed.place) + ", while " + freed.use.by +
                   at(freed.use.place) + " may still use it on " + o.names[freed.use.agent] +
                   "; record_stream was not called, and nothing waits for that stream";
    fault.hardware = "the new buffer and the old one share memory: either may see the other's values";
    report_fault(fault);
}

/* Whether torch's allocator could put an allocation into a block that was freed: in the same pool, and large enough. */
bool could_reuse(uint64_t freed, uint64_t wanted) {
    const uint64_t STEP = 512, SMALL = 1 << 20;
    return (freed <= SMALL) == (wanted <= SMALL) && rounded_up(wanted, STEP) <= rounded_up(freed, STEP);
}

void keep(UsedBuffer &buffer, const Clock &known, StreamUse &&now) {
    auto is_covered = [&](const StreamUse &old) {
        bool replaced = now.kind == UseKind::write || (now.kind == old.kind && now.agent == old.agent);
        return replaced && reached(known, old) && covers(now.stretches, old.stretches);
    };
    auto &uses = buffer.uses;
    uses.erase(std::remove_if(uses.begin(), uses.end(), is_covered), uses.end());
    if (uses.size() == MOST_USES) uses.erase(uses.begin());
    uses.push_back(std::move(now));
}

} // namespace

WorkOfStream::WorkOfStream(const ihipStream_t *stream, int device, const char *by) {
    if (!config().races) return;
    if (current_work.going_on) {
        current_work.by = by;
        return;
    }
    outermost_ = true;
    const char *place = place_now(); /* before the lock: it may wait for Python's */
    Order &o = order();
    std::lock_guard<std::mutex> lock(o.mutex);
    knows(o, stream, device);
    uint32_t agent = agent_of(o, stream, device);
    Clock &clock = o.clocks[agent];
    if (clock.size() <= agent) clock.resize(agent + 1);
    current_work = {agent, ++clock[agent], by, place, true, nullptr};
}

WorkOfStream::~WorkOfStream() {
    if (outermost_) current_work = CurrentWork();
}

CurrentWork work_now() {
    CurrentWork work = current_work;
    if (!work.going_on || work.known) return work;
    std::lock_guard<std::mutex> lock(order().mutex);
    work.known = std::make_shared<const Clock>(order().clocks[work.agent]);
    return work;
}

WorkGoesOn::WorkGoesOn(const CurrentWork &work) { current_work = work; }
WorkGoesOn::~WorkGoesOn() { current_work = CurrentWork(); }

uint64_t order_stamp() {
    static std::atomic<uint64_t> stamps{0};
    return ++stamps;
}

void touches(std::vector<Stretch> stretches, UseKind kind, const char *by, uint64_t begun) {
    if (!config().races || !current_work.going_on || stretches.empty()) return;
    stretches = merged(std::move(stretches));
    if (stretches.empty()) return;
    Allocation *a = find(stretches[0].first);
    if (!a || !a->id) return;
    Order &o = order();
    std::lock_guard<std::mutex> lock(o.mutex);
    UsedBuffer &buffer = o.buffers[a->base];
    StreamUse now{current_work.agent, current_work.tick,    kind, by ? by : current_work.by,
                  current_work.place, std::move(stretches), 0,    order_stamp()};
    now.begun = begun ? begun : now.ended;
    if (kind == UseKind::atomic) note_talk(o, buffer, now);
    const Clock known = current_work.known ? *current_work.known : o.clocks[current_work.agent];
    for (const StreamUse &before : buffer.uses)
        if (before.agent != now.agent && conflict(before.kind, kind) && !reached(known, before) &&
            overlap(before.stretches, now.stretches) && !o.talked.count(pair_of(before, now))) {
            report_race(o, a->bytes, now, before);
            break;
        }
    keep(buffer, known, std::move(now));
}

void host_waits_for(const ihipStream_t *stream, int device) {
    if (!config().races) return;
    Order &o = order();
    std::lock_guard<std::mutex> lock(o.mutex);
    Clock known = knows(o, stream, device);
    join(o.clocks[HOST], known);
}

void host_waits_for_device(int device) {
    if (!config().races) return;
    Order &o = order();
    std::lock_guard<std::mutex> lock(o.mutex);
    for (auto &[agent, stream] : o.streams)
        if (stream.first == device) join(o.clocks[HOST], o.clocks[agent]);
}

void host_learns(const CurrentWork &work) {
    if (!work.known) return;
    std::lock_guard<std::mutex> lock(order().mutex);
    join(order().clocks[HOST], *work.known);
}

void host_waits_for(const ihipEvent_t *event) {
    if (!config().races) return;
    std::lock_guard<std::mutex> lock(order().mutex);
    join(order().clocks[HOST], event->clock);
}

void event_follows(ihipEvent_t *event, const ihipStream_t *stream, int device) {
    if (!config().races) return;
    Order &o = order();
    std::lock_guard<std::mutex> lock(o.mutex);
    event->clock = knows(o, stream, device);
}

void stream_waits_for(const ihipStream_t *stream, int device, const ihipEvent_t *event) {
    if (!config().races) return;
    Order &o = order();
    std::lock_guard<std::mutex> lock(o.mutex);
    join(o.clocks[agent_of(o, stream, device)], event->clock);
}

void streams_meet(const ihipStream_t *one, int device, const ihipStream_t *other, int other_device) {
    if (!config().races) return;
    Order &o = order();
    std::lock_guard<std::mutex> lock(o.mutex);
    Clock both = knows(o, one, device);
    join(both, knows(o, other, other_device));
    o.clocks[agent_of(o, one, device)] = both;
    o.clocks[agent_of(o, other, other_device)] = both;
}

void forget_uses(uint64_t base) {
    if (!config().races) return;
    std::lock_guard<std::mutex> lock(order().mutex);
    order().buffers.erase(base);
}

} // namespace kpt

using namespace kpt;

/* For the torch device, whose operators run on the host, and whose allocator keeps memory. A place is a text that stays
 * where it is; the reader gives the program's line. */
KPT_API void kptOrderPlaces(uint64_t (*reader)()) { place_reader = reader; }

KPT_API void *kptOrderBegin(hipStream_t handle, int device, const char *by) {
    ihipStream_t *stream = resolve(handle);
    return stream ? new WorkOfStream(stream, device, by) : nullptr;
}
KPT_API void kptOrderEnd(void *begun) { delete static_cast<WorkOfStream *>(begun); }

KPT_API void kptOrderTouches(const uint64_t *firsts_and_ends, size_t count, int writes) {
    std::vector<Stretch> list;
    for (size_t i = 0; i < count; i++) list.push_back({firsts_and_ends[2 * i], firsts_and_ends[2 * i + 1]});
    touches(std::move(list), writes ? UseKind::write : UseKind::read);
}

KPT_API void kptOrderHostWaits(hipStream_t handle, int device) {
    if (ihipStream_t *stream = resolve(handle)) host_waits_for(stream, device);
}

KPT_API void kptOrderMeet(hipStream_t one, int device, hipStream_t other, int other_device) {
    ihipStream_t *first = resolve(one), *second = resolve(other);
    if (first && second) streams_meet(first, device, second, other_device);
}

KPT_API void kptOrderAllocates(void *base, size_t bytes, hipStream_t handle, int device) {
    ihipStream_t *stream = resolve(handle);
    if (!stream || !config().races) return;
    const char *place = place_now();
    Order &o = order();
    std::lock_guard<std::mutex> lock(o.mutex);
    uint32_t agent = agent_of(o, stream, device);
    const Clock known = knows(o, stream, device);
    auto is_settled = [&](const Freed &one) {
        if (one.owner != agent) return false;
        if (reached(known, one.use)) return true;
        if (!could_reuse(one.bytes, bytes)) return false;
        report_freed(o, one, place);
        return true;
    };
    o.freed.erase(std::remove_if(o.freed.begin(), o.freed.end(), is_settled), o.freed.end());
    UsedBuffer fresh;
    fresh.owner = agent;
    fresh.bytes = bytes;
    o.buffers[uint64_t(base)] = std::move(fresh);
}

KPT_API void kptOrderRecords(void *base, hipStream_t handle, int device) {
    ihipStream_t *stream = resolve(handle);
    if (!stream || !config().races) return;
    Order &o = order();
    std::lock_guard<std::mutex> lock(o.mutex);
    o.buffers[uint64_t(base)].recorded.insert(agent_of(o, stream, device));
}

KPT_API void kptOrderFrees(void *base) {
    if (!config().races) return;
    const char *place = place_now();
    Order &o = order();
    std::lock_guard<std::mutex> lock(o.mutex);
    auto at = o.buffers.find(uint64_t(base));
    if (at == o.buffers.end()) return;
    UsedBuffer buffer = std::move(at->second);
    o.buffers.erase(at);
    for (StreamUse &use : buffer.uses) {
        if (!buffer.owner || use.agent == buffer.owner || buffer.recorded.count(use.agent)) continue;
        if (reached(o.clocks[buffer.owner], use) || reached(o.clocks[HOST], use)) continue;
        if (o.freed.size() == MOST_FREED) o.freed.erase(o.freed.begin());
        o.freed.push_back({buffer.owner, buffer.bytes, place, std::move(use)});
    }
}
