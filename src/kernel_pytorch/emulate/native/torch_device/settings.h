/* Settings of a program that make torch refuse what a GPU would do. */
#ifndef KPT_TORCH_SETTINGS_H
#define KPT_TORCH_SETTINGS_H

#include <atomic>
#include <string>

#include "fallback.h"

namespace kpt_torch {

/* torch.cuda.set_sync_debug_mode: 0 says nothing, 1 warns, 2 refuses where the host waits for the GPU. */
std::atomic<int> &sync_debug_mode();
void warn_or_refuse_to_wait();

/* Whether torch.use_deterministic_algorithms concerns the operator on a GPU. On the CPU these are deterministic. */
bool is_unordered(const std::string &name);
/* Raises or warns, as that setting says. */
void refuse_unordered(const Operator &op, const torch::jit::Stack &stack);

} // namespace kpt_torch
#endif
