#include "stream_uses.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "capture.h"
#include "device.h"
#include "hip.h"
#include "memory.h"
#include "nested.h"
#include "sparse.h"

namespace kpt_torch {
namespace {

using torch::jit::Stack;

constexpr size_t MOST_STRETCHES = 1 << 16;

/* The bytes of a tensor as stretches, from the innermost dimensions that lie one behind the other. Those of more than
 * MOST_STRETCHES are left out: nothing is said about such a tensor. */
std::vector<uint64_t> stretches_of(const at::Tensor &tensor) {
    std::vector<uint64_t> out;
    if (!tensor.has_storage() || !tensor.numel() || !tensor.storage().data()) return out;
    c10::SmallVector<std::pair<int64_t, int64_t>, 6> dims; /* stride, size */
    for (int64_t dim = 0; dim < tensor.dim(); dim++)
        if (tensor.size(dim) > 1 && tensor.stride(dim)) dims.push_back({tensor.stride(dim), tensor.size(dim)});
    std::sort(dims.begin(), dims.end());
    int64_t width = 1;
    size_t outer = 0;
    while (outer < dims.size() && dims[outer].first == width) width *= dims[outer++].second;
    size_t count = 1;
    for (size_t i = outer; i < dims.size(); i++) count *= size_t(dims[i].second);
    if (count > MOST_STRETCHES) return out;
    auto size = int64_t(tensor.itemsize());
    uint64_t base = uint64_t(tensor.storage().data()) + uint64_t(tensor.storage_offset() * size);
    for (size_t number = 0; number < count; number++) {
        uint64_t first = base, rest = number;
        for (size_t i = outer; i < dims.size(); i++) {
            first += rest % uint64_t(dims[i].second) * uint64_t(dims[i].first * size);
            rest /= uint64_t(dims[i].second);
        }
        out.push_back(first);
        out.push_back(first + uint64_t(width * size));
    }
    return out;
}

void touch(const at::Tensor &tensor, bool written) {
    if (is_sparse(tensor)) {
        for (const at::Tensor &part : parts_of(tensor)) touch(part, written);
        return;
    }
    std::vector<uint64_t> list = stretches_of(tensor.is_nested() ? buffer_of(tensor) : tensor);
    if (!list.empty()) kptOrderTouches(list.data(), list.size() / 2, written);
}

bool among(const at::Tensor &tensor, const Pairs &pairs) {
    for (const Pair &pair : pairs)
        if (tensor.has_storage() && pair.real.has_storage() &&
            tensor.storage().unsafeGetStorageImpl() == pair.real.storage().unsafeGetStorageImpl())
            return true;
    return false;
}

} // namespace

bool watches_streams() {
    static const bool watched = [] {
        const char *flags = std::getenv("KPT_EMULATE_FLAGS");
        return flags && std::strstr(flags, "races");
    }();
    return watched;
}

bool host_will_wait(const Operator &op, const Stack &stack) {
    if (capturing()) return false;
    bool mask = false, cpu = false, unpinned_written = false;
    int first_device = -1;
    size_t first = stack.size() - op.arguments;
    for (const Argument &argument : op.handled)
        each_tensor(stack[first + argument.place], [&](const at::Tensor &tensor) {
            if (tensor.is_cuda()) {
                mask |= tensor.scalar_type() == at::kBool || tensor.scalar_type() == at::kByte;
                int device = tensor.device().index();
                if (watches_streams() && first_device >= 0 && device != first_device)
                    kptOrderMeet(handle_of(current_stream(device)), device, handle_of(current_stream(first_device)),
                                 first_device);
                first_device = device;
            } else if (tensor.is_cpu()) {
                cpu = true;
                unpinned_written |= argument.written && tensor.has_storage() && !is_pinned(tensor.storage().data());
            }
        });
    if (op.cpu_indices) return mask; /* a mask becomes indices: their number has to be known */
    if (!op.any_device) return op.host_waits;
    bool async = op.non_blocking >= 0 && stack[first + size_t(op.non_blocking)].isBool() &&
                 stack[first + size_t(op.non_blocking)].toBool();
    return cpu && (!async || unpinned_written);
}

void note_uses(const Operator &op, const Pairs &pairs, const Stack &stack, int device, bool host_waits) {
    if (capturing()) return; /* it is used when the graph runs */
    HipStream stream = handle_of(current_stream(device));
    void *begun = kptOrderBegin(stream, device, op.name.c_str());
    for (const Pair &pair : pairs)
        if (pair.used) touch(pair.real, pair.written);
    for (size_t i = stack.size() - op.returns; i < stack.size(); i++)
        each_tensor(stack[i], [&](const at::Tensor &result) {
            if (result.is_cuda() && !among(result, pairs)) touch(result, true);
        });
    kptOrderEnd(begun);
    if (host_waits) kptOrderHostWaits(stream, device);
}

void note_result(const at::Tensor &tensor) {
    if (watches_streams() && tensor.is_cuda()) touch(tensor, true);
}

void note_taken(const Block &block) {
    if (block.pinned || capturing()) return;
    kptOrderAllocates(block.data, block.bytes, handle_of(current_stream(block.device)), block.device);
}

void note_put(const Block &block) { kptOrderFrees(block.data); }

void note_record_stream(const c10::DataPtr &data, c10::Stream stream) {
    Block *block = watches_streams() ? block_of(data) : nullptr;
    if (block) kptOrderRecords(block->data, handle_of(stream), stream.device_index());
}

void note_written(const at::Tensor &tensor) {
    if (is_sparse(tensor)) {
        for (const at::Tensor &part : parts_of(tensor)) note_written(part);
        return;
    }
    if (tensor.is_nested()) return note_written(buffer_of(tensor));
    if (!tensor.has_storage() || !tensor.numel()) return;
    int64_t first = tensor.storage_offset(), last = first, width = int64_t(tensor.itemsize());
    for (int64_t dim = 0; dim < tensor.dim(); dim++) last += (tensor.size(dim) - 1) * tensor.stride(dim);
    char *bytes = static_cast<char *>(const_cast<void *>(tensor.storage().data()));
    kptHostWrites(bytes + first * width, size_t((last - first + 1) * width), 1);
}

} // namespace kpt_torch
