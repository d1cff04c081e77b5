/* Order between streams, for --check races. Work runs here when it is given to a stream, so a missing event or
 * synchronisation never shows in a result. A clock for each stream says what a GPU would be sure of: two uses of the same
 * bytes on two streams, one of them a write, with nothing that orders them, are a race. */
#ifndef KPT_STREAM_ORDER_H
#define KPT_STREAM_ORDER_H

#include <cstdint>
#include <memory>
#include <vector>

#include "stretches.h"

struct ihipStream_t;
struct ihipEvent_t;

namespace kpt {

struct Copy;
struct Set;
struct Launch;

/* How often each stream (by its place in the vector) had been given work at a point that is known to have been reached.
 * Place 0 is the host. */
using Clock = std::vector<uint32_t>;

enum class UseKind : uint8_t { read, write, atomic };

/* Work of a stream that is being done: by which stream, as which of its pieces, asked for where. */
struct CurrentWork {
    uint32_t agent = 0, tick = 0;
    const char *by = "", *place = nullptr;
    bool going_on = false;
    std::shared_ptr<const Clock> known; /* what its stream was sure of, where that may be more by now */
};

/* While one of these lives, what this thread touches is work of the stream. One inside another (a graph's nodes) is
 * part of the outer one. `device` matters for the default stream, of which each device has one. */
class WorkOfStream {
public:
    WorkOfStream(const ihipStream_t *stream, int device, const char *by);
    ~WorkOfStream();
    WorkOfStream(const WorkOfStream &) = delete;
    WorkOfStream &operator=(const WorkOfStream &) = delete;

private:
    bool outermost_ = false;
};

/* The work of this thread, to be done later; and while one of the second lives, this thread does it. */
CurrentWork work_now();
class WorkGoesOn {
public:
    explicit WorkGoesOn(const CurrentWork &work);
    ~WorkGoesOn();
    WorkGoesOn(const WorkGoesOn &) = delete;
    WorkGoesOn &operator=(const WorkGoesOn &) = delete;
};

/* Uses by the work of this thread. The stretches lie in one allocation. `by` names a kernel inside the work. */
void touches(std::vector<Stretch> stretches, UseKind kind, const char *by = nullptr, uint64_t begun = 0);
void touches_of_copy(const Copy &copy);
void touches_of_set(const Set &set);
/* A kernel's access that is not of whole words, kept until the launch has ended. */
void launch_touches(uint64_t address, uint64_t bytes, UseKind kind);
void launch_touched(Launch &launch);
/* Counts up: what begins and ends is put in order by it. */
uint64_t order_stamp();

void host_waits_for(const ihipStream_t *stream, int device);
void host_waits_for_device(int device);
/* The host knows that this work is done. */
void host_learns(const CurrentWork &work);
void host_waits_for(const ihipEvent_t *event);
void event_follows(ihipEvent_t *event, const ihipStream_t *stream, int device);
void stream_waits_for(const ihipStream_t *stream, int device, const ihipEvent_t *event);
/* Both streams wait for each other, as for a copy between two devices. */
void streams_meet(const ihipStream_t *one, int device, const ihipStream_t *other, int other_device);

/* Memory is another buffer's from now on, or nobody's. */
void forget_uses(uint64_t base);

} // namespace kpt
#endif
