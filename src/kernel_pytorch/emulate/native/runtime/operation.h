/* What can be put on a stream or into a graph. Streams run an operation when it is submitted, in the caller's thread;
 * one that comes after a kernel which goes on in the background waits for that (pending.h). A stream that captures
 * records it instead. */
#ifndef KPT_OPERATION_H
#define KPT_OPERATION_H

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "hip_abi.h"
#include "launch.h"

namespace kpt {

/* A box of memory: `pitch` bytes from row to row, `slice` from plane to plane. */
struct Box {
    uint64_t at = 0;
    uint64_t pitch = 0, slice = 0;
};

struct Copy {
    Box to, from;
    uint64_t width = 0, height = 1, depth = 1; /* width in bytes */
    hipMemcpyKind kind = hipMemcpyDefault;
    hipMemcpy3DParms shown{}; /* what hipGraphMemcpyNodeGetParams gives back */
};

struct Set {
    Box to;
    uint32_t value = 0, element = 1;           /* element size: 1, 2 or 4 bytes */
    uint64_t width = 0, height = 1, depth = 1; /* width in elements */
};

struct Operation {
    hipGraphNodeType type = hipGraphNodeTypeEmpty;
    LaunchRequest launch;
    hipKernelNodeParams shown{};              /* what hipGraphKernelNodeGetParams gives back */
    std::vector<std::vector<uint8_t>> values; /* the arguments `shown` points to */
    std::vector<void *> pointers;
    Copy copy;
    Set set;
    hipHostNodeParams host{};
    hipStreamCallback_t callback = nullptr;
    hipStream_t callback_stream = nullptr;
    hipEvent_t event = nullptr;
    hipGraph_t child = nullptr;
    hipMemAllocNodeParams memory{};
    void *freed = nullptr;
    std::function<bool()> until;                  /* hipStreamWaitValue: what is waited for */
    std::function<void()> action;                 /* hipStreamWriteValue */
    std::shared_ptr<std::vector<uint8_t>> staged; /* what a copy that has to wait took from the program's own memory */
};

/* Runs it now; what is left of a kernel that waits for something outside is in `rest`. Not for graphs, whose nodes are
 * given one by one, nor for `until`. */
hipError_t execute(const Operation &operation, bool background, std::unique_ptr<Launch> &rest);

/* Runs or records it, by the state of the stream; the error of an unknown stream. */
hipError_t submit(hipStream_t stream, Operation &&operation);

hipError_t run_copy(const Copy &copy);
hipError_t run_set(const Set &set);

/* Whether one side of a copy is memory that HIP was never told about. */
bool is_of_the_program(const Box &box);

/* The operation for one row of bytes. */
Operation copy_operation(void *to, const void *from, uint64_t bytes, hipMemcpyKind kind);

} // namespace kpt
#endif
