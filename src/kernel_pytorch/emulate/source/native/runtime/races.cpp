/* Data races: two accesses to one byte by two threads, one a write, that nothing puts in order.

   Order comes from a launch's end, grid.sync(), __syncthreads(), __syncwarp() of lanes of one warp, and from fences.
   A thread's next atomic or volatile write releases what it did before a fence; whoever reads that value acquires it.
   Shuffles and votes give no order between memory accesses: CUDA says so. */
#include <sys/mman.h>

#include <atomic>
#include <cstring>
#include <mutex>
#include <unordered_map>

#include "runtime.h"

namespace kpt {

struct Released {
    uint32_t serial, thread, clock, barrier_clock;
    std::vector<Acquired> seen;
};
struct SyncLog {
    std::vector<Released> entries;
    std::unordered_map<uint32_t, std::vector<uint32_t>> by_block;
};

namespace {

const uint32_t LAST_CLOCK = (1u << 20) - 1;
std::mutex logs_mutex;
std::unordered_map<uintptr_t, SyncLog *> logs;
uintptr_t image_first, image_words;
extern "C" char __executable_start, _end;

Word *word_of(uintptr_t address) {
    if (address - HEAP < SPACE_BYTES) return reinterpret_cast<Word *>(WORDS) + (address - HEAP) / 4;
    return reinterpret_cast<Word *>(image_words) + (address - image_first) / 4;
}

Word *bytes_of(uintptr_t address) {
    if (address - HEAP < SPACE_BYTES) return reinterpret_cast<Word *>(BYTES) + (address - HEAP);
    /* Behind the image's words. */
    uintptr_t span = uintptr_t(&_end) - image_first;
    return reinterpret_cast<Word *>(image_words) + span / 4 + 2 + (address - image_first);
}

bool acquired(const std::vector<Acquired> &known, const Access &before, int depth) {
    for (const Acquired &one : known) {
        auto found = one.log->by_block.find(before.serial);
        if (found != one.log->by_block.end()) {
            for (uint32_t index : found->second) {
                if (index >= one.version) break;
                const Released &r = one.log->entries[index];
                if (before.clock < r.barrier_clock || (before.thread == r.thread && before.clock <= r.clock))
                    return true;
            }
        }
        if (depth > 0) {
            uint32_t from = one.version > 64 ? one.version - 64 : 0;
            for (uint32_t index = one.version; index > from; index--)
                if (acquired(one.log->entries[index - 1].seen, before, depth - 1)) return true;
        }
    }
    return false;
}

/* Whether the access `before` is known to be over when `t` makes one now. */
bool ordered(const Thread *t, const Access &before, bool shared) {
    const Block *block = t->block;
    if (before.serial == block->serial) {
        if (before.thread == t->number || before.clock < block->barrier_clock) return true;
        if (before.thread / WARP == t->warp && before.clock <= t->known[before.thread % WARP]) return true;
    } else {
        if (shared || before.serial < block->worker->launch->serial_base) return true;
        if (before.clock < block->worker->launch->grid_clock) return true;
    }
    if (before.clock >= LAST_CLOCK) return true;
    if (t->acquired.empty() && block->acquired.empty()) return false;
    std::lock_guard<std::mutex> lock(logs_mutex);
    return acquired(t->acquired, before, 3) || acquired(block->acquired, before, 3);
}

void found(Thread *t, unsigned bytes, const Access &before, bool wrote_before, bool write, bool is_volatile,
           Place place, bool shared) {
    bool one_warp = before.serial == t->block->serial && before.thread / WARP == t->warp;
    bool one_block = before.serial == t->block->serial;
    std::string detail = std::string(write ? "write" : "read") + " of " + std::to_string(bytes) + " bytes of " +
                         (shared ? "shared" : "global") + " memory, " + (wrote_before ? "written" : "read") + " by " +
                         thread_text(before.serial, before.thread) +
                         " at {other}, with nothing in between that orders them";
    const char *hardware =
        one_warp && is_volatile
            ? "lanes of a warp are not in lockstep since Volta, and volatile orders nothing between them: __syncwarp()"
        : one_warp  ? "right only where the lanes of a warp run in lockstep: __syncwarp() orders them"
        : one_block ? "the result depends on which warp comes first: __syncthreads() orders them"
                    : "the result depends on which block comes first: an atomic, or a second launch";
    report_fault({"race", place, detail, hardware, t, place_of(before.place)});
}

void learn(std::vector<Acquired> &known, const Acquired &news) {
    for (Acquired &one : known) {
        if (one.log != news.log) continue;
        if (one.version < news.version) one.version = news.version;
        return;
    }
    known.push_back(news);
}

struct Locked {
    explicit Locked(Word *w) : word(reinterpret_cast<std::atomic<uint32_t> *>(w)), on(settings.threads > 1) {
        if (!on) return;
        while (word->fetch_or(1, std::memory_order_acquire) & 1) {}
    }
    ~Locked() {
        if (on) word->fetch_and(~1u, std::memory_order_release);
    }
    std::atomic<uint32_t> *word;
    bool on;
};

/* `first` and `later` do not race although nothing orders them. */
bool harmless(const Access &first, bool atomic, bool is_volatile, bool one_warp) {
    bool was_strong = first.atomic || first.is_volatile, strong = atomic || is_volatile;
    if (!was_strong || !strong) return false;
    /* Volatile accesses are single and fresh: flags between warps work. Within a warp they stand for lockstep. */
    return first.atomic || atomic || !one_warp;
}

void touch(Thread *t, Word &word, uintptr_t address, unsigned bytes, bool write, bool atomic, bool is_volatile,
           Place place, uint32_t number, bool shared) {
    auto racing = [&](const Access &before, bool wrote) {
        if (!before.serial || ordered(t, before, shared)) return false;
        /* A plain read beside atomics: how the CUDA guide's own compare-and-swap loops begin. */
        if ((before.atomic && !write) || (!wrote && atomic)) return false;
        bool one_warp = before.serial == t->block->serial && before.thread / WARP == t->warp;
        return !harmless(before, atomic, is_volatile, one_warp);
    };
    uint32_t clock = t->clock < LAST_CLOCK ? t->clock : LAST_CLOCK;
    Access now{t->block->serial, number, t->number, atomic, is_volatile, clock};
    if (racing(word.write, true)) {
        if (write && !atomic && bytes <= sizeof t->overwrite.before) {
            t->overwrite = {address, bytes, is_volatile, {}, word.write, place};
            memcpy(t->overwrite.before, reinterpret_cast<const void *>(address), bytes);
        } else {
            found(t, bytes, word.write, true, write, is_volatile, place, shared);
        }
    }
    if (write) {
        for (Access &read : word.reads) {
            if (!racing(read, false)) continue;
            found(t, bytes, read, false, true, is_volatile, place, shared);
            break;
        }
        word.write = now;
        return;
    }
    /* Two readers are enough: whoever writes next, one of them is somebody else. Of two warps where there are two. */
    Access *reads = word.reads;
    auto replaceable = [&](const Access &r) {
        return !r.serial || (r.serial == now.serial && r.thread == now.thread) || ordered(t, r, shared);
    };
    if (replaceable(reads[0]))
        reads[0] = now;
    else if (replaceable(reads[1]))
        reads[1] = now;
    else if (reads[0].serial == reads[1].serial && reads[0].thread / WARP == reads[1].thread / WARP &&
             (now.serial != reads[0].serial || now.thread / WARP != reads[0].thread / WARP))
        reads[1] = now;
}

} // namespace

void start_races() {
    image_first = uintptr_t(&__executable_start) & ~uintptr_t(3);
    uintptr_t span = uintptr_t(&_end) - image_first;
    image_words = uintptr_t(mmap(nullptr, (span + span / 4 + 16) * sizeof(Word), PROT_READ | PROT_WRITE,
                                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
}

void race_access(Thread *t, uintptr_t address, unsigned bytes, bool write, bool atomic, bool is_volatile, Place place) {
    bool shared = address - ARENAS < ARENAS_BYTES;
    uint32_t number = place_number(place);
    uintptr_t at = address, end = address + bytes;
    while (at < end) {
        uintptr_t begin = at & ~uintptr_t(3), stop = begin + 4 < end ? begin + 4 : end;
        bool whole = at == begin && stop == begin + 4;
        Word *word = word_of(begin);
        Locked lock(word);
        if (whole && !word->split) {
            touch(t, *word, address, bytes, write, atomic, is_volatile, place, number, shared);
        } else {
            Word *each = bytes_of(begin);
            if (!word->split) {
                for (int i = 0; i < 4; i++) {
                    each[i].write = word->write;
                    memcpy(each[i].reads, word->reads, sizeof word->reads);
                }
                reinterpret_cast<std::atomic<uint32_t> *>(word)->fetch_or(2);
            }
            for (uintptr_t b = at; b < stop; b++)
                touch(t, each[b - begin], address, bytes, write, atomic, is_volatile, place, number, shared);
        }
        at = stop;
    }
}

void release_to(Thread *t, uintptr_t address) {
    if (!t->fenced) return;
    std::lock_guard<std::mutex> lock(logs_mutex);
    SyncLog *&log = logs[address];
    if (!log) log = new SyncLog();
    uint32_t index = uint32_t(log->entries.size());
    Released entry{t->block->serial, t->number, t->fence_clock, t->block->barrier_clock, t->acquired};
    entry.seen.insert(entry.seen.end(), t->block->acquired.begin(), t->block->acquired.end());
    log->by_block[entry.serial].push_back(index);
    log->entries.push_back(std::move(entry));
}

void acquire_from(Thread *t, uintptr_t address) {
    std::lock_guard<std::mutex> lock(logs_mutex);
    auto found = logs.find(address);
    if (found == logs.end()) return;
    uint32_t version = uint32_t(found->second->entries.size());
    learn(t->acquired, {found->second, version});
}

void settle(Thread *t) {
    if (t->flag_read) acquire_from(t, t->flag_read);
    t->flag_read = 0;
    Overwrite &o = t->overwrite;
    if (!o.address) return;
    if (memcmp(o.before, reinterpret_cast<const void *>(o.address), o.bytes) != 0)
        found(t, o.bytes, o.first, true, true, o.is_volatile, o.place, o.address - ARENAS < ARENAS_BYTES);
    o.address = 0;
}

void order_warp(Warp &, Block &block, uint32_t warp, uint32_t lanes) {
    uint32_t joined[WARP] = {};
    std::vector<Acquired> acquired;
    for (uint32_t left = lanes; left; left &= left - 1) {
        Thread *t = thread_at(block, warp, __builtin_ctz(left));
        for (unsigned i = 0; i < WARP; i++) joined[i] = joined[i] > t->known[i] ? joined[i] : t->known[i];
        if (joined[t->lane] < t->clock) joined[t->lane] = t->clock;
        for (const Acquired &one : t->acquired) learn(acquired, one);
    }
    for (uint32_t left = lanes; left; left &= left - 1) {
        Thread *t = thread_at(block, warp, __builtin_ctz(left));
        memcpy(t->known, joined, sizeof joined);
        t->acquired = acquired;
        t->clock++;
    }
}

void order_block(Block &block) {
    uint32_t last = 0;
    for (Thread *t : block.threads) {
        last = last > t->clock ? last : t->clock;
        for (const Acquired &one : t->acquired) learn(block.acquired, one);
        t->acquired.clear();
    }
    block.barrier_clock = last + 1;
    for (Thread *t : block.threads) t->clock = last + 1;
}

void order_grid(Worker &worker) {
    uint32_t last = 0;
    for (Block *block : worker.resident)
        for (Thread *t : block->threads) last = last > t->clock ? last : t->clock;
    worker.launch->grid_clock = last + 1;
    for (Block *block : worker.resident) {
        order_block(*block);
        block->barrier_clock = last + 1;
        for (Thread *t : block->threads) t->clock = last + 1;
    }
}

void forget_accesses() {
    madvise(reinterpret_cast<void *>(WORDS), SPACE_BYTES / 4 * sizeof(Word), MADV_DONTNEED);
    madvise(reinterpret_cast<void *>(BYTES), SPACE_BYTES * sizeof(Word), MADV_DONTNEED);
    uintptr_t span = uintptr_t(&_end) - image_first;
    madvise(reinterpret_cast<void *>(image_words), (span + span / 4 + 16) * sizeof(Word), MADV_DONTNEED);
}

void forget_launch() {
    for (auto &one : logs) delete one.second;
    logs.clear();
}

} // namespace kpt
