// RCCL between emulated devices of one process: ranks meet, the last one to come does the work for all.
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <vector>

#include "../common/missing.h"
#include "../common/stream.h"
#include "perform.h"

using namespace kpt;

namespace {

enum : int { Success = 0, SystemError = 2, InvalidArgument = 4, InvalidUsage = 5 };

struct UniqueId {
    char bytes[128];
};

// What all ranks of a communicator share. Collectives are matched in the order in which each rank issues them.
struct World {
    int size;
    std::mutex guard;
    std::condition_variable changed;
    std::vector<std::vector<Call>> waiting;                           // by rank: collectives not yet matched
    std::vector<uint64_t> issued, finished;                           // by rank: how many collectives
    std::map<std::pair<int, int>, std::vector<Call>> sends, receives; // by (from, to)
    std::vector<int> device;

    explicit World(int ranks) : size(ranks), waiting(ranks), issued(ranks), finished(ranks), device(ranks, 0) {}
};

struct Communicator {
    std::shared_ptr<World> world;
    int rank;
};

std::mutex worlds_guard;
std::map<std::string, std::weak_ptr<World>> worlds;
thread_local int group_depth = 0;
thread_local std::vector<std::pair<Communicator *, Call>> group_calls;

// Matches everything that can be matched; called with the world's lock held.
void match(World &world) {
    for (bool found = true; found;) {
        found = true;
        for (const auto &queue : world.waiting) found = found && !queue.empty();
        if (!found) break;
        std::vector<Call> calls;
        for (auto &queue : world.waiting) {
            calls.push_back(queue.front());
            queue.erase(queue.begin());
        }
        perform(calls);
        for (uint64_t &count : world.finished) ++count;
    }
    for (auto &[pair, sends] : world.sends) {
        auto &receives = world.receives[pair];
        while (!sends.empty() && !receives.empty()) {
            copy(receives.front().receive, sends.front().send,
                 std::min(sends.front().count, receives.front().count) *
                     static_cast<size_t>(size_of_type(type_of(sends.front().type))));
            sends.erase(sends.begin()), receives.erase(receives.begin());
        }
    }
    world.changed.notify_all();
}

bool is_pair(Kind kind) { return kind == Kind::Send || kind == Kind::Receive; }

// Hands in all calls first, then waits for each: one thread may speak for several ranks.
int submit(const std::vector<std::pair<Communicator *, Call>> &calls) {
    for (const auto &[communicator, call] : calls)
        if (wait_for(call.stream)) return SystemError;
    std::vector<std::pair<World *, std::pair<int, uint64_t>>> collectives;
    for (const auto &[communicator, call] : calls) {
        World &world = *communicator->world;
        const std::lock_guard<std::mutex> lock(world.guard);
        const int me = communicator->rank;
        if (call.kind == Kind::Send)
            world.sends[{me, call.peer}].push_back(call);
        else if (call.kind == Kind::Receive)
            world.receives[{call.peer, me}].push_back(call);
        else {
            world.waiting[me].push_back(call);
            collectives.push_back({&world, {me, ++world.issued[me]}});
        }
        match(world);
    }
    for (const auto &[world, ticket] : collectives) {
        std::unique_lock<std::mutex> lock(world->guard);
        world->changed.wait(lock, [&, w = world, t = ticket] { return w->finished[t.first] >= t.second; });
    }
    for (const auto &[communicator, call] : calls) {
        if (!is_pair(call.kind)) continue;
        World &world = *communicator->world;
        const auto pair = call.kind == Kind::Send ? std::pair{communicator->rank, call.peer}
                                                  : std::pair{call.peer, communicator->rank};
        std::unique_lock<std::mutex> lock(world.guard);
        auto &queue = call.kind == Kind::Send ? world.sends : world.receives;
        world.changed.wait(lock, [&] { return queue[pair].empty(); });
    }
    return Success;
}

int enqueue(void *communicator, const Call &call) {
    auto *c = static_cast<Communicator *>(communicator);
    if (!c || (call.count && !size_of_type(type_of(call.type)))) return InvalidArgument;
    if (call.peer < 0 || call.peer >= c->world->size) return InvalidArgument;
    if (group_depth) {
        group_calls.emplace_back(c, call);
        return Success;
    }
    return submit({{c, call}});
}

int join(void **out, int size, const UniqueId &id, int rank) {
    if (!out || size < 1 || rank < 0 || rank >= size) return InvalidArgument;
    const std::string key(id.bytes, sizeof(id.bytes));
    std::shared_ptr<World> world;
    {
        const std::lock_guard<std::mutex> lock(worlds_guard);
        world = worlds[key].lock();
        if (!world) worlds[key] = world = std::make_shared<World>(size);
    }
    if (world->size != size) return InvalidUsage;
    const std::lock_guard<std::mutex> lock(world->guard);
    world->device[rank] = current_device();
    *out = new Communicator{world, rank};
    return Success;
}

UniqueId fresh_id() {
    std::random_device random;
    UniqueId id;
    for (char &byte : id.bytes) byte = static_cast<char>(random());
    return id;
}

} // namespace

extern "C" {

int ncclGetVersion(int *version) {
    if (!version) return InvalidArgument;
    *version = 22703;
    return Success;
}
const char *ncclGetErrorString(int status) {
    static const char *const texts[] = {"no error",
                                        "unhandled cuda error (run with NCCL_DEBUG=INFO for details)",
                                        "unhandled system error (run with NCCL_DEBUG=INFO for details)",
                                        "internal error - please report this issue to the NCCL developers",
                                        "invalid argument (run with NCCL_DEBUG=WARN for details)",
                                        "invalid usage (run with NCCL_DEBUG=WARN for details)",
                                        "remote process exited or there was a network error",
                                        "NCCL operation in progress"};
    return status >= 0 && status < 8 ? texts[status] : "unknown result code";
}
const char *ncclGetLastError(void *) { return ""; }
int ncclGetUniqueId(UniqueId *id) {
    if (!id) return InvalidArgument;
    *id = fresh_id();
    return Success;
}
int ncclCommInitRank(void **out, int size, UniqueId id, int rank) { return join(out, size, id, rank); }
int ncclCommInitRankConfig(void **out, int size, UniqueId id, int rank, void *) { return join(out, size, id, rank); }
int ncclCommInitAll(void **out, int size, const int *devices) {
    if (!out || size < 1) return InvalidArgument;
    const UniqueId id = fresh_id();
    for (int r = 0; r < size; ++r) {
        if (const int status = join(&out[r], size, id, r)) return status;
        auto &world = *static_cast<Communicator *>(out[r])->world;
        world.device[r] = devices ? devices[r] : r;
    }
    return Success;
}
int ncclCommFinalize(void *c) { return c ? Success : InvalidArgument; }
int ncclCommDestroy(void *c) {
    delete static_cast<Communicator *>(c);
    return Success;
}
int ncclCommAbort(void *c) { return ncclCommDestroy(c); }
int ncclCommGetAsyncError(void *c, int *error) {
    if (!c || !error) return InvalidArgument;
    *error = Success;
    return Success;
}
int ncclCommCount(void *c, int *count) {
    if (!c || !count) return InvalidArgument;
    *count = static_cast<Communicator *>(c)->world->size;
    return Success;
}
int ncclCommUserRank(void *c, int *rank) {
    if (!c || !rank) return InvalidArgument;
    *rank = static_cast<Communicator *>(c)->rank;
    return Success;
}
int ncclCommCuDevice(void *c, int *device) {
    if (!c || !device) return InvalidArgument;
    *device = static_cast<Communicator *>(c)->world->device[static_cast<Communicator *>(c)->rank];
    return Success;
}
int ncclMemAlloc(void **out, size_t bytes) {
    if (!out) return InvalidArgument;
    *out = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
    return *out ? Success : SystemError;
}
int ncclMemFree(void *memory) {
    std::free(memory);
    return Success;
}

int ncclGroupStart() {
    ++group_depth;
    return Success;
}
int ncclGroupEnd() {
    if (!group_depth) return InvalidUsage;
    if (--group_depth) return Success;
    const auto calls = std::move(group_calls);
    group_calls.clear();
    return submit(calls);
}

int ncclAllReduce(const void *s, void *r, size_t n, int type, int op, void *c, void *stream) {
    return enqueue(c, {Kind::AllReduce, s, r, n, type, op, 0, stream});
}
int ncclReduce(const void *s, void *r, size_t n, int type, int op, int root, void *c, void *stream) {
    return enqueue(c, {Kind::Reduce, s, r, n, type, op, root, stream});
}
int ncclBroadcast(const void *s, void *r, size_t n, int type, int root, void *c, void *stream) {
    return enqueue(c, {Kind::Broadcast, s, r, n, type, 0, root, stream});
}
int ncclBcast(void *buffer, size_t n, int type, int root, void *c, void *stream) {
    return enqueue(c, {Kind::Broadcast, buffer, buffer, n, type, 0, root, stream});
}
int ncclAllGather(const void *s, void *r, size_t n, int type, void *c, void *stream) {
    return enqueue(c, {Kind::AllGather, s, r, n, type, 0, 0, stream});
}
int ncclReduceScatter(const void *s, void *r, size_t n, int type, int op, void *c, void *stream) {
    return enqueue(c, {Kind::ReduceScatter, s, r, n, type, op, 0, stream});
}
int ncclAllToAll(const void *s, void *r, size_t n, int type, void *c, void *stream) {
    return enqueue(c, {Kind::AllToAll, s, r, n, type, 0, 0, stream});
}
int ncclGather(const void *s, void *r, size_t n, int type, int root, void *c, void *stream) {
    return enqueue(c, {Kind::Gather, s, r, n, type, 0, root, stream});
}
int ncclScatter(const void *s, void *r, size_t n, int type, int root, void *c, void *stream) {
    return enqueue(c, {Kind::Scatter, s, r, n, type, 0, root, stream});
}
int ncclSend(const void *s, size_t n, int type, int peer, void *c, void *stream) {
    return enqueue(c, {Kind::Send, s, nullptr, n, type, 0, peer, stream});
}
int ncclRecv(void *r, size_t n, int type, int peer, void *c, void *stream) {
    return enqueue(c, {Kind::Receive, nullptr, r, n, type, 0, peer, stream});
}

// The profiling names are the same functions.
#define KPT_ALIAS(NAME) void pnccl##NAME() __attribute__((alias("nccl" #NAME)));
KPT_ALIAS(GetVersion)
KPT_ALIAS(GetErrorString)
KPT_ALIAS(GetLastError)
KPT_ALIAS(GetUniqueId)
KPT_ALIAS(CommInitRank)
KPT_ALIAS(CommInitRankConfig)
KPT_ALIAS(CommInitAll)
KPT_ALIAS(CommFinalize)
KPT_ALIAS(CommDestroy)
KPT_ALIAS(CommAbort)
KPT_ALIAS(CommGetAsyncError)
KPT_ALIAS(CommCount)
KPT_ALIAS(CommUserRank)
KPT_ALIAS(CommCuDevice)
KPT_ALIAS(MemAlloc)
KPT_ALIAS(MemFree)
KPT_ALIAS(GroupStart)
KPT_ALIAS(GroupEnd)
KPT_ALIAS(AllReduce)
KPT_ALIAS(Reduce)
KPT_ALIAS(Broadcast)
KPT_ALIAS(Bcast)
KPT_ALIAS(AllGather)
KPT_ALIAS(ReduceScatter)
KPT_ALIAS(AllToAll)
KPT_ALIAS(Gather)
KPT_ALIAS(Scatter)
KPT_ALIAS(Send)
KPT_ALIAS(Recv)
}
