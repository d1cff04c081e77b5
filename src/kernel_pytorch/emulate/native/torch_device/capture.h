/* torch.cuda.graph: operators are recorded in the runtime's graph, between the kernels, and run again with it. */
#ifndef KPT_TORCH_CAPTURE_H
#define KPT_TORCH_CAPTURE_H

#include "fallback.h"

namespace kpt_torch {

using Compute = void (*)(Operator &, const c10::OperatorHandle &, torch::jit::Stack &);

/* Whether a graph records what this thread does. */
bool capturing();

/* Computes an operator so that its results have their shapes, puts back what it wrote to, and records it. */
void capture_operator(Operator &op, const c10::OperatorHandle &handle, torch::jit::Stack &stack, Compute compute);

struct Graph;
/* The current stream of the device begins to record. */
Graph *begin_capture(int device);
void end_capture(Graph *graph);
void replay(Graph *graph, int device);
void discard(Graph *graph);

} // namespace kpt_torch
#endif
