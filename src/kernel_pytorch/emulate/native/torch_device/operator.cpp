/* What a schema says about an operator, and which operators take tensors of several devices. */
#include <string>
#include <unordered_set>

#include "adjust.h"
#include "fallback.h"
#include "settings.h"

namespace kpt_torch {
namespace {

const std::unordered_set<std::string> ANY_DEVICE = {
    "aten::copy_", "aten::_copy_from",     "aten::_copy_from_and_resize",
    "aten::copy",  "aten::_foreach_copy_", "aten::_to_copy"};
const std::unordered_set<std::string> CPU_INDICES = {"aten::index.Tensor",
                                                     "aten::index.Tensor_out",
                                                     "aten::index_put_",
                                                     "aten::_index_put_impl_",
                                                     "aten::_unsafe_index.Tensor",
                                                     "aten::_unsafe_index_put",
                                                     "aten::index_put",
                                                     "aten::_unsafe_masked_index",
                                                     "aten::_unsafe_masked_index_put_accumulate",
                                                     "aten::_fused_adam_",
                                                     "aten::_fused_adamw_",
                                                     "aten::_fused_sgd_",
                                                     "aten::_fused_adagrad_",
                                                     "aten::_fused_adam_.tensor_lr",
                                                     "aten::_fused_adamw_.tensor_lr",
                                                     "aten::_fused_sgd_.tensor_lr"};

} // namespace

Operator::Operator(const c10::OperatorHandle &handle) {
    const c10::FunctionSchema &schema = handle.schema();
    name = schema.name() + (schema.overload_name().empty() ? "" : "." + schema.overload_name());
    arguments = uint16_t(schema.arguments().size());
    returns = uint16_t(schema.returns().size());
    bool takes_generator = false;
    for (uint16_t place = 0; place < arguments; place++) {
        const c10::Argument &argument = schema.arguments()[place];
        c10::TypePtr type = argument.type();
        if (auto optional = type->cast<c10::OptionalType>()) type = optional->getElementType();
        bool written = argument.alias_info() && argument.alias_info()->isWrite();
        writes |= written;
        if (type->kind() == c10::TypeKind::TensorType) {
            handled.push_back({place, Role::tensor, written, argument.alias_info() && !written});
        } else if (auto list = type->cast<c10::ListType>()) {
            c10::TypePtr element = list->getElementType();
            if (auto optional = element->cast<c10::OptionalType>()) element = optional->getElementType();
            if (element->kind() == c10::TypeKind::TensorType) handled.push_back({place, Role::tensors, written});
        } else if (type->kind() == c10::TypeKind::GeneratorType) {
            handled.push_back({place, Role::generator, false});
            takes_generator = true;
        } else if (type->kind() == c10::TypeKind::DeviceObjType) {
            handled.push_back({place, Role::device, false});
        } else if (argument.name() == "non_blocking") {
            non_blocking = int16_t(place);
        } else if (argument.name() == "pin_memory") {
            handled.push_back({place, Role::pin_memory, false});
        }
    }
    draws = !takes_generator && handle.hasTag(at::Tag::nondeterministic_seeded);
    host_waits = handle.hasTag(at::Tag::data_dependent_output) || handle.hasTag(at::Tag::dynamic_output_shape);
    any_device = ANY_DEVICE.count(name) > 0;
    /* The shapes of nested tensors are on the CPU. */
    cpu_indices = CPU_INDICES.count(name) > 0 || name.rfind("aten::_nested_", 0) == 0;
    same_device = false;
    unordered = is_unordered(name);
    adjustment = adjustment_for(name);
}

} // namespace kpt_torch
