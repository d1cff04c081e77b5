/* What torch's profiler asks a GPU. */
#ifndef KPT_TORCH_PROFILER_H
#define KPT_TORCH_PROFILER_H

namespace kpt_torch {

/* The profiler gets no GPU times: there are none, and those of this CPU are in its columns for the CPU. */
void install_profiler();

} // namespace kpt_torch
#endif
