/* The items of pending.h, for the files that do and finish them. */
#ifndef KPT_PENDING_ITEMS_H
#define KPT_PENDING_ITEMS_H

#include <atomic>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <set>

#include "launch.h"
#include "pending.h"
#include "stream_order.h"

namespace kpt {

/* The default stream has the number 0 on every device. */
using StreamKey = std::pair<uint64_t, int>;

struct Item {
    Operation operation;
    std::unique_ptr<Launch> launch; /* begun, and not ended */
    CurrentWork work;
    int device = 0;
    size_t left = 0; /* how many items it waits for */
    std::vector<ItemRef> after;
    bool ended = false;
};

struct Pending {
    std::mutex mutex;
    std::condition_variable arrived, done;
    std::set<ItemRef> live;
    std::deque<ItemRef> ready; /* nothing pending is before them */
    struct Last {
        ItemRef item;
        bool blocking;
    };
    std::map<StreamKey, Last> lasts; /* the last item of each stream that has one */
    uint64_t hard = 0, soft = 0;     /* signs of life: something ended; something changed */
    double asked_since = 0;          /* when the program began to ask whether work is done, */
    uint64_t asked_at = 0;           /* and the signs of life since when it does */
    unsigned waiting = 0, callbacks = 0;
    bool served = false;
};

/* How many items are live. */
extern std::atomic<size_t> pending_count;

Pending &pending();

inline bool anything_pending() { return pending_count.load(std::memory_order_acquire) != 0; }

/* Launches that threads of the program run now. */
extern std::atomic<unsigned> launches_of_the_program;

/* With the lock held: the live items that an operation of the stream comes after. */
std::vector<ItemRef> before_next(Pending &p, const ihipStream_t *stream, int device);
StreamKey key_of(const ihipStream_t *stream, int device);

} // namespace kpt
#endif
