import torch


@torch.compile
def step(x):
    return x + 1


def capture(model, x):
    fast = torch.compile(model)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        out = fast(step(x))
    return graph, out
