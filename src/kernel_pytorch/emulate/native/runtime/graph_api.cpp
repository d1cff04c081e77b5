/* Graphs: building, copying, running. */
#include <algorithm>
#include <cstdio>

#include "errors.h"
#include "graph.h"
#include "pending.h"
#include "stream.h"

namespace kpt {
namespace {

template <class T>
hipError_t list(const std::vector<T> &all, T *out, size_t *count) {
    if (!count) return hipErrorInvalidValue;
    if (out) {
        for (size_t i = 0; i < *count; i++) out[i] = i < all.size() ? all[i] : nullptr;
        *count = std::min(*count, all.size());
    } else {
        *count = all.size();
    }
    return hipSuccess;
}

hipGraphNode *twin(hipGraph_t graph, hipGraphNode *node) {
    for (auto &candidate : graph->nodes)
        if (candidate->original == node) return candidate.get();
    return nullptr;
}

hipError_t instantiate(hipGraphExec_t *out, hipGraph_t graph, unsigned long long flags) {
    if (!out || !graph) return hipErrorInvalidValue;
    std::vector<hipGraphNode *> order;
    if (!in_order(graph, order)) return hipErrorInvalidValue;
    auto *made = new hipGraphExec;
    made->graph = clone_graph(graph);
    made->flags = flags;
    *out = made;
    return hipSuccess;
}

const char *type_name(hipGraphNodeType type) {
    static const char *names[] = {"kernel", "memcpy", "memset", "host", "graph", "empty", "wait event", "record event"};
    return type <= hipGraphNodeTypeEventRecord ? names[type] : type == hipGraphNodeTypeMemAlloc ? "allocate" : "free";
}

} // namespace

hipGraphNode *exec_node(hipGraphExec_t exec, hipGraphNode *node) {
    return exec && node ? twin(exec->graph, node) : nullptr;
}

} // namespace kpt

using namespace kpt;

KPT_API hipError_t hipGraphCreate(hipGraph_t *graph, unsigned flags) {
    KPT_ENTER();
    if (!graph || flags) return done(hipErrorInvalidValue);
    *graph = new ihipGraph;
    return done(hipSuccess);
}
KPT_API hipError_t hipGraphDestroy(hipGraph_t graph) {
    KPT_ENTER();
    if (!graph) return done(hipErrorInvalidValue);
    delete_graph(graph);
    return done(hipSuccess);
}
KPT_API hipError_t hipGraphAddDependencies(hipGraph_t graph, const hipGraphNode_t *from, const hipGraphNode_t *to,
                                           size_t count) {
    KPT_ENTER();
    if (!graph || (count && (!from || !to))) return done(hipErrorInvalidValue);
    for (size_t i = 0; i < count; i++) {
        if (!from[i] || !to[i] || from[i] == to[i] || from[i]->graph != graph || to[i]->graph != graph)
            return done(hipErrorInvalidValue);
        auto &before = to[i]->dependencies;
        if (std::find(before.begin(), before.end(), from[i]) != before.end()) return done(hipErrorInvalidValue);
        before.push_back(from[i]);
    }
    return done(hipSuccess);
}
KPT_API hipError_t hipGraphRemoveDependencies(hipGraph_t graph, const hipGraphNode_t *from, const hipGraphNode_t *to,
                                              size_t count) {
    KPT_ENTER();
    if (!graph || (count && (!from || !to))) return done(hipErrorInvalidValue);
    for (size_t i = 0; i < count; i++) {
        if (!from[i] || !to[i]) return done(hipErrorInvalidValue);
        auto &before = to[i]->dependencies;
        auto at = std::find(before.begin(), before.end(), from[i]);
        if (at == before.end()) return done(hipErrorInvalidValue);
        before.erase(at);
    }
    return done(hipSuccess);
}
KPT_API hipError_t hipGraphGetEdges(hipGraph_t graph, hipGraphNode_t *from, hipGraphNode_t *to, size_t *count) {
    KPT_ENTER();
    if (!graph || !count || (from == nullptr) != (to == nullptr)) return done(hipErrorInvalidValue);
    std::vector<hipGraphNode_t> first, second;
    for (auto &node : graph->nodes)
        for (hipGraphNode *before : node->dependencies) first.push_back(before), second.push_back(node.get());
    size_t same = *count;
    list(first, from, count);
    return done(from ? list(second, to, &same) : hipSuccess);
}
KPT_API hipError_t hipGraphGetNodes(hipGraph_t graph, hipGraphNode_t *nodes, size_t *count) {
    KPT_ENTER();
    if (!graph) return done(hipErrorInvalidValue);
    std::vector<hipGraphNode_t> all;
    for (auto &node : graph->nodes) all.push_back(node.get());
    return done(list(all, nodes, count));
}
KPT_API hipError_t hipGraphGetRootNodes(hipGraph_t graph, hipGraphNode_t *nodes, size_t *count) {
    KPT_ENTER();
    if (!graph) return done(hipErrorInvalidValue);
    std::vector<hipGraphNode_t> roots;
    for (auto &node : graph->nodes)
        if (node->dependencies.empty()) roots.push_back(node.get());
    return done(list(roots, nodes, count));
}
KPT_API hipError_t hipGraphNodeGetDependencies(hipGraphNode_t node, hipGraphNode_t *nodes, size_t *count) {
    KPT_ENTER();
    if (!node) return done(hipErrorInvalidValue);
    return done(list(node->dependencies, nodes, count));
}
KPT_API hipError_t hipGraphNodeGetDependentNodes(hipGraphNode_t node, hipGraphNode_t *nodes, size_t *count) {
    KPT_ENTER();
    if (!node) return done(hipErrorInvalidValue);
    std::vector<hipGraphNode_t> after;
    for (auto &other : node->graph->nodes)
        if (std::find(other->dependencies.begin(), other->dependencies.end(), node) != other->dependencies.end())
            after.push_back(other.get());
    return done(list(after, nodes, count));
}
KPT_API hipError_t hipGraphNodeGetType(hipGraphNode_t node, hipGraphNodeType *type) {
    KPT_ENTER();
    if (!node || !type) return done(hipErrorInvalidValue);
    *type = node->operation.type;
    return done(hipSuccess);
}
KPT_API hipError_t hipGraphDestroyNode(hipGraphNode_t node) {
    KPT_ENTER();
    if (!node) return done(hipErrorInvalidValue);
    auto &all = node->graph->nodes;
    for (auto &other : all) {
        auto &before = other->dependencies;
        before.erase(std::remove(before.begin(), before.end(), node), before.end());
    }
    all.erase(std::remove_if(all.begin(), all.end(), [node](auto &one) { return one.get() == node; }), all.end());
    return done(hipSuccess);
}
KPT_API hipError_t hipGraphClone(hipGraph_t *copy, hipGraph_t graph) {
    KPT_ENTER();
    if (!copy || !graph) return done(hipErrorInvalidValue);
    *copy = clone_graph(graph);
    return done(hipSuccess);
}
KPT_API hipError_t hipGraphNodeFindInClone(hipGraphNode_t *out, hipGraphNode_t node, hipGraph_t graph) {
    KPT_ENTER();
    if (!out || !node || !graph) return done(hipErrorInvalidValue);
    *out = twin(graph, node);
    return done(*out ? hipSuccess : hipErrorInvalidValue);
}

KPT_API hipError_t hipGraphInstantiateWithFlags(hipGraphExec_t *exec, hipGraph_t graph, unsigned long long flags) {
    KPT_ENTER();
    return done(instantiate(exec, graph, flags));
}
KPT_API hipError_t hipGraphInstantiate(hipGraphExec_t *exec, hipGraph_t graph, hipGraphNode_t *, char *, size_t) {
    return hipGraphInstantiateWithFlags(exec, graph, 0);
}
KPT_API hipError_t hipGraphInstantiateWithParams(hipGraphExec_t *exec, hipGraph_t graph, void *parameters) {
    KPT_ENTER();
    struct Parameters {
        hipGraphNode_t node;
        unsigned long long flags;
        int result;
        hipStream_t stream;
    };
    auto *p = static_cast<Parameters *>(parameters);
    if (!p) return done(hipErrorInvalidValue);
    hipError_t error = instantiate(exec, graph, p->flags);
    p->node = nullptr;
    p->result = error == hipSuccess ? 0 : 2;
    return done(error);
}
KPT_API hipError_t hipGraphLaunch(hipGraphExec_t exec, hipStream_t handle) {
    KPT_ENTER();
    ihipStream_t *stream = resolve(handle);
    if (!exec || !stream) return done(hipErrorInvalidValue);
    if (stream->capture) {
        Operation operation;
        operation.type = hipGraphNodeTypeGraph;
        operation.child = clone_graph(exec->graph);
        return done(submit(handle, std::move(operation)));
    }
    WorkOfStream work(stream, self().device, "a graph");
    return done(give_graph(stream, self().device, exec->graph));
}
KPT_API hipError_t hipGraphUpload(hipGraphExec_t exec, hipStream_t stream) {
    KPT_ENTER();
    return done(exec && resolve(stream) ? hipSuccess : hipErrorInvalidValue);
}
KPT_API hipError_t hipGraphExecDestroy(hipGraphExec_t exec) {
    KPT_ENTER();
    if (!exec) return done(hipErrorInvalidValue);
    delete_graph(exec->graph);
    delete exec;
    return done(hipSuccess);
}
KPT_API hipError_t hipGraphExecGetFlags(hipGraphExec_t exec, unsigned long long *flags) {
    KPT_ENTER();
    if (!exec || !flags) return done(hipErrorInvalidValue);
    *flags = exec->flags;
    return done(hipSuccess);
}
KPT_API hipError_t hipGraphNodeSetEnabled(hipGraphExec_t exec, hipGraphNode_t node, unsigned enabled) {
    KPT_ENTER();
    hipGraphNode *mine = exec_node(exec, node);
    if (!mine) return done(hipErrorInvalidValue);
    mine->enabled = enabled != 0;
    return done(hipSuccess);
}
KPT_API hipError_t hipGraphNodeGetEnabled(hipGraphExec_t exec, hipGraphNode_t node, unsigned *enabled) {
    KPT_ENTER();
    hipGraphNode *mine = exec_node(exec, node);
    if (!mine || !enabled) return done(hipErrorInvalidValue);
    *enabled = mine->enabled;
    return done(hipSuccess);
}

/* Takes over the parameters of a graph of the same shape. */
KPT_API hipError_t hipGraphExecUpdate(hipGraphExec_t exec, hipGraph_t graph, hipGraphNode_t *bad, int *result) {
    KPT_ENTER();
    enum { SUCCESS = 0, TOPOLOGY = 2, TYPE = 3 };
    if (!exec || !graph || !result) return done(hipErrorInvalidValue);
    if (bad) *bad = nullptr;
    std::vector<hipGraphNode *> mine, theirs;
    in_order(exec->graph, mine);
    in_order(graph, theirs);
    *result = mine.size() == theirs.size() ? SUCCESS : TOPOLOGY;
    for (size_t i = 0; *result == SUCCESS && i < mine.size(); i++) {
        if (mine[i]->operation.type != theirs[i]->operation.type)
            *result = TYPE;
        else if (mine[i]->dependencies.size() != theirs[i]->dependencies.size())
            *result = TOPOLOGY;
        if (*result != SUCCESS && bad) *bad = theirs[i];
    }
    if (*result != SUCCESS) return done(hipErrorGraphExecUpdateFailure);
    for (size_t i = 0; i < mine.size(); i++) {
        if (mine[i]->operation.type == hipGraphNodeTypeGraph) {
            delete_graph(mine[i]->operation.child);
            mine[i]->operation.child = clone_graph(theirs[i]->operation.child);
        } else {
            mine[i]->operation = theirs[i]->operation;
        }
    }
    return done(hipSuccess);
}

KPT_API hipError_t hipGraphDebugDotPrint(hipGraph_t graph, const char *path, unsigned) {
    KPT_ENTER();
    if (!graph || !path) return done(hipErrorInvalidValue);
    FILE *file = fopen(path, "w");
    if (!file) return done(hipErrorOperatingSystem);
    fputs("digraph graph_1 {\n", file);
    for (auto &node : graph->nodes) {
        const LaunchRequest &launch = node->operation.launch;
        const char *label = node->operation.type == hipGraphNodeTypeKernel && launch.function
                                ? launch.function->name.c_str()
                                : type_name(node->operation.type);
        fprintf(file, "  n%llu [label=\"%s\"];\n", (unsigned long long)node->id, label);
        for (hipGraphNode *before : node->dependencies)
            fprintf(file, "  n%llu -> n%llu;\n", (unsigned long long)before->id, (unsigned long long)node->id);
    }
    fputs("}\n", file);
    fclose(file);
    return done(hipSuccess);
}
