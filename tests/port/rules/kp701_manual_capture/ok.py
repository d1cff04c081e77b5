import torch

IS_ROCM = torch.version.hip is not None


def capture(model, x):
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        out = model(x)
    torch.testing.assert_close((graph.replay(), out.clone())[1], model(x))
    return graph, out


def nvidia_only(model, x):
    if not IS_ROCM:
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            model(x)


def stream(model, x):
    with torch.cuda.stream(torch.cuda.Stream()):
        return model(x)
