import torch


def run(model, inputs):
    x = inputs[0].clone()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        out = model(x)
    first = [out]
    results = []
    every = torch.empty(len(inputs), *out.shape)
    for at, new in enumerate(inputs):
        x.copy_(new)
        graph.replay()
        results.append(out.clone())
        every[at] = out
        print(out)
    return results, first, every


def once(graph, model, x):
    with torch.cuda.graph(graph):
        out = model(x)
    graph.replay()
    return out
