#include "adjust.h"

#include <ATen/core/Tensor.h>
#include <c10/util/Exception.h>

#include <cstdlib>
#include <cstring>
#include <map>
#include <vector>

namespace kpt_torch {
namespace {

using c10::IValue;
using torch::jit::Stack;

IValue &argument(Stack &stack, const Operator &op, size_t place) { return stack[stack.size() - op.arguments + place]; }

/* softmax(self, dim, half_to_float): the GPU reads half precision and writes single. */
void widen_softmax(Stack &stack, const Operator &op) {
    IValue &half_to_float = argument(stack, op, 2);
    if (!half_to_float.toBool()) return;
    IValue &self = argument(stack, op, 0);
    self = IValue(self.toTensor().to(at::kFloat));
    half_to_float = IValue(false);
}

thread_local c10::ScalarType narrow_to = c10::ScalarType::Undefined;

/* softmax_backward(grad, output, dim, input_dtype): single precision in, half precision out. */
void widen_softmax_backward(Stack &stack, const Operator &op) {
    narrow_to = c10::ScalarType::Undefined;
    c10::ScalarType grad = argument(stack, op, 0).toTensor().scalar_type();
    IValue &wanted = argument(stack, op, 3);
    if (wanted.toScalarType() == grad) return;
    narrow_to = wanted.toScalarType();
    wanted = IValue(static_cast<int64_t>(grad));
}

void narrow_softmax_backward(Stack &stack, const Operator &) {
    if (narrow_to != c10::ScalarType::Undefined) stack.back() = IValue(stack.back().toTensor().to(narrow_to));
    narrow_to = c10::ScalarType::Undefined;
}

std::string said(const char *name) {
    const char *value = getenv(name);
    return value ? value : "";
}

/* Products of 8-bit floats: a GPU has one of the two families of formats, or none. */
void require_fp8(Stack &stack, const Operator &op) {
    static const std::string format = said("KPT_TORCH_FP8"), target = said("KPT_TORCH_TARGET");
    for (size_t place : {0, 1}) {
        const IValue &value = argument(stack, op, place);
        if (!value.isTensor()) continue;
        c10::ScalarType type = value.toTensor().scalar_type();
        bool fnuz = type == at::kFloat8_e4m3fnuz || type == at::kFloat8_e5m2fnuz;
        bool plain = type == at::kFloat8_e4m3fn || type == at::kFloat8_e5m2;
        if (!fnuz && !plain) continue;
        TORCH_CHECK(!format.empty(), target, " has no float8 matrix units: ", op.name, " is not supported on it");
        TORCH_CHECK(fnuz == (format == "e4m3fnuz"), target, " has matrix units for float8 ", format, " and not for ",
                    c10::toString(type));
    }
}

bool is_half(const at::Tensor &tensor) {
    return tensor.defined() && (tensor.scalar_type() == at::kHalf || tensor.scalar_type() == at::kBFloat16);
}

} // namespace

Adjustment adjustment_for(const std::string &name) {
    static const std::map<std::string, Adjustment> known = {
        {"aten::_softmax", {widen_softmax}},
        {"aten::_log_softmax", {widen_softmax}},
        {"aten::_softmax_backward_data", {widen_softmax_backward, narrow_softmax_backward}},
        {"aten::_log_softmax_backward_data", {widen_softmax_backward, narrow_softmax_backward}},
        {"aten::_scaled_mm", {require_fp8}},
        {"aten::_scaled_mm.out", {require_fp8}},
        {"aten::_scaled_mm_v2", {require_fp8}},
    };
    auto found = known.find(name);
    return found == known.end() ? Adjustment{} : found->second;
}

bool call_in_single(const Operator &op, const c10::OperatorHandle &handle, Stack &stack, const char *problem) {
    if (!strstr(problem, "not implemented for 'Half'") && !strstr(problem, "not implemented for 'BFloat16'") &&
        !strstr(problem, "only support") && !strstr(problem, "Unsupported dtype"))
        return false;
    std::vector<std::pair<at::Tensor, at::Tensor>> written; /* as given, and in single precision */
    c10::ScalarType half = c10::ScalarType::Undefined;
    auto wide = [&](const at::Tensor &tensor, bool is_written) {
        if (!is_half(tensor)) return tensor;
        half = tensor.scalar_type();
        at::Tensor made = tensor.to(at::kFloat);
        if (is_written) written.emplace_back(tensor, made);
        return made;
    };
    for (const Argument &handled : op.handled) {
        IValue &value = argument(stack, op, handled.place);
        if (value.isTensor()) {
            value = IValue(wide(value.toTensor(), handled.written));
        } else if (value.isTensorList()) {
            c10::List<at::Tensor> all;
            for (const at::Tensor &one : value.toTensorList()) all.push_back(wide(one, handled.written));
            value = IValue(std::move(all));
        }
    }
    if (half == c10::ScalarType::Undefined) return false;
    handle.redispatchBoxed(c10::DispatchKeySet(op.computes), &stack);
    for (auto &[given, made] : written) given.copy_(made);
    for (size_t i = stack.size() - op.returns; i < stack.size(); i++) {
        if (!stack[i].isTensor() || !stack[i].toTensor().defined()) continue;
        at::Tensor result = stack[i].toTensor();
        bool in_place = false;
        for (auto &[given, made] : written)
            if (made.is_same(result)) stack[i] = IValue(given), in_place = true;
        if (!in_place && result.scalar_type() == at::kFloat) stack[i] = IValue(result.to(half));
    }
    return true;
}

} // namespace kpt_torch
