#include "fallback.h"

#include <ATen/Context.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <c10/util/SmallVector.h>
#include <torch/library.h>

#include <mutex>
#include <unordered_set>

#include "adjust.h"
#include "capture.h"
#include "device.h"
#include "generator.h"
#include "hip.h"
#include "memory.h"
#include "settings.h"
#include "sparse.h"
#include "stream_uses.h"

namespace kpt_torch {
namespace {

using c10::IValue;
using torch::jit::Stack;

/* Operators made of others that look at the device to choose a library: the CPU's choice works here. */
const std::unordered_set<std::string> CHOOSES_BY_DEVICE = {
    "aten::copy_", "aten::convolution", "aten::convolution_backward", "aten::_convolution_double_backward",
    "aten::cudnn_is_acceptable"};

bool starts_with(const std::string &text, const char *beginning) { return text.rfind(beginning, 0) == 0; }

std::mutex operators_mutex;
std::vector<Operator *> &operators() {
    static auto *value = new std::vector<Operator *>;
    return *value;
}

/* The device that an operator works on, and whether all its tensors are there. */
class Devices {
public:
    explicit Devices(const Operator &op) : op_(op) {}
    void see(const at::Tensor &tensor) {
        c10::Device device = tensor.device();
        if (device.is_cuda()) {
            if (found_ < 0) found_ = device.index();
            if (device.index() != found_ && !op_.any_device)
                refuse(c10::Device(c10::kCUDA, c10::DeviceIndex(found_)), device);
        } else if (device.is_cpu()) {
            cpu_ |= tensor.dim() > 0 || op_.same_device;
            if (tensor.has_storage()) of_cpu_.push_back(tensor.storage().unsafeGetStorageImpl());
        }
    }
    /* Whether a result is a tensor of the CPU that was given: copies to the CPU give back what they wrote to. */
    bool was_given(const at::Tensor &result) const {
        for (const c10::StorageImpl *storage : of_cpu_)
            if (result.has_storage() && result.storage().unsafeGetStorageImpl() == storage) return true;
        return false;
    }
    void ask(c10::Device device) {
        if (device.is_cuda()) found_ = device.has_index() ? device.index() : current_device();
        asked_ = true;
    }
    void note_type(c10::ScalarType type) { half |= type == at::kHalf || type == at::kBFloat16; }
    bool half = false; /* a tensor of half precision is among them */
    int settle() {
        if (found_ < 0) found_ = current_device();
        if (cpu_ && !asked_ && !op_.any_device && !op_.cpu_indices)
            refuse(c10::Device(c10::kCUDA, c10::DeviceIndex(found_)), c10::Device(c10::kCPU));
        return found_;
    }

private:
    [[noreturn]] void refuse(c10::Device first, c10::Device second) const {
        TORCH_CHECK(false, "Expected all tensors to be on the same device, but found at least two devices, ", first,
                    " and ", second, "! (when checking arguments of ", op_.name, ")");
    }
    const Operator &op_;
    c10::SmallVector<const c10::StorageImpl *, 4> of_cpu_;
    int found_ = -1;
    bool cpu_ = false, asked_ = false;
};

at::Tensor exchanged(const at::Tensor &tensor, bool written, Pairs &pairs, Devices &devices) {
    devices.see(tensor);
    if (!tensor.is_cuda()) return tensor;
    devices.note_type(tensor.scalar_type());
    at::Tensor alias = as_cpu(tensor);
    if (C10_UNLIKELY(!tensor.has_storage()) && is_sparse(tensor)) {
        /* Its parts may come back in a result. */
        std::vector<at::Tensor> real = parts_of(tensor), of_alias = parts_of(alias);
        for (size_t i = 0; i < real.size(); i++) pairs.push_back({real[i], of_alias[i], false});
    }
    pairs.push_back({tensor, alias, written});
    return alias;
}

void exchange_list(IValue &value, bool written, Pairs &pairs, Devices &devices) {
    if (value.isTensorList()) {
        auto before = value.toTensorList();
        c10::List<at::Tensor> after;
        after.reserve(before.size());
        for (size_t i = 0; i < before.size(); i++) {
            at::Tensor one = before.get(i);
            after.push_back(one.defined() ? exchanged(one, written, pairs, devices) : one);
        }
        value = IValue(std::move(after));
    } else if (value.isOptionalTensorList()) {
        auto before = value.toOptionalTensorList();
        c10::List<std::optional<at::Tensor>> after;
        after.reserve(before.size());
        for (size_t i = 0; i < before.size(); i++) {
            std::optional<at::Tensor> one = before.get(i);
            if (one && one->defined()) one = exchanged(*one, written, pairs, devices);
            after.push_back(std::move(one));
        }
        value = IValue(std::move(after));
    } else if (value.isList()) { /* TorchScript's, whose elements have another type than the schema says */
        auto before = value.toList();
        c10::impl::GenericList after(before.elementType());
        for (size_t i = 0; i < before.size(); i++) {
            IValue one = before.get(i);
            bool tensor = one.isTensor() && one.toTensor().defined();
            after.push_back(tensor ? IValue(exchanged(one.toTensor(), written, pairs, devices)) : one);
        }
        value = IValue(std::move(after));
    }
}

/* Replaces what the CPU's kernel may not see. The device that the operator works on. */
int exchange(const Operator &op, Stack &stack, Pairs &pairs, Devices &devices) {
    size_t first = stack.size() - op.arguments;
    for (const Argument &argument : op.handled) {
        IValue &value = stack[first + argument.place];
        switch (argument.role) {
        case Role::tensor:
            if (value.isTensor() && value.toTensor().defined()) {
                at::Tensor &tensor = value.toTensor();
                if (C10_UNLIKELY(!tensor.has_storage())) {
                    value = IValue(exchanged(at::Tensor(tensor), argument.written, pairs, devices));
                    break;
                }
                devices.see(tensor);
                if (tensor.is_cuda()) {
                    devices.note_type(tensor.scalar_type());
                    pairs.push_back({std::move(tensor), {}, argument.written, !argument.viewed});
                    pairs.back().alias = as_cpu(pairs.back().real);
                    value = IValue(pairs.back().alias);
                }
            }
            break;
        case Role::tensors: exchange_list(value, argument.written, pairs, devices); break;
        case Role::device:
            if (value.isDevice()) {
                devices.ask(value.toDevice());
                value = IValue(c10::Device(c10::kCPU));
            }
            break;
        case Role::pin_memory:
            if (value.isBool()) value = IValue(false);
            break;
        case Role::generator: break; /* below: the device has to be known */
        }
    }
    int device = devices.settle();
    for (const Argument &argument : op.handled)
        if (argument.role == Role::generator) {
            IValue &value = stack[first + argument.place];
            at::Generator given = value.isNone() ? default_generator(device) : value.toGenerator();
            TORCH_CHECK(given.device().is_cuda(), "Expected a 'cuda' device type for generator but found '",
                        given.device().type(), "'");
            value = IValue(drawn_from(given));
        }
    return device;
}

void give_shape(const at::Tensor &from, const at::Tensor &to) {
    c10::TensorImpl *out = to.unsafeGetTensorImpl();
    out->set_sizes_and_strides(from.sizes(), from.strides(), from.storage_offset());
}

at::Tensor returned(const at::Tensor &result, Pairs &pairs, const Devices &devices, int device);

/* The kernel may have resized what it writes to. */
void follow(Pair &pair, Pairs &pairs, const Devices &devices, int device) {
    if (C10_UNLIKELY(is_sparse(pair.real))) {
        take_parts(pair.real, pair.alias,
                   [&](const at::Tensor &part) { return returned(part, pairs, devices, device); });
        return;
    }
    c10::StorageImpl *twin = pair.alias.storage().unsafeGetStorageImpl();
    c10::StorageImpl *real = pair.real.storage().unsafeGetStorageImpl();
    if (C10_UNLIKELY(twin->data_ptr().get() != real->data_ptr().get())) {
        c10::DataPtr data = twin->set_data_ptr(c10::DataPtr(nullptr, {c10::kCPU}));
        data.unsafe_set_device(real->device());
        size_t bytes = twin->nbytes();
        twin->set_nbytes(0);
        real->set_data_ptr_noswap(std::move(data));
        real->set_nbytes(bytes);
    } else if (twin->nbytes() != real->nbytes()) {
        real->set_nbytes(twin->nbytes());
    }
    if (C10_UNLIKELY(pair.real.is_nested())) return; /* nothing resizes one in place */
    if (pair.alias.sizes() != pair.real.sizes() || pair.alias.strides() != pair.real.strides() ||
        pair.alias.storage_offset() != pair.real.storage_offset())
        give_shape(pair.alias, pair.real);
}

at::Tensor returned(const at::Tensor &result, Pairs &pairs, const Devices &devices, int device) {
    if (!result.defined() || !result.device().is_cpu() || devices.was_given(result)) return result;
    for (Pair &pair : pairs)
        if (pair.alias.unsafeGetTensorImpl() == result.unsafeGetTensorImpl()) return pair.real;
    if (C10_UNLIKELY(is_sparse(result)))
        return sparse_with(result, [&](const at::Tensor &part) { return returned(part, pairs, devices, device); });
    if (!result.has_storage()) return as_device(result, device);
    const c10::StorageImpl *storage = result.storage().unsafeGetStorageImpl();
    for (Pair &pair : pairs)
        if (pair.alias.has_storage() && pair.alias.storage().unsafeGetStorageImpl() == storage)
            return view_with_shape_of(result, pair.real);
    return as_device(result, device);
}

void take_results(const Operator &op, Stack &stack, Pairs &pairs, const Devices &devices, int device) {
    for (size_t i = stack.size() - op.returns; i < stack.size(); i++) {
        IValue &value = stack[i];
        if (value.isTensor()) {
            value = IValue(returned(value.toTensor(), pairs, devices, device));
        } else if (value.isTensorList()) {
            auto before = value.toTensorList();
            c10::List<at::Tensor> after;
            after.reserve(before.size());
            for (size_t k = 0; k < before.size(); k++) after.push_back(returned(before.get(k), pairs, devices, device));
            value = IValue(std::move(after));
        }
    }
}

/* The kernel that is registered for an operator of the device. */
struct CpuKernel final : c10::OperatorKernel {
    CpuKernel(const c10::OperatorHandle &handle, c10::DispatchKey computes) : op(new Operator(handle)) {
        op->computes = computes;
        std::lock_guard<std::mutex> lock(operators_mutex);
        operators().push_back(op);
    }
    void operator()(const c10::OperatorHandle &handle, c10::DispatchKeySet, Stack *stack) { run(*op, handle, *stack); }
    Operator *op; /* kept for the report: operators are never unregistered */

    static void run(Operator &op, const c10::OperatorHandle &handle, Stack &stack) {
        op.calls.fetch_add(1, std::memory_order_relaxed);
        if (C10_UNLIKELY(capturing())) return capture_operator(op, handle, stack, &compute);
        /* Operators run on the host: not before a kernel of their stream has ended that goes on in the background. */
        if (C10_UNLIKELY(kptPending()))
            for (int device = 0; device < device_count(); device++)
                kptFinish(handle_of(current_stream(device)), device);
        compute(op, handle, stack);
    }

    static void call_adjusted(const Operator &op, const c10::OperatorHandle &handle, Stack &stack) {
        if (op.adjustment.before) op.adjustment.before(stack, op);
        Stack arguments(stack.end() - op.arguments, stack.end());
        size_t below = stack.size() - op.arguments;
        try {
            handle.redispatchBoxed(c10::DispatchKeySet(op.computes), &stack);
        } catch (const c10::Error &problem) {
            stack.resize(below);
            stack.insert(stack.end(), arguments.begin(), arguments.end());
            if (!call_in_single(op, handle, stack, problem.what_without_backtrace())) throw;
        }
        if (op.adjustment.after) op.adjustment.after(stack, op);
    }

    static void compute(Operator &op, const c10::OperatorHandle &handle, Stack &stack) {
        TORCH_CHECK(!in_bad_fork(), "Cannot re-initialize CUDA in forked subprocess. To use CUDA with multiprocessing, "
                                    "you must use the 'spawn' start method");
        Pairs pairs;
        Devices devices(op);
        bool host_waits = C10_UNLIKELY(watches_streams() || sync_debug_mode()) && host_will_wait(op, stack);
        if (C10_UNLIKELY(host_waits)) warn_or_refuse_to_wait();
        if (C10_UNLIKELY(op.unordered) && at::globalContext().deterministicAlgorithms()) refuse_unordered(op, stack);
        int device = exchange(op, stack, pairs, devices);
        {
            at::AutoDispatchBelowADInplaceOrView below;
            c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::autocast_dispatch_keyset);
            DeviceMemoryForCpu memory(device);
            DrawFromDevice draws(op.draws, device);
            if (C10_UNLIKELY(devices.half || op.adjustment.before))
                call_adjusted(op, handle, stack);
            else
                handle.redispatchBoxed(c10::DispatchKeySet(op.computes), &stack);
        }
        if (op.writes)
            for (size_t i = 0; i < pairs.size(); i++)
                if (pairs[i].written) {
                    follow(pairs[i], pairs, devices, device);
                    if (C10_UNLIKELY(watches_writes())) note_written(pairs[i].real);
                }
        take_results(op, stack, pairs, devices, device);
        if (C10_UNLIKELY(watches_streams())) note_uses(op, pairs, stack, device, host_waits);
    }
};

/* torch's kernels for nested tensors are made of operators on their buffers, for the CPU and for a GPU the same. */
struct NestedKernel final : c10::OperatorKernel {
    void operator()(const c10::OperatorHandle &handle, c10::DispatchKeySet, Stack *stack) {
        handle.redispatchBoxed(c10::DispatchKeySet(c10::DispatchKey::NestedTensorCPU), stack);
    }
};

/* These read the buffers themselves, or call a function of the CPU with them. */
const std::unordered_set<std::string> NESTED_OF_CPU = {"aten::_transform_bias_rescale_qkv",
                                                       "aten::_native_multi_head_attention", "aten::native_layer_norm",
                                                       "aten::native_layer_norm_backward"};

bool computes_on_cpu(const c10::OperatorHandle &handle, const std::string &name) {
    if (CHOOSES_BY_DEVICE.count(name)) return true;
    if (starts_with(name, "aten::_foreach_")) return true;
    return handle.hasKernelForDispatchKey(c10::DispatchKey::CPU);
}

/* Written out for the device in kernels.cpp and attention.cpp, or with a meaning of their own there. */
const std::unordered_set<std::string> OWN = {"aten::empty.memory_format",
                                             "aten::empty_strided",
                                             "aten::resize_",
                                             "aten::set_.source_Storage",
                                             "aten::set_.source_Storage_storage_offset",
                                             "aten::set_.source_Tensor",
                                             "aten::set_",
                                             "aten::_efficientzerotensor",
                                             "aten::_fused_sdp_choice",
                                             "aten::record_stream",
                                             "aten::as_strided",
                                             "aten::view",
                                             "aten::_reshape_alias"};

} // namespace

std::string operator_calls() {
    std::lock_guard<std::mutex> lock(operators_mutex);
    std::string text;
    for (const Operator *op : operators())
        if (uint64_t calls = op->calls.load()) text += op->name + " " + std::to_string(calls) + "\n";
    return text;
}

uint64_t all_operator_calls() {
    std::lock_guard<std::mutex> lock(operators_mutex);
    uint64_t sum = 0;
    for (const Operator *op : operators()) sum += op->calls.load();
    return sum;
}

namespace {

/* Registers the CPU's kernels of every operator under `computes` for the device's key. */
void register_for(c10::DispatchKey key, c10::DispatchKey computes) {
    static auto *libraries = new std::vector<std::unique_ptr<torch::Library>>;
    auto &dispatcher = c10::Dispatcher::singleton();
    std::map<std::string, torch::Library *> by_name;
    for (const char *name : {"aten", "quantized", "torchvision", "torchaudio"}) {
        libraries->push_back(std::make_unique<torch::Library>(torch::Library::IMPL, name, key, "kpt torch device", 0));
        by_name[name] = libraries->back().get();
    }
    bool dense = key == c10::DispatchKey::CUDA;
    for (const c10::OperatorName &found : dispatcher.getAllOpNames()) {
        auto library = by_name.find(found.name.substr(0, found.name.find("::")));
        if (library == by_name.end()) continue;
        auto handle = dispatcher.findSchema(found);
        std::string name = found.name + (found.overload_name.empty() ? "" : "." + found.overload_name);
        if (!handle || handle->hasKernelForDispatchKey(key) || (dense && OWN.count(name))) continue;
        if (!(dense ? computes_on_cpu(*handle, name) : handle->hasKernelForDispatchKey(computes))) continue;
        bool as_it_is = key == c10::DispatchKey::NestedTensorCUDA && !NESTED_OF_CPU.count(name);
        library->second->impl(
            name.c_str(),
            as_it_is ? torch::CppFunction::makeFromBoxedFunctor(std::make_unique<NestedKernel>())
                     : torch::CppFunction::makeFromBoxedFunctor(std::make_unique<CpuKernel>(*handle, computes)));
    }
}

} // namespace

void register_operators() {
    register_for(c10::DispatchKey::CUDA, c10::DispatchKey::CPU);
    register_for(c10::DispatchKey::SparseCUDA, c10::DispatchKey::SparseCPU);
    register_for(c10::DispatchKey::SparseCsrCUDA, c10::DispatchKey::SparseCsrCPU);
    register_for(c10::DispatchKey::NestedTensorCUDA, c10::DispatchKey::NestedTensorCPU);
}

} // namespace kpt_torch
