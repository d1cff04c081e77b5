/* The nodes of graphs and their parameters. Set functions come in two forms: for a graph, and for one that has been
 * made executable, whose copy of the node is changed. */
#include <cstring>

#include "array.h"
#include "errors.h"
#include "graph.h"
#include "memory.h"
#include "module.h"

namespace kpt {

hipGraphNode *exec_node(hipGraphExec_t exec, hipGraphNode *node);

namespace {

hipError_t add(hipGraphNode_t *out, hipGraph_t graph, const hipGraphNode_t *dependencies, size_t count,
               Operation &&operation) {
    if (!out || !graph || (count && !dependencies)) return hipErrorInvalidValue;
    for (size_t i = 0; i < count; i++)
        if (!dependencies[i] || dependencies[i]->graph != graph) return hipErrorInvalidValue;
    *out = add_node(graph, {dependencies, dependencies + count}, std::move(operation));
    return hipSuccess;
}

hipError_t kernel_operation(const hipKernelNodeParams *p, Operation &out) {
    if (!p || !p->func) return hipErrorInvalidValue;
    hipError_t error;
    hipFunction_t function = registered_function(p->func, error);
    /* hipModule functions are given as handles. */
    if (!function && error == hipErrorInvalidDeviceFunction) function = static_cast<hipFunction_t>(p->func);
    if (!function) return error;
    out = {};
    out.type = hipGraphNodeTypeKernel;
    out.shown = *p;
    error = prepare_launch(function, p->gridDim, p->blockDim, p->sharedMemBytes, p->kernelParams, p->extra, false,
                           out.launch);
    return error;
}

/* Points the parameters at the node's own copies of the arguments. */
void show_kernel(hipGraphNode &node, hipKernelNodeParams &out) {
    Operation &o = node.operation;
    const KptKernel &kernel = *o.launch.function->kernel;
    o.values.clear();
    o.pointers.clear();
    for (uint32_t i = 0; i < kernel.arg_count; i++) {
        const KptArg &a = kernel.args[i];
        if (strncmp(a.kind, "hidden_", 7) == 0) continue;
        auto *from = o.launch.arguments.data() + a.offset;
        o.values.emplace_back(from, from + a.bytes);
    }
    for (auto &value : o.values) o.pointers.push_back(value.data());
    out = o.shown;
    out.kernelParams = o.pointers.data();
    out.extra = nullptr;
}

hipError_t set_operation(const hipMemsetParams *p, Operation &out) {
    if (!p || !p->dst || (p->elementSize != 1 && p->elementSize != 2 && p->elementSize != 4))
        return hipErrorInvalidValue;
    out = {};
    out.type = hipGraphNodeTypeMemset;
    uint64_t row = p->width * p->elementSize;
    out.set = {{uint64_t(p->dst), p->height > 1 ? p->pitch : row, 0},
               p->value,
               p->elementSize,
               p->width,
               p->height ? p->height : 1,
               1};
    return hipSuccess;
}

hipError_t symbol_operation(const void *symbol, void *other, size_t bytes, size_t offset, bool to_symbol,
                            hipMemcpyKind kind, Operation &out) {
    void *address = nullptr;
    size_t size = 0;
    if (hipError_t error = registered_variable(symbol, &address, &size); error != hipSuccess) return error;
    if (!other || offset > size || bytes > size - offset) return hipErrorInvalidValue;
    void *inside = static_cast<char *>(address) + offset;
    out = to_symbol ? copy_operation(inside, other, bytes, kind) : copy_operation(other, inside, bytes, kind);
    return hipSuccess;
}

hipError_t host_operation(const hipHostNodeParams *p, Operation &out) {
    if (!p || !p->fn) return hipErrorInvalidValue;
    out = {};
    out.type = hipGraphNodeTypeHost;
    out.host = *p;
    return hipSuccess;
}

hipError_t replace(hipGraphNode *node, hipGraphNodeType type, hipError_t made, Operation &&operation) {
    if (!node || node->operation.type != type) return hipErrorInvalidValue;
    if (made == hipSuccess) node->operation = std::move(operation);
    return made;
}

Operation event_operation(hipGraphNodeType type, hipEvent_t event) {
    Operation operation;
    operation.type = type;
    operation.event = event;
    return operation;
}

} // namespace
} // namespace kpt

using namespace kpt;

#define KPT_ADD hipGraphNode_t *out, hipGraph_t graph, const hipGraphNode_t *before, size_t count

/* Add, set in a graph and set in an executable graph, for one way of making an operation. */
#define KPT_NODE(add_name, set_name, exec_name, node_type, maker, arguments, ...)                                      \
    KPT_API hipError_t add_name(KPT_ADD, arguments) {                                                                  \
        KPT_ENTER();                                                                                                   \
        Operation operation;                                                                                           \
        if (hipError_t error = maker(__VA_ARGS__, operation); error != hipSuccess) return done(error);                 \
        return done(add(out, graph, before, count, std::move(operation)));                                             \
    }                                                                                                                  \
    KPT_API hipError_t set_name(hipGraphNode_t node, arguments) {                                                      \
        KPT_ENTER();                                                                                                   \
        Operation operation;                                                                                           \
        hipError_t made = maker(__VA_ARGS__, operation);                                                               \
        return done(replace(node, node_type, made, std::move(operation)));                                             \
    }                                                                                                                  \
    KPT_API hipError_t exec_name(hipGraphExec_t exec, hipGraphNode_t node, arguments) {                                \
        KPT_ENTER();                                                                                                   \
        Operation operation;                                                                                           \
        hipError_t made = maker(__VA_ARGS__, operation);                                                               \
        return done(replace(exec_node(exec, node), node_type, made, std::move(operation)));                            \
    }
#define KPT_LIST(...) __VA_ARGS__

static hipError_t copy3d(const hipMemcpy3DParms *p, Operation &out) {
    return p ? copy3d_operation(*p, out) : hipErrorInvalidValue;
}
static hipError_t copy1d(void *to, const void *from, size_t bytes, hipMemcpyKind kind, Operation &out) {
    if (!to || !from) return hipErrorInvalidValue;
    out = copy_operation(to, from, bytes, kind);
    return hipSuccess;
}
static hipError_t from_symbol(void *to, const void *symbol, size_t bytes, size_t offset, hipMemcpyKind kind,
                              Operation &out) {
    return symbol_operation(symbol, to, bytes, offset, false, kind, out);
}
static hipError_t to_symbol(const void *symbol, const void *from, size_t bytes, size_t offset, hipMemcpyKind kind,
                            Operation &out) {
    return symbol_operation(symbol, const_cast<void *>(from), bytes, offset, true, kind, out);
}

KPT_NODE(hipGraphAddKernelNode, hipGraphKernelNodeSetParams, hipGraphExecKernelNodeSetParams, hipGraphNodeTypeKernel,
         kernel_operation, const hipKernelNodeParams *p, p)
KPT_NODE(hipGraphAddMemcpyNode, hipGraphMemcpyNodeSetParams, hipGraphExecMemcpyNodeSetParams, hipGraphNodeTypeMemcpy,
         copy3d, const hipMemcpy3DParms *p, p)
KPT_NODE(hipGraphAddMemcpyNode1D, hipGraphMemcpyNodeSetParams1D, hipGraphExecMemcpyNodeSetParams1D,
         hipGraphNodeTypeMemcpy, copy1d, KPT_LIST(void *to, const void *from, size_t bytes, hipMemcpyKind kind), to,
         from, bytes, kind)
KPT_NODE(hipGraphAddMemcpyNodeFromSymbol, hipGraphMemcpyNodeSetParamsFromSymbol,
         hipGraphExecMemcpyNodeSetParamsFromSymbol, hipGraphNodeTypeMemcpy, from_symbol,
         KPT_LIST(void *to, const void *symbol, size_t bytes, size_t offset, hipMemcpyKind kind), to, symbol, bytes,
         offset, kind)
KPT_NODE(hipGraphAddMemcpyNodeToSymbol, hipGraphMemcpyNodeSetParamsToSymbol, hipGraphExecMemcpyNodeSetParamsToSymbol,
         hipGraphNodeTypeMemcpy, to_symbol,
         KPT_LIST(const void *symbol, const void *from, size_t bytes, size_t offset, hipMemcpyKind kind), symbol, from,
         bytes, offset, kind)
KPT_NODE(hipGraphAddMemsetNode, hipGraphMemsetNodeSetParams, hipGraphExecMemsetNodeSetParams, hipGraphNodeTypeMemset,
         set_operation, const hipMemsetParams *p, p)
KPT_NODE(hipGraphAddHostNode, hipGraphHostNodeSetParams, hipGraphExecHostNodeSetParams, hipGraphNodeTypeHost,
         host_operation, const hipHostNodeParams *p, p)

KPT_API hipError_t hipGraphKernelNodeGetParams(hipGraphNode_t node, hipKernelNodeParams *out) {
    KPT_ENTER();
    if (!node || !out || node->operation.type != hipGraphNodeTypeKernel) return done(hipErrorInvalidValue);
    show_kernel(*node, *out);
    return done(hipSuccess);
}
KPT_API hipError_t hipGraphMemcpyNodeGetParams(hipGraphNode_t node, hipMemcpy3DParms *out) {
    KPT_ENTER();
    if (!node || !out || node->operation.type != hipGraphNodeTypeMemcpy) return done(hipErrorInvalidValue);
    *out = node->operation.copy.shown;
    return done(hipSuccess);
}
KPT_API hipError_t hipGraphMemsetNodeGetParams(hipGraphNode_t node, hipMemsetParams *out) {
    KPT_ENTER();
    if (!node || !out || node->operation.type != hipGraphNodeTypeMemset) return done(hipErrorInvalidValue);
    const Set &s = node->operation.set;
    *out = {reinterpret_cast<void *>(s.to.at), s.element, s.height, s.to.pitch, s.value, s.width};
    return done(hipSuccess);
}
KPT_API hipError_t hipGraphHostNodeGetParams(hipGraphNode_t node, hipHostNodeParams *out) {
    KPT_ENTER();
    if (!node || !out || node->operation.type != hipGraphNodeTypeHost) return done(hipErrorInvalidValue);
    *out = node->operation.host;
    return done(hipSuccess);
}

KPT_API hipError_t hipGraphAddEmptyNode(KPT_ADD) {
    KPT_ENTER();
    return done(add(out, graph, before, count, {}));
}
KPT_API hipError_t hipGraphAddChildGraphNode(KPT_ADD, hipGraph_t child) {
    KPT_ENTER();
    if (!child || child == graph) return done(hipErrorInvalidValue);
    Operation operation;
    operation.type = hipGraphNodeTypeGraph;
    operation.child = clone_graph(child);
    return done(add(out, graph, before, count, std::move(operation)));
}
KPT_API hipError_t hipGraphChildGraphNodeGetGraph(hipGraphNode_t node, hipGraph_t *child) {
    KPT_ENTER();
    if (!node || !child || node->operation.type != hipGraphNodeTypeGraph) return done(hipErrorInvalidValue);
    *child = node->operation.child;
    return done(hipSuccess);
}
KPT_API hipError_t hipGraphExecChildGraphNodeSetParams(hipGraphExec_t exec, hipGraphNode_t node, hipGraph_t child) {
    KPT_ENTER();
    hipGraphNode *mine = exec_node(exec, node);
    if (!mine || !child || mine->operation.type != hipGraphNodeTypeGraph) return done(hipErrorInvalidValue);
    delete_graph(mine->operation.child);
    mine->operation.child = clone_graph(child);
    return done(hipSuccess);
}

#define KPT_EVENT_NODE(word, node_type)                                                                                \
    KPT_API hipError_t hipGraphAddEvent##word##Node(KPT_ADD, hipEvent_t event) {                                       \
        KPT_ENTER();                                                                                                   \
        if (!event) return done(hipErrorInvalidValue);                                                                 \
        return done(add(out, graph, before, count, event_operation(node_type, event)));                                \
    }                                                                                                                  \
    KPT_API hipError_t hipGraphEvent##word##NodeGetEvent(hipGraphNode_t node, hipEvent_t *event) {                     \
        KPT_ENTER();                                                                                                   \
        if (!node || !event || node->operation.type != node_type) return done(hipErrorInvalidValue);                   \
        *event = node->operation.event;                                                                                \
        return done(hipSuccess);                                                                                       \
    }                                                                                                                  \
    KPT_API hipError_t hipGraphEvent##word##NodeSetEvent(hipGraphNode_t node, hipEvent_t event) {                      \
        KPT_ENTER();                                                                                                   \
        return done(                                                                                                   \
            replace(node, node_type, event ? hipSuccess : hipErrorInvalidValue, event_operation(node_type, event)));   \
    }                                                                                                                  \
    KPT_API hipError_t hipGraphExecEvent##word##NodeSetEvent(hipGraphExec_t exec, hipGraphNode_t node,                 \
                                                             hipEvent_t event) {                                       \
        KPT_ENTER();                                                                                                   \
        return done(replace(exec_node(exec, node), node_type, event ? hipSuccess : hipErrorInvalidValue,               \
                            event_operation(node_type, event)));                                                       \
    }
KPT_EVENT_NODE(Record, hipGraphNodeTypeEventRecord)
KPT_EVENT_NODE(Wait, hipGraphNodeTypeWaitEvent)

KPT_API hipError_t hipGraphAddMemAllocNode(KPT_ADD, hipMemAllocNodeParams *p) {
    KPT_ENTER();
    if (!p || !p->bytesize) return done(hipErrorInvalidValue);
    hipError_t error;
    Allocation *memory = allocate(Kind::device, p->bytesize, self().device, 0, error);
    if (!memory) return done(error);
    memory->of_graph = true;
    p->dptr = reinterpret_cast<void *>(memory->base);
    Operation operation;
    operation.type = hipGraphNodeTypeMemAlloc;
    operation.memory = *p;
    return done(add(out, graph, before, count, std::move(operation)));
}
KPT_API hipError_t hipGraphMemAllocNodeGetParams(hipGraphNode_t node, hipMemAllocNodeParams *out) {
    KPT_ENTER();
    if (!node || !out || node->operation.type != hipGraphNodeTypeMemAlloc) return done(hipErrorInvalidValue);
    *out = node->operation.memory;
    return done(hipSuccess);
}
KPT_API hipError_t hipGraphAddMemFreeNode(KPT_ADD, void *pointer) {
    KPT_ENTER();
    if (!pointer) return done(hipErrorInvalidValue);
    Operation operation;
    operation.type = hipGraphNodeTypeMemFree;
    operation.freed = pointer;
    return done(add(out, graph, before, count, std::move(operation)));
}
KPT_API hipError_t hipGraphMemFreeNodeGetParams(hipGraphNode_t node, void *out) {
    KPT_ENTER();
    if (!node || !out || node->operation.type != hipGraphNodeTypeMemFree) return done(hipErrorInvalidValue);
    memcpy(out, &node->operation.freed, sizeof(void *));
    return done(hipSuccess);
}
