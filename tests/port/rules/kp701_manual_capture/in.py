import torch


def capture(model, x, pool):
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, pool=pool):
        out = model(
            x,
            last=1,
        ).logits

    def run(new):
        x.copy_(new)
        graph.replay()
        return out.clone()

    return run


def train(model, x, step):
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        loss = model(x).sum()
        loss.backward()
        step()
    return torch.cuda.make_graphed_callables(model, (x,)), graph
