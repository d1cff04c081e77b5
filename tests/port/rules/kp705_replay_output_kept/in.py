import torch


def run(model, inputs):
    x = inputs[0].clone()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        out = model(x)
    results = []
    last = {}
    for new in inputs:
        x.copy_(new)
        graph.replay()
        results.append(out)
        last["out"] = out
    return results, last


class Runner:
    def __init__(self, model, x):
        self.graph = torch.cuda.CUDAGraph()
        self.x = x
        self.graph.capture_begin()
        self.out = model(x)
        self.graph.capture_end()

    def step(self, new):
        self.x.copy_(new)
        self.graph.replay()
        return self.out

    def all(self, inputs):
        return [self.step(new) for new in inputs]

    def stream(self, inputs):
        for new in inputs:
            y = self.step(new)
            yield y
