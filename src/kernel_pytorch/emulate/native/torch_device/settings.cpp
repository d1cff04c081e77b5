#include "settings.h"

#include <ATen/Context.h>
#include <c10/util/Exception.h>

#include <unordered_set>

namespace kpt_torch {
namespace {

/* What torch's page on use_deterministic_algorithms lists for CUDA tensors, as operators. */
const std::unordered_set<std::string> UNORDERED = {
    "avg_pool3d_backward",
    "_adaptive_avg_pool2d_backward",
    "_adaptive_avg_pool3d_backward",
    "adaptive_max_pool2d_backward",
    "fractional_max_pool2d_backward",
    "fractional_max_pool3d_backward",
    "max_unpool2d",
    "max_unpool3d",
    "upsample_linear1d_backward",
    "upsample_bilinear2d_backward",
    "upsample_bicubic2d_backward",
    "upsample_trilinear3d_backward",
    "reflection_pad1d_backward",
    "reflection_pad2d_backward",
    "reflection_pad3d_backward",
    "replication_pad1d_backward",
    "replication_pad2d_backward",
    "replication_pad3d_backward",
    "nll_loss2d_forward",
    "_ctc_loss_backward",
    "grid_sampler_2d_backward",
    "grid_sampler_3d_backward",
    "histc",
    "kthvalue",
    "median.dim",
    "median.dim_values",
    "bincount",
    "cumsum",
};

/* aten::name.overload -> name; those of median that give indices keep theirs. */
std::string plain(const std::string &name) {
    constexpr size_t NAMESPACE = sizeof("aten::") - 1;
    if (name.rfind("aten::", 0) != 0) return name;
    std::string whole = name.substr(NAMESPACE);
    return UNORDERED.count(whole) ? whole : whole.substr(0, whole.find('.'));
}

} // namespace

std::atomic<int> &sync_debug_mode() {
    static std::atomic<int> mode{0};
    return mode;
}

void warn_or_refuse_to_wait() {
    constexpr int WARNS = 1, REFUSES = 2;
    int mode = sync_debug_mode();
    TORCH_CHECK(mode != REFUSES, "called a synchronizing CUDA operation");
    if (mode == WARNS) TORCH_WARN("called a synchronizing CUDA operation");
}

bool is_unordered(const std::string &name) { return UNORDERED.count(plain(name)) > 0; }

void refuse_unordered(const Operator &op, const torch::jit::Stack &stack) {
    std::string name = plain(op.name);
    size_t first = stack.size() - op.arguments;
    if (name == "cumsum" && !stack[first].toTensor().is_floating_point() && !stack[first].toTensor().is_complex())
        return;
    /* Without weights it counts, and integers add up to the same in any order. */
    if (name == "bincount" && !(stack[first + 1].isTensor() && stack[first + 1].toTensor().defined())) return;
    at::globalContext().alertNotDeterministic(name + "_cuda");
}

} // namespace kpt_torch
