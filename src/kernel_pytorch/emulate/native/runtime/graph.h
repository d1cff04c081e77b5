#ifndef KPT_GRAPH_H
#define KPT_GRAPH_H

#include <memory>
#include <vector>

#include "operation.h"

struct hipGraphNode {
    hipGraph_t graph = nullptr;
    uint64_t id = 0;
    kpt::Operation operation;
    std::vector<hipGraphNode *> dependencies;
    hipGraphNode *original = nullptr; /* the node this is a copy of */
    bool enabled = true;
};

struct ihipGraph {
    std::vector<std::unique_ptr<hipGraphNode>> nodes;
};

struct hipGraphExec {
    hipGraph_t graph = nullptr; /* a copy of its own */
    unsigned long long flags = 0;
};

namespace kpt {

hipGraphNode *add_node(hipGraph_t graph, const std::vector<hipGraphNode *> &dependencies, Operation &&operation);
hipGraph_t clone_graph(hipGraph_t graph);
void delete_graph(hipGraph_t graph);
/* The nodes, each after those it depends on; false when they form a circle. */
bool in_order(hipGraph_t graph, std::vector<hipGraphNode *> &out);

} // namespace kpt
#endif
