#include "pending.h"

#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <cstring>

#include "errors.h"
#include "graph.h"
#include "pending_items.h"
#include "pool.h"
#include "stream.h"

namespace kpt {

std::atomic<size_t> pending_count{0};

static Pending *everything = nullptr;

/* After fork: what the parent has pending is the parent's, and so is the thread that does it. */
static void begin_anew() {
    everything = new Pending;
    pending_count = 0;
}

Pending &pending() {
    static const bool made = [] {
        begin_anew();
        pthread_atfork(nullptr, nullptr, begin_anew);
        return true;
    }();
    (void)made;
    return *everything;
}

StreamKey key_of(const ihipStream_t *stream, int device) { return {stream->id, stream->id ? stream->device : device}; }

namespace {

/* Between two looks at kernels that all wait. */
const auto PAUSE = std::chrono::microseconds(100);

/* With the lock held. */
void end(Pending &p, const ItemRef &item) {
    item->ended = true;
    item->launch.reset();
    item->operation = Operation();
    for (const ItemRef &next : item->after)
        if (--next->left == 0) p.ready.push_back(next);
    item->after.clear();
    p.live.erase(item);
    for (auto at = p.lasts.begin(); at != p.lasts.end();)
        at = at->second.item == item ? p.lasts.erase(at) : std::next(at);
    pending_count = p.live.size();
    p.hard++;
    p.done.notify_all();
    p.arrived.notify_all();
}

void stick_if(hipError_t error) {
    if (error != hipSuccess && stuck() == hipSuccess) stick(error);
}

/* A function of the program may wait for what others do: it has a thread of its own. */
void *call_back(void *argument) {
    std::unique_ptr<ItemRef> item(static_cast<ItemRef *>(argument));
    std::unique_ptr<Launch> none;
    {
        WorkGoesOn work((*item)->work);
        execute((*item)->operation, true, none);
        host_learns((*item)->work);
    }
    Pending &p = pending();
    std::lock_guard<std::mutex> lock(p.mutex);
    p.callbacks--;
    end(p, *item);
    return nullptr;
}

/* `ahead`: a wave ended or a barrier was passed; `moved`: something changed. */
enum class Step { ended, ahead, moved, waits, elsewhere };

Step step_of_launch(Item &item) {
    if (!item.launch) {
        stick_if(begin_launch(item.operation.launch, true, item.launch));
        return item.launch ? Step::ahead : Step::ended;
    }
    const uint64_t steps = item.launch->steps(), all = item.launch->progress();
    if (go_on(*item.launch)) return Step::ended;
    if (item.launch->steps() != steps) return Step::ahead;
    return item.launch->progress() == all ? Step::waits : Step::moved;
}

Step step(const ItemRef &item) {
    const Operation &o = item->operation;
    if (stuck() != hipSuccess) {
        if (item->launch) conclude(*item->launch);
        return Step::ended;
    }
    WorkGoesOn work(item->work);
    if (o.until) return o.until() ? Step::ended : Step::waits;
    if (o.type == hipGraphNodeTypeKernel) return step_of_launch(*item);
    if (o.type == hipGraphNodeTypeHost) {
        auto *argument = new ItemRef(item);
        if (start_quiet_thread(call_back, argument)) return Step::elsewhere;
        delete argument;
    }
    std::unique_ptr<Launch> none;
    stick_if(execute(o, true, none));
    return Step::ended;
}

/* The thread that does what is pending, for as long as the process lives. */
void *serve_pending(void *) {
    Pending &p = pending();
    std::unique_lock<std::mutex> lock(p.mutex);
    for (size_t idle = 0;;) {
        p.arrived.wait(lock, [&p] { return !p.ready.empty(); });
        ItemRef item = p.ready.front();
        p.ready.pop_front();
        if (item->operation.type == hipGraphNodeTypeHost) p.callbacks++;
        lock.unlock();
        const Step result = step(item);
        lock.lock();
        if (result != Step::elsewhere && item->operation.type == hipGraphNodeTypeHost) p.callbacks--;
        if (result == Step::elsewhere) continue;
        if (result == Step::ended) {
            end(p, item);
            idle = 0;
            continue;
        }
        p.hard += result == Step::ahead;
        p.soft += result == Step::moved;
        idle = result == Step::waits ? idle + 1 : 0;
        p.ready.push_back(std::move(item));
        if (idle < p.ready.size()) continue;
        p.arrived.wait_for(lock, PAUSE);
        idle = 0;
    }
    return nullptr;
}

/* With the lock held. */
ItemRef add(Pending &p, int device, Operation &&operation, std::unique_ptr<Launch> &&launch, const CurrentWork &work,
            const std::vector<ItemRef> &before) {
    if (!p.served) p.served = start_quiet_thread(serve_pending, nullptr);
    auto item = std::make_shared<Item>();
    item->operation = std::move(operation);
    item->launch = std::move(launch);
    item->work = work;
    item->device = device;
    for (const ItemRef &one : before) {
        if (one->ended) continue;
        one->after.push_back(item);
        item->left++;
    }
    p.live.insert(item);
    pending_count = p.live.size();
    p.soft++;
    if (item->left) return item;
    p.ready.push_back(item);
    p.arrived.notify_all();
    return item;
}

/* With the lock held: it is the last of its stream now. */
void set_last(Pending &p, const ihipStream_t *stream, int device, const ItemRef &item) {
    if (!item->ended) p.lasts[key_of(stream, device)] = {item, stream->blocking};
}

/* A copy that has to wait. What it takes from the program's own memory it takes now, as drivers do; and a copy to there
 * waits in the call. */
bool can_wait(Operation &o) {
    if (o.type != hipGraphNodeTypeMemcpy || !o.copy.width || !o.copy.height || !o.copy.depth) return true;
    Copy &c = o.copy;
    if (is_of_the_program(c.to)) return false;
    if (!is_of_the_program(c.from)) return true;
    o.staged = std::make_shared<std::vector<uint8_t>>(c.width * c.height * c.depth);
    uint8_t *to = o.staged->data();
    for (uint64_t z = 0; z < c.depth; z++)
        for (uint64_t y = 0; y < c.height; y++, to += c.width)
            memcpy(to, reinterpret_cast<const void *>(c.from.at + z * c.from.slice + y * c.from.pitch), c.width);
    c.from = {uint64_t(o.staged->data()), c.width, c.width * c.height};
    return true;
}

/* Does it in this thread. An item when it goes on after that. */
hipError_t now(int device, Operation &&operation, ItemRef &item) {
    std::unique_ptr<Launch> rest;
    hipError_t error = execute(operation, false, rest);
    if (!rest) return error;
    const CurrentWork work = work_now();
    Pending &p = pending();
    std::lock_guard<std::mutex> lock(p.mutex);
    item = add(p, device, std::move(operation), std::move(rest), work, {});
    return error;
}

std::vector<ItemRef> live_of(std::vector<ItemRef> items) {
    auto ended = [](const ItemRef &item) { return !item || item->ended; };
    items.erase(std::remove_if(items.begin(), items.end(), ended), items.end());
    return items;
}

Operation marker() { return Operation(); }

/* One node after the items before it. Null: it is done. */
hipError_t give_node(int device, const Operation &operation, std::vector<ItemRef> before, ItemRef &item);

/* Gives the nodes of a graph; `all` are the items that were made of it. */
hipError_t give_nodes(int device, hipGraph_t graph, const std::vector<ItemRef> &first, std::vector<ItemRef> &all) {
    std::vector<hipGraphNode *> nodes;
    if (!in_order(graph, nodes)) return hipErrorInvalidValue;
    std::map<hipGraphNode *, ItemRef> made;
    for (hipGraphNode *node : nodes) {
        std::vector<ItemRef> before = node->dependencies.empty() ? first : std::vector<ItemRef>();
        for (hipGraphNode *one : node->dependencies) before.push_back(made[one]);
        /* Memory of a graph stays: the graph may be launched again, with the same addresses. */
        const bool skipped = !node->enabled || node->operation.type == hipGraphNodeTypeMemFree;
        ItemRef item;
        const hipError_t error = give_node(device, skipped ? marker() : node->operation, before, item);
        if (error != hipSuccess) return error;
        if (item) all.push_back(item);
        made[node] = item;
    }
    return hipSuccess;
}

hipError_t give_node(int device, const Operation &operation, std::vector<ItemRef> before, ItemRef &item) {
    if (operation.type == hipGraphNodeTypeGraph) {
        std::vector<ItemRef> all;
        if (hipError_t error = give_nodes(device, operation.child, before, all); error != hipSuccess) return error;
        if (all.empty()) return hipSuccess;
        Pending &p = pending();
        std::lock_guard<std::mutex> lock(p.mutex);
        all = live_of(all);
        if (!all.empty()) item = add(p, device, marker(), nullptr, work_now(), all);
        return hipSuccess;
    }
    if (!anything_pending()) before.clear();
    if (!before.empty()) {
        const CurrentWork work = work_now();
        Pending &p = pending();
        std::lock_guard<std::mutex> lock(p.mutex);
        before = live_of(before);
        if (!before.empty()) {
            item = add(p, device, Operation(operation), nullptr, work, before);
            return hipSuccess;
        }
    }
    std::unique_ptr<Launch> rest;
    hipError_t error = execute(operation, false, rest);
    if (!rest) return error;
    const CurrentWork work = work_now();
    Pending &p = pending();
    std::lock_guard<std::mutex> lock(p.mutex);
    item = add(p, device, Operation(operation), std::move(rest), work, {});
    return error;
}

} // namespace

std::vector<ItemRef> before_next(Pending &p, const ihipStream_t *stream, int device) {
    std::vector<ItemRef> out;
    const StreamKey own = key_of(stream, device);
    for (auto &[key, last] : p.lasts) {
        const bool by_default =
            key.second == own.second && last.blocking && stream->blocking && (!key.first || !own.first);
        if (key == own || by_default) out.push_back(last.item);
    }
    return out;
}

ItemRef last_of(const ihipStream_t *stream, int device) {
    if (!anything_pending()) return nullptr;
    Pending &p = pending();
    std::lock_guard<std::mutex> lock(p.mutex);
    auto last = p.lasts.find(key_of(stream, device));
    return last == p.lasts.end() ? nullptr : last->second.item;
}

void follow(const ihipStream_t *stream, int device, const ItemRef &item) {
    if (!item || !anything_pending()) return;
    const CurrentWork work = work_now();
    Pending &p = pending();
    std::lock_guard<std::mutex> lock(p.mutex);
    if (item->ended) return;
    std::vector<ItemRef> before = before_next(p, stream, device);
    before.push_back(item);
    set_last(p, stream, device, add(p, key_of(stream, device).second, marker(), nullptr, work, before));
}

hipError_t give(const ihipStream_t *stream, int device, Operation &&operation) {
    if (operation.type == hipGraphNodeTypeGraph) return give_graph(stream, device, operation.child);
    const int on = key_of(stream, device).second;
    if (anything_pending() || operation.until) {
        const CurrentWork work = work_now();
        Pending &p = pending();
        std::unique_lock<std::mutex> lock(p.mutex);
        std::vector<ItemRef> before = before_next(p, stream, device);
        if (!before.empty() && !can_wait(operation)) {
            lock.unlock();
            for (const ItemRef &item : before) finish(item, "a copy to memory of the program");
            before.clear();
            if (stuck() != hipSuccess) return stuck();
        } else if (!before.empty() || operation.until) {
            set_last(p, stream, device, add(p, on, std::move(operation), nullptr, work, before));
            return hipSuccess;
        }
    }
    ItemRef item;
    hipError_t error = now(on, std::move(operation), item);
    if (!item) return error;
    Pending &p = pending();
    std::lock_guard<std::mutex> lock(p.mutex);
    set_last(p, stream, device, item);
    return error;
}

hipError_t give_graph(const ihipStream_t *stream, int device, hipGraph_t graph) {
    const int on = key_of(stream, device).second;
    std::vector<ItemRef> first, all;
    if (anything_pending()) {
        Pending &p = pending();
        std::lock_guard<std::mutex> lock(p.mutex);
        first = before_next(p, stream, device);
    }
    hipError_t error = give_nodes(on, graph, first, all);
    if (all.empty()) return error;
    const CurrentWork work = work_now();
    Pending &p = pending();
    std::lock_guard<std::mutex> lock(p.mutex);
    all = live_of(all);
    if (!all.empty()) set_last(p, stream, device, add(p, on, marker(), nullptr, work, all));
    return error;
}

} // namespace kpt
