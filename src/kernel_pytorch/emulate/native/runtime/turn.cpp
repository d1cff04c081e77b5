#include "turn.h"

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace kpt {
namespace {

struct Line {
    std::mutex mutex;
    std::condition_variable moved;
    std::atomic<uint64_t> next{0}, served{0};
};

Line &line() {
    static Line *value = new Line;
    return *value;
}

} // namespace

Turn::Turn() {
    Line &l = line();
    std::unique_lock<std::mutex> lock(l.mutex);
    const uint64_t mine = l.next++;
    l.moved.wait(lock, [&] { return l.served == mine; });
}

Turn::~Turn() {
    Line &l = line();
    std::lock_guard<std::mutex> lock(l.mutex);
    if (++l.served != l.next) l.moved.notify_all();
}

bool turn_is_wanted() { return line().next.load(std::memory_order_relaxed) > line().served + 1; }

} // namespace kpt
