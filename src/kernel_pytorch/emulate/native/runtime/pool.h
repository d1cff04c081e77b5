/* Threads that run blocks beside the thread that launches. */
#ifndef KPT_POOL_H
#define KPT_POOL_H

#include <functional>

namespace kpt {

/* Calls `task(i)` for i in 0..threads-1 at once, the first on the calling thread, and waits for all. One call at a
 * time. Works in a child after fork: threads are started anew there. */
void pool_run(unsigned threads, const std::function<void(unsigned)> &task);

/* Starts a thread that gets none of the program's signals, memory faults excepted; false where there can be no more. */
bool start_quiet_thread(void *(*function)(void *), void *argument);

/* Threads of ours that wait for blocks to run. */
unsigned pool_threads();

} // namespace kpt
#endif
