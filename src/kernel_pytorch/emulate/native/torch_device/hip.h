/* The functions of the emulated HIP runtime that the torch device calls. */
#ifndef KPT_TORCH_HIP_H
#define KPT_TORCH_HIP_H

#include <cstddef>
#include <cstdint>

struct ihipStream_t;
struct ihipEvent_t;
struct hipGraph;
struct hipGraphExec;
using HipStream = ihipStream_t *;
using HipEvent = ihipEvent_t *;

extern "C" {
int hipMalloc(void **pointer, size_t bytes);
int hipFree(void *pointer);
int hipHostMalloc(void **pointer, size_t bytes, unsigned flags);
int hipHostFree(void *pointer);
int hipGetDeviceCount(int *count);
int hipSetDevice(int device);
int hipMemGetInfo(size_t *free, size_t *total);
int hipDeviceSynchronize();
int hipStreamCreateWithPriority(HipStream *stream, unsigned flags, int priority);
int hipStreamGetPriority(HipStream stream, int *priority);
int hipStreamSynchronize(HipStream stream);
int hipStreamQuery(HipStream stream);
int hipStreamWaitEvent(HipStream stream, HipEvent event, unsigned flags);
int hipStreamIsCapturing(HipStream stream, int *status);
int hipStreamBeginCapture(HipStream stream, int mode);
int hipStreamEndCapture(HipStream stream, hipGraph **graph);
int hipGraphInstantiate(hipGraphExec **exec, hipGraph *graph, void **error_node, char *log, size_t log_bytes);
int hipGraphLaunch(hipGraphExec *exec, HipStream stream);
int hipGraphExecDestroy(hipGraphExec *exec);
int hipGraphDestroy(hipGraph *graph);
int hipLaunchHostFunc(HipStream stream, void (*function)(void *), void *data);
int hipEventCreateWithFlags(HipEvent *event, unsigned flags);
int hipEventRecord(HipEvent event, HipStream stream);
int hipEventQuery(HipEvent event);
int hipEventSynchronize(HipEvent event);
int hipEventElapsedTime(float *milliseconds, HipEvent start, HipEvent stop);
int hipEventDestroy(HipEvent event);
int hipGetLastError();
const char *hipGetErrorString(int error);
/* The emulated runtime's own: whether memory counts as written from now on. For checked runs. */
void kptHostWrites(void *address, size_t bytes, int written);
/* Whether work goes on in the background that was given before, and waiting for that of a stream. */
int kptPending();
void kptFinish(HipStream stream, int device);
/* Its record of what is used on which stream, for --check races. */
void *kptOrderBegin(HipStream stream, int device, const char *by);
void kptOrderEnd(void *begun);
void kptOrderTouches(const uint64_t *firsts_and_ends, size_t count, int writes);
void kptOrderHostWaits(HipStream stream, int device);
void kptOrderMeet(HipStream one, int device, HipStream other, int other_device);
void kptOrderAllocates(void *base, size_t bytes, HipStream stream, int device);
void kptOrderRecords(void *base, HipStream stream, int device);
void kptOrderFrees(void *base);
}

namespace kpt_torch {

enum : int { HIP_SUCCESS = 0, HIP_OUT_OF_MEMORY = 2, HIP_NOT_READY = 600 };

/* Whether the runtime reports reads of memory that nobody wrote. ATen's CPU kernels write where it does not look: memory
 * of tensors counts as written, but for that of torch.empty and its like, until an operator or a kernel writes it. */
bool watches_writes();

/* Raises what torch raises for an error of the runtime. */
void check_hip(int error);

} // namespace kpt_torch
#endif
