/* What copies, fills and launches touch, for the order between streams. */
#include <algorithm>

#include "config.h"
#include "memory.h"
#include "operation.h"
#include "scheduler.h"
#include "stream_order.h"

namespace kpt {

static const size_t MOST_STRETCHES = 1 << 16;

static std::vector<Stretch> rows(const Box &box, uint64_t width, uint64_t height, uint64_t depth) {
    std::vector<Stretch> out;
    for (uint64_t z = 0; z < depth; z++)
        for (uint64_t y = 0; y < height; y++) {
            uint64_t first = box.at + z * box.slice + y * box.pitch;
            out.push_back({first, first + width});
        }
    return out;
}

void touches_of_copy(const Copy &c) {
    if (!config().races) return;
    touches(rows(c.from, c.width, c.height, c.depth), UseKind::read, "a copy");
    touches(rows(c.to, c.width, c.height, c.depth), UseKind::write, "a copy");
}

void touches_of_set(const Set &s) {
    if (!config().races) return;
    touches(rows(s.to, s.width * s.element, s.height, s.depth), UseKind::write, "hipMemset");
}

void launch_touches(uint64_t address, uint64_t bytes, UseKind kind) {
    std::vector<Stretch> &list = this_worker->launch->touched[size_t(kind)];
    if (!list.empty() && list.back().first <= address && address <= list.back().end) {
        list.back().end = std::max(list.back().end, address + bytes);
        return;
    }
    list.push_back({address, address + bytes});
    if (list.size() % MOST_STRETCHES == 0) list = merged(std::move(list));
}

void launch_touched(Launch &launch) {
    races_touched(launch);
    /* Atomics first: they may say that the rest is in order. */
    for (UseKind kind : {UseKind::atomic, UseKind::read, UseKind::write}) {
        std::vector<Stretch> all = merged(std::move(launch.touched[size_t(kind)]));
        /* Buffers lie apart, so that each is a part of the sorted list. */
        for (size_t i = 0; i < all.size();) {
            Allocation *a = find(all[i].first);
            size_t end = i + 1;
            while (a && end < all.size() && a->holds(all[end].first)) end++;
            touches({all.begin() + long(i), all.begin() + long(end)}, kind, launch.kernel->symbol, launch.begun_at);
            i = end;
        }
    }
}

} // namespace kpt
