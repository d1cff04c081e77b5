/* Work that has not been done when the call that asked for it returned.
 *
 * A launch runs in the caller's thread. When all its waves wait for something outside the kernel, the caller goes on, and a
 * thread of ours looks at the launch again and again, in turns with others like it. What comes after it (in its stream, by
 * an event, by the rule of the default stream) becomes an item that waits; so do a synchronisation and a free. Where
 * nothing is pending, all of this costs one look at a counter. */
#ifndef KPT_PENDING_H
#define KPT_PENDING_H

#include <memory>

#include "operation.h"

struct ihipStream_t;
struct ihipEvent_t;

namespace kpt {

struct Item;
using ItemRef = std::shared_ptr<Item>;

/* Does the operation, or leaves it to be done after what is pending before it. */
hipError_t give(const ihipStream_t *stream, int device, Operation &&operation);
hipError_t give_graph(const ihipStream_t *stream, int device, hipGraph_t graph);

/* The stream's last operation, where it has not been done. */
ItemRef last_of(const ihipStream_t *stream, int device);
/* The stream's next operation waits for it. */
void follow(const ihipStream_t *stream, int device, const ItemRef &item);

/* Whether it has yet to be done. A program that asks this for ever is a deadlock too. */
bool is_pending(const ItemRef &item);

/* Wait until it is done. `call` is what the program waits in, for the report of a deadlock; "" at its end. */
void finish(const ihipStream_t *stream, int device, const char *call);
void finish_device(int device, const char *call);
void finish(const ItemRef &item, const char *call);
void finish_all(const char *call);

} // namespace kpt
#endif
