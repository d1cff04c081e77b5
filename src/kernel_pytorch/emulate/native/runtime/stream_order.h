/* Order between streams, for --check races. Work runs here when it is given to a stream, so a missing event or
 * synchronisation never shows in a result. A clock for each stream says what a GPU would be sure of: two uses of the same
 * bytes on two streams, one of them a write, with nothing that orders them, are a race. */
#ifndef KPT_STREAM_ORDER_H
#define KPT_STREAM_ORDER_H

#include <cstdint>
#include <vector>

#include "stretches.h"

struct ihipStream_t;
struct ihipEvent_t;

namespace kpt {

struct Copy;
struct Set;

/* How often each stream (by its place in the vector) had been given work at a point that is known to have been reached.
 * Place 0 is the host. */
using Clock = std::vector<uint32_t>;

enum class UseKind : uint8_t { read, write, atomic };

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

/* Uses by the work of this thread. The stretches lie in one allocation. `by` names a kernel inside the work. */
void touches(std::vector<Stretch> stretches, UseKind kind, const char *by = nullptr);
void touches_of_copy(const Copy &copy);
void touches_of_set(const Set &set);
/* A kernel's access, kept until the launch has ended. */
void launch_touches(uint64_t address, uint64_t bytes, uint32_t flags);
void launch_touched(const char *kernel);

void host_waits_for(const ihipStream_t *stream, int device);
void host_waits_for_device(int device);
void host_waits_for(const ihipEvent_t *event);
void event_follows(ihipEvent_t *event, const ihipStream_t *stream, int device);
void stream_waits_for(const ihipStream_t *stream, int device, const ihipEvent_t *event);
/* Both streams wait for each other, as for a copy between two devices. */
void streams_meet(const ihipStream_t *one, int device, const ihipStream_t *other, int other_device);

/* Memory is another buffer's from now on, or nobody's. */
void forget_uses(uint64_t base);

} // namespace kpt
#endif
