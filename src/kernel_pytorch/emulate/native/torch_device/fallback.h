/* ATen's operators on the emulated GPU: the CPU's kernels on the device's memory. */
#ifndef KPT_TORCH_FALLBACK_H
#define KPT_TORCH_FALLBACK_H

#include <ATen/core/Tensor.h>
#include <ATen/core/boxing/KernelFunction.h>
#include <ATen/core/dispatch/Dispatcher.h>

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

namespace kpt_torch {

/* What has to be done with an argument before the CPU's kernel may see it. */
enum class Role : uint8_t { tensor, tensors, generator, device, pin_memory };

struct Argument {
    uint16_t place;
    Role role;
    bool written;
    bool viewed = false; /* a result is a view of it: its content is not used */
};

struct Operator;

/* Changes the arguments of a call before it, or its results after it. */
using Adjust = void (*)(torch::jit::Stack &stack, const Operator &op);
struct Adjustment {
    Adjust before = nullptr, after = nullptr;
};

/* What is known about an operator before it is called. */
struct Operator {
    explicit Operator(const c10::OperatorHandle &handle);
    std::string name;
    uint16_t arguments = 0, returns = 0;
    std::vector<Argument> handled;
    bool writes = false;
    bool draws = false;        /* random numbers, from the default generator and without an argument for another */
    bool any_device = false;   /* copies: the tensors may be on several devices */
    bool cpu_indices = false;  /* tensors of the CPU may stand beside those of the device */
    bool host_waits = false;   /* for a value, or for the shape of a result */
    int16_t non_blocking = -1; /* the argument of that name */
    bool unordered = false;    /* a GPU adds in no fixed order: torch can be told to refuse that */
    bool same_device = true;   /* tensors without dimensions too have to be on the device */
    Adjustment adjustment;
    c10::DispatchKey computes = c10::DispatchKey::CPU; /* whose kernel computes it */
    std::atomic<uint64_t> calls{0};
};

/* A device tensor as the CPU's kernels see it: the same bytes, "cpu". */
at::Tensor as_cpu(const at::Tensor &tensor);
/* A view of a device tensor, with the shape of another tensor. */
at::Tensor view_with_shape_of(const at::Tensor &shape, const at::Tensor &real);
/* What a CPU kernel made in device memory, as a tensor of the device. */
at::Tensor as_device(const at::Tensor &made, int device);

/* Calls `visit` with every tensor of a value. */
template <class Visit> void each_tensor(const c10::IValue &value, Visit &&visit) {
    if (value.isTensor()) {
        if (value.toTensor().defined()) visit(value.toTensor());
    } else if (value.isTensorList()) {
        for (const at::Tensor &one : value.toTensorList())
            if (one.defined()) visit(one);
    } else if (value.isOptionalTensorList()) {
        for (const std::optional<at::Tensor> &one : value.toOptionalTensorList())
            if (one && one->defined()) visit(*one);
    }
}

/* Every operator that was called, with its number of calls, one a line. */
std::string operator_calls();
uint64_t all_operator_calls();

/* Those that are there now and have no kernel for the device yet. */
void register_operators();

} // namespace kpt_torch
#endif
