/* Scaled dot product attention: which of torch's ways a GPU would take, and those ways on the CPU's attention kernel. */
#include <ATen/Context.h>
#include <ATen/core/Tensor.h>
#include <ATen/native/transformers/attention.h>
#include <ATen/ops/_scaled_dot_product_flash_attention_for_cpu.h>
#include <ATen/ops/_scaled_dot_product_flash_attention_for_cpu_backward.h>
#include <ATen/ops/empty.h>
#include <torch/library.h>

#include <cstdlib>
#include <cstring>

namespace kpt_torch {
namespace {

using at::Tensor;
using OptionalTensor = std::optional<Tensor>;

enum Way : int64_t { FAILED = -1, MATH = 0, FLASH = 1, EFFICIENT = 2 };

/* AOTriton, which ROCm's torch has its fused attention from, does not serve every GPU. */
bool has_fused_attention() {
    static bool has = [] {
        const char *said = getenv("KPT_TORCH_FUSED_ATTENTION");
        return said && strcmp(said, "1") == 0;
    }();
    return has;
}

bool dense(const Tensor &t) { return !t.is_nested() && t.dim() == 4 && t.stride(-1) == 1 && t.numel() > 0; }

bool fits_fused(const Tensor &q, const Tensor &k, const Tensor &v, double dropout) {
    constexpr int64_t WIDEST_HEAD = 512;
    if (!has_fused_attention() || dropout > 0.0 || !dense(q) || !dense(k) || !dense(v)) return false;
    bool same_heads =
        q.size(0) == k.size(0) && k.size(0) == v.size(0) && q.size(1) == k.size(1) && k.size(1) == v.size(1);
    bool same_width = q.size(3) == k.size(3) && k.size(3) == v.size(3) && q.size(3) <= WIDEST_HEAD;
    return same_heads && same_width && q.scalar_type() == k.scalar_type() && k.scalar_type() == v.scalar_type();
}

bool takes_flash_type(const Tensor &t) { return t.scalar_type() == at::kHalf || t.scalar_type() == at::kBFloat16; }

int64_t choose(const Tensor &q, const Tensor &k, const Tensor &v, const OptionalTensor &mask, double dropout, bool,
               std::optional<double>, bool) {
    at::Context &settings = at::globalContext();
    bool masked = mask && mask->defined();
    bool fused = fits_fused(q, k, v, dropout);
    if (settings.userEnabledFlashSDP() && fused && !masked && takes_flash_type(q)) return FLASH;
    bool known_type = takes_flash_type(q) || q.scalar_type() == at::kFloat;
    if (settings.userEnabledMemEfficientSDP() && fused && known_type && !(masked && mask->requires_grad()))
        return EFFICIENT;
    if (settings.userEnabledMathSDP()) return MATH;
    return FAILED;
}

Tensor nothing(const Tensor &like) { return at::empty({0}, like.options().dtype(at::kLong)); }

std::tuple<Tensor, Tensor, Tensor, Tensor, c10::SymInt, c10::SymInt, Tensor, Tensor, Tensor>
flash(const Tensor &q, const Tensor &k, const Tensor &v, double dropout, bool causal, bool,
      std::optional<double> scale) {
    TORCH_CHECK(dropout == 0.0, "an emulated GPU has no flash attention with dropout");
    auto [out, sums] = at::_scaled_dot_product_flash_attention_for_cpu(q, k, v, 0.0, causal, std::nullopt, scale);
    return {out, sums, Tensor(), Tensor(), q.sym_size(2), k.sym_size(2), nothing(q), nothing(q), nothing(q)};
}

std::tuple<Tensor, Tensor, Tensor> flash_backward(const Tensor &grad, const Tensor &q, const Tensor &k, const Tensor &v,
                                                  const Tensor &out, const Tensor &sums, const Tensor &, const Tensor &,
                                                  c10::SymInt, c10::SymInt, double, bool causal, const Tensor &,
                                                  const Tensor &, std::optional<double> scale) {
    return at::_scaled_dot_product_flash_attention_for_cpu_backward(grad, q, k, v, out, sums, 0.0, causal, std::nullopt,
                                                                    scale);
}

std::tuple<Tensor, Tensor, Tensor, Tensor> efficient(const Tensor &q, const Tensor &k, const Tensor &v,
                                                     const OptionalTensor &bias, bool, double dropout, bool causal,
                                                     std::optional<double> scale) {
    TORCH_CHECK(dropout == 0.0, "an emulated GPU has no memory efficient attention with dropout");
    auto [out, sums] = at::_scaled_dot_product_flash_attention_for_cpu(q, k, v, 0.0, causal, bias, scale);
    return {out, sums, nothing(q), nothing(q)};
}

std::tuple<Tensor, Tensor, Tensor, Tensor> efficient_backward(const Tensor &grad, const Tensor &q, const Tensor &k,
                                                              const Tensor &v, const Tensor &bias, const Tensor &out,
                                                              const Tensor &sums, const Tensor &, const Tensor &,
                                                              double, std::array<bool, 4>, bool causal,
                                                              std::optional<double> scale) {
    OptionalTensor mask = bias.defined() ? OptionalTensor(bias) : std::nullopt;
    auto [dq, dk, dv] =
        at::_scaled_dot_product_flash_attention_for_cpu_backward(grad, q, k, v, out, sums, 0.0, causal, mask, scale);
    return {dq, dk, dv, Tensor()};
}

int64_t choice(const Tensor &q, const Tensor &k, const Tensor &v, const OptionalTensor &mask, double dropout,
               bool causal, std::optional<double> scale, bool grouped) {
    return choose(q, k, v, mask, dropout, causal, scale, grouped);
}

} // namespace
} // namespace kpt_torch

namespace at::native {
REGISTER_CUDA_DISPATCH(_fused_sdp_choice_stub, &kpt_torch::choose)
} // namespace at::native

TORCH_LIBRARY_IMPL(aten, CUDA, m) {
    m.impl("_fused_sdp_choice", kpt_torch::choice);
    m.impl("_scaled_dot_product_flash_attention", kpt_torch::flash);
    m.impl("_scaled_dot_product_flash_attention_backward", kpt_torch::flash_backward);
    m.impl("_scaled_dot_product_efficient_attention", kpt_torch::efficient);
    m.impl("_scaled_dot_product_efficient_attention_backward", kpt_torch::efficient_backward);
}
