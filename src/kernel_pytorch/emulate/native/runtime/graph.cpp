#include "graph.h"

#include <algorithm>
#include <atomic>
#include <map>

namespace kpt {

static std::atomic<uint64_t> node_count{0};

hipGraphNode *add_node(hipGraph_t graph, const std::vector<hipGraphNode *> &dependencies, Operation &&operation) {
    auto node = std::make_unique<hipGraphNode>();
    node->graph = graph;
    node->id = ++node_count;
    node->operation = std::move(operation);
    node->dependencies = dependencies;
    graph->nodes.push_back(std::move(node));
    return graph->nodes.back().get();
}

hipGraph_t clone_graph(hipGraph_t graph) {
    auto *copy = new ihipGraph;
    std::map<hipGraphNode *, hipGraphNode *> twin;
    for (auto &node : graph->nodes) {
        Operation operation = node->operation;
        if (operation.type == hipGraphNodeTypeGraph) operation.child = clone_graph(operation.child);
        hipGraphNode *made = add_node(copy, {}, std::move(operation));
        made->original = node.get();
        made->enabled = node->enabled;
        twin[node.get()] = made;
    }
    for (auto &node : graph->nodes)
        for (hipGraphNode *before : node->dependencies) twin[node.get()]->dependencies.push_back(twin[before]);
    return copy;
}

void delete_graph(hipGraph_t graph) {
    for (auto &node : graph->nodes)
        if (node->operation.type == hipGraphNodeTypeGraph && node->operation.child) delete_graph(node->operation.child);
    delete graph;
}

bool in_order(hipGraph_t graph, std::vector<hipGraphNode *> &out) {
    std::map<hipGraphNode *, size_t> left;
    std::map<hipGraphNode *, std::vector<hipGraphNode *>> after;
    std::vector<hipGraphNode *> ready;
    for (auto &node : graph->nodes) {
        left[node.get()] = node->dependencies.size();
        for (hipGraphNode *before : node->dependencies) after[before].push_back(node.get());
        if (node->dependencies.empty()) ready.push_back(node.get());
    }
    for (size_t i = 0; i < ready.size(); i++) {
        out.push_back(ready[i]);
        for (hipGraphNode *next : after[ready[i]])
            if (--left[next] == 0) ready.push_back(next);
    }
    return out.size() == graph->nodes.size();
}

} // namespace kpt
