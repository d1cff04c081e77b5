/* Where the CPU's kernels do not take what the GPU's do. */
#ifndef KPT_TORCH_ADJUST_H
#define KPT_TORCH_ADJUST_H

#include "fallback.h"

namespace kpt_torch {

/* What has to be done for an operator; nothing for most. */
Adjustment adjustment_for(const std::string &name);

/* Calls an operator again in single precision where the CPU's kernel knows no half precision. `stack` ends with the
 * arguments, and after the call with the results in the type that was given. False where the problem is another. */
bool call_in_single(const Operator &op, const c10::OperatorHandle &handle, torch::jit::Stack &stack,
                    const char *problem);

} // namespace kpt_torch
#endif
