#include "capture.h"

#include <c10/util/Exception.h>

#include <atomic>
#include <cstring>
#include <list>
#include <mutex>
#include <string>
#include <utility>

#include "device.h"
#include "memory.h"
#include "stream_uses.h"

namespace kpt_torch {

/* One operator of a graph. What it was called with and what it gave stay where they are as long as the graph does. */
struct Recorded {
    Operator *op;
    c10::OperatorHandle handle;
    torch::jit::Stack arguments, results;
    Compute compute;
    Graph *graph;
};

struct Graph {
    std::list<Recorded> operators;
    HipStream stream = nullptr;
    hipGraph *recorded = nullptr;
    hipGraphExec *ready = nullptr;
    std::string problem; /* of an operator that failed while the graph ran */
};

namespace {

std::atomic<Graph *> recording{nullptr};
std::mutex recorded_mutex;

/* The bytes of what an operator writes to. */
class Content {
public:
    Content(const Operator &op, const torch::jit::Stack &arguments) {
        for (const Argument &argument : op.handled) {
            if (!argument.written) continue;
            each_tensor(arguments[argument.place], [&](const at::Tensor &tensor) {
                if (!tensor.has_storage() || !tensor.storage().data()) return;
                const auto *bytes = static_cast<const char *>(tensor.storage().data());
                kept_.emplace_back(tensor, std::string(bytes, tensor.storage().nbytes()));
            });
        }
    }
    void put_back() {
        for (auto &[tensor, bytes] : kept_)
            if (tensor.storage().nbytes() == bytes.size())
                memcpy(const_cast<void *>(tensor.storage().data()), bytes.data(), bytes.size());
    }

private:
    std::vector<std::pair<at::Tensor, std::string>> kept_;
};

bool shares_memory(const at::Tensor &tensor, const torch::jit::Stack &values) {
    bool found = false;
    for (const c10::IValue &value : values)
        each_tensor(value, [&](const at::Tensor &one) {
            found |= one.has_storage() && tensor.has_storage() &&
                     one.storage().unsafeGetStorageImpl() == tensor.storage().unsafeGetStorageImpl();
        });
    return found;
}

void run_again(Recorded &recorded) {
    torch::jit::Stack stack = recorded.arguments;
    recorded.compute(*recorded.op, recorded.handle, stack);
    recorded.op->calls.fetch_add(1, std::memory_order_relaxed);
    std::vector<at::Tensor> before, after;
    for (const c10::IValue &value : recorded.results)
        each_tensor(value, [&](const at::Tensor &t) { before.push_back(t); });
    for (size_t i = stack.size() - recorded.op->returns; i < stack.size(); i++)
        each_tensor(stack[i], [&](const at::Tensor &t) { after.push_back(t); });
    for (size_t i = 0; i < std::min(before.size(), after.size()); i++) {
        if (before[i].is_same(after[i]) || shares_memory(before[i], recorded.arguments)) continue;
        TORCH_CHECK(before[i].sizes() == after[i].sizes(), recorded.op->name, " gave a tensor of shape ",
                    after[i].sizes(), " in a graph that was recorded with ", before[i].sizes());
        at::Tensor to = before[i].is_cuda() ? as_cpu(before[i]) : before[i];
        to.copy_(after[i].is_cuda() ? as_cpu(after[i]) : after[i]);
        note_result(before[i]);
    }
}

void run_node(void *data) {
    auto *recorded = static_cast<Recorded *>(data);
    if (!recorded->graph->problem.empty()) return;
    try {
        c10::InferenceMode inference;
        run_again(*recorded);
    } catch (const std::exception &error) {
        recorded->graph->problem = error.what();
    }
}

} // namespace

bool capturing() {
    if (C10_LIKELY(!recording.load(std::memory_order_relaxed))) return false;
    int status = 0;
    hipStreamIsCapturing(handle_of(current_stream(current_device())), &status);
    return status != 0;
}

void capture_operator(Operator &op, const c10::OperatorHandle &handle, torch::jit::Stack &stack, Compute compute) {
    TORCH_CHECK(op.name != "aten::_local_scalar_dense" && op.name != "aten::nonzero",
                "HIP error: operation not permitted when stream is capturing (", op.name,
                " needs a value of the GPU on the host)");
    torch::jit::Stack arguments(stack.end() - op.arguments, stack.end());
    Content content(op, arguments);
    compute(op, handle, stack);
    content.put_back();
    torch::jit::Stack results(stack.end() - op.returns, stack.end());
    Graph *graph = recording.load();
    std::lock_guard<std::mutex> lock(recorded_mutex);
    graph->operators.push_back({&op, handle, std::move(arguments), std::move(results), compute, graph});
    check_hip(hipLaunchHostFunc(handle_of(current_stream(current_device())), &run_node, &graph->operators.back()));
}

Graph *begin_capture(int device) {
    TORCH_CHECK(!recording.load(), "another graph is being captured in this process");
    constexpr int RELAXED = 2;
    auto *graph = new Graph;
    graph->stream = handle_of(current_stream(device));
    TORCH_CHECK(graph->stream, "CUDA graphs must be captured on a non-default stream. (However, after capture, it's ok "
                               "to replay them on the default stream.)");
    check_hip(hipStreamBeginCapture(graph->stream, RELAXED));
    recording.store(graph);
    return graph;
}

void end_capture(Graph *graph) {
    recording.store(nullptr);
    check_hip(hipStreamEndCapture(graph->stream, &graph->recorded));
    check_hip(hipGraphInstantiate(&graph->ready, graph->recorded, nullptr, nullptr, 0));
}

void replay(Graph *graph, int device) {
    graph->problem.clear();
    check_hip(hipGraphLaunch(graph->ready, handle_of(current_stream(device))));
    TORCH_CHECK(graph->problem.empty(), graph->problem);
}

void discard(Graph *graph) {
    if (recording.load() == graph) {
        recording.store(nullptr);
        hipStreamEndCapture(graph->stream, &graph->recorded);
    }
    if (graph->ready) hipGraphExecDestroy(graph->ready);
    if (graph->recorded) hipGraphDestroy(graph->recorded);
    delete graph;
}

} // namespace kpt_torch
