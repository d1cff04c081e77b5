/* Tells the runtime which memory torch's operators use on which stream: for --check races. */
#ifndef KPT_TORCH_STREAM_USES_H
#define KPT_TORCH_STREAM_USES_H

#include <c10/util/SmallVector.h>

#include "fallback.h"

namespace kpt_torch {

struct Block;

/* A tensor of the device and what stands for it in the CPU's kernel. */
struct Pair {
    at::Tensor real, alias;
    bool written;
    bool used = true; /* its content, not only its shape */
};
using Pairs = c10::SmallVector<Pair, 6>;

/* Whether the runtime looks for races between streams. */
bool watches_streams();

/* Before an operator: whether the host waits for its end, as a GPU's driver or torch's code for GPUs does. */
bool host_will_wait(const Operator &op, const torch::jit::Stack &stack);
/* After it: what it read and wrote. */
void note_uses(const Operator &op, const Pairs &pairs, const torch::jit::Stack &stack, int device, bool host_waits);
/* Inside a graph's run: a result was written. */
void note_result(const at::Tensor &tensor);

void note_taken(const Block &block);
void note_put(const Block &block);
void note_record_stream(const c10::DataPtr &data, c10::Stream stream);

/* Checked runs: what an operator writes is no longer memory that nobody wrote. */
void note_written(const at::Tensor &tensor);

} // namespace kpt_torch
#endif
