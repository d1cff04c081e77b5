import torch


def capture(model, x):
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        state = torch.cuda.get_rng_state()
        out = model(x)
        total = out.sum().item()
        torch.cuda.synchronize()
    return graph, out, total, state


def noise(x):
    seed = torch.initial_seed()
    return x + seed


def begin_and_end(graph, x):
    graph.capture_begin()
    y = noise(x)
    z = y.tolist()
    graph.capture_end()
    return z


generator = torch.Generator("cuda")


def record(run):
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        out = run()
        state = generator.get_state()
        other = torch.cuda.default_generators[0].initial_seed()
    return graph, out, state, other


def make(x):
    return record(lambda: x.sum().cpu())


class Net(torch.nn.Module):
    def forward(self, x):
        return x * x.max().item()


def whole_model(x):
    net = Net()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        return net(x)
