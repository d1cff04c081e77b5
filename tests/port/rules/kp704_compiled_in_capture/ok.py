import torch


def capture(model, x):
    fast = torch.compile(model)
    fast(x)
    graph = torch.cuda.CUDAGraph()
    with torch.compiler.set_stance("fail_on_recompile"), torch.cuda.graph(graph):
        out = fast(x)
    plain = torch.cuda.CUDAGraph()
    with torch.cuda.graph(plain):
        second = model(x)
    return graph, out, second
