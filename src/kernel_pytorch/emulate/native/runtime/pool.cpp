#include "pool.h"

#include <pthread.h>
#include <signal.h>

#include <condition_variable>
#include <mutex>

#include "config.h"

namespace kpt {
namespace {

const size_t STACK = 16 << 20; /* translated kernels keep registers on the stack */
const size_t ENOUGH_STACK = 1 << 20;

struct Pool {
    std::mutex mutex;
    std::condition_variable wake, ready;
    unsigned started = 0;
    uint64_t round = 0;
    unsigned wanted = 0, base = 0, left = 0;
    const std::function<void(unsigned)> *task = nullptr;
};

Pool *pool = nullptr;

/* After fork the parent's threads are not there. */
void begin_anew_pool() { pool = new Pool; }

struct Start {
    Pool *pool;
    unsigned index;
    uint64_t round;
};

void *serve(void *argument) {
    auto *start = static_cast<Start *>(argument);
    Pool &p = *start->pool;
    unsigned index = start->index;
    uint64_t seen = start->round;
    delete start;
    std::unique_lock<std::mutex> lock(p.mutex);
    for (;;) {
        p.wake.wait(lock, [&] { return p.round != seen && index < p.wanted; });
        seen = p.round;
        auto *task = p.task;
        unsigned base = p.base;
        lock.unlock();
        (*task)(base + index);
        lock.lock();
        if (--p.left == 0) p.ready.notify_one();
    }
    return nullptr;
}

bool start_thread(Pool &p) {
    auto *start = new Start{&p, p.started, p.round};
    bool good = start_quiet_thread(serve, start);
    if (!good) delete start;
    p.started += good;
    return good;
}

bool deep_stack() {
    static thread_local int known = -1;
    if (known >= 0) return known;
    pthread_attr_t attributes;
    size_t size = 0;
    if (pthread_getattr_np(pthread_self(), &attributes) == 0) {
        pthread_attr_getstacksize(&attributes, &size);
        pthread_attr_destroy(&attributes);
    }
    known = size >= ENOUGH_STACK;
    return known;
}

} // namespace

bool start_quiet_thread(void *(*function)(void *), void *argument) {
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_t thread;
    /* A program's signals are the business of its own threads, memory faults excepted. */
    sigset_t all, before;
    sigfillset(&all);
    for (int kept : {SIGSEGV, SIGBUS, SIGFPE, SIGILL}) sigdelset(&all, kept);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    bool good = pthread_create(&thread, &attributes, function, argument) == 0;
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    pthread_attr_destroy(&attributes);
    return good;
}

unsigned pool_threads() { return pool ? pool->started : 0; }

void pool_run(unsigned threads, const std::function<void(unsigned)> &task) {
    bool here = deep_stack();
    unsigned others = here ? threads - 1 : threads;
    static const int watching = pthread_atfork(nullptr, nullptr, begin_anew_pool);
    (void)watching;
    if (!pool) pool = new Pool;
    Pool &p = *pool;
    {
        std::unique_lock<std::mutex> lock(p.mutex);
        while (p.started < others && start_thread(p)) {}
        others = others < p.started ? others : p.started;
        p.round++;
        p.wanted = p.left = others;
        p.base = here ? 1 : 0;
        p.task = &task;
    }
    if (others) p.wake.notify_all();
    if (here || !others) task(0);
    std::unique_lock<std::mutex> lock(p.mutex);
    p.ready.wait(lock, [&] { return p.left == 0; });
    p.wanted = 0;
}

} // namespace kpt
