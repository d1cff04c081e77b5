import torch


def capture(model, x):
    state = torch.cuda.get_rng_state()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        out = model(x)
    torch.cuda.synchronize()
    return graph, out.cpu(), state
