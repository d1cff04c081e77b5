"""Work on two streams. Where nothing orders it, the line ends with `# racy`; every other line is right."""

import torch

SIDE, OTHER = torch.cuda.Stream(), torch.cuda.Stream()
MAIN = torch.cuda.current_stream()


def reads_too_early() -> None:
    x = torch.ones(1000, device="cuda")
    with torch.cuda.stream(SIDE):
        y = x * 2  # racy
    torch.cuda.synchronize()
    del x, y


def result_is_taken_too_early() -> None:
    x = torch.ones(1000, device="cuda")
    SIDE.wait_stream(MAIN)
    with torch.cuda.stream(SIDE):
        y = x * 2
    y.add_(1)  # racy
    torch.cuda.synchronize()


def writes_what_is_still_read() -> None:
    x = torch.ones(1000, device="cuda")
    SIDE.wait_stream(MAIN)
    with torch.cuda.stream(SIDE):
        y = x.sum()
    x.zero_()  # racy
    torch.cuda.synchronize()
    del y


def waits_for_the_wrong_event() -> None:
    x = torch.ones(1000, device="cuda")
    event = MAIN.record_event()
    x.mul_(3)
    SIDE.wait_event(event)
    with torch.cuda.stream(SIDE):
        y = x + 1  # racy
    torch.cuda.synchronize()
    del y


def copies_without_waiting() -> None:
    pinned = torch.ones(1000).pin_memory()
    with torch.cuda.stream(SIDE):
        x = pinned.to("cuda", non_blocking=True)
    y = x + 1  # racy
    torch.cuda.synchronize()
    del x, y


def frees_what_another_stream_uses() -> None:
    x = torch.ones(1000, device="cuda")
    SIDE.wait_stream(MAIN)
    with torch.cuda.stream(SIDE):
        y = x * 2
    del x
    z = torch.empty(1000, device="cuda")  # racy
    torch.cuda.synchronize()
    del y, z


def replays_before_the_input_is_there(graph: torch.cuda.CUDAGraph, given: torch.Tensor) -> None:
    with torch.cuda.stream(SIDE):
        given.fill_(2)
    graph.replay()  # racy
    torch.cuda.synchronize()


def recorded() -> tuple[torch.cuda.CUDAGraph, torch.Tensor, torch.Tensor]:
    given = torch.zeros(100, device="cuda")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        result = given + 1
    return graph, given, result


def right(graph: torch.cuda.CUDAGraph, given: torch.Tensor, result: torch.Tensor) -> None:
    x = torch.ones(1000, device="cuda")
    SIDE.wait_stream(MAIN)
    with torch.cuda.stream(SIDE):
        y = x * 2
        x.record_stream(SIDE)
    del x
    z = torch.empty(1000, device="cuda")
    MAIN.wait_stream(SIDE)
    y.add_(z.zero_())  # waited for
    y.record_stream(MAIN)
    event = torch.cuda.Event()
    with torch.cuda.stream(SIDE):
        a = torch.full((1000,), 3.0, device="cuda")
        event.record()
    event.synchronize()
    b = a + 1  # the host waited, and gave this afterwards
    with torch.cuda.stream(OTHER):
        c = torch.rand(1000, device="cuda")
        OTHER.synchronize()
    d = c.sum()
    with torch.cuda.stream(SIDE):
        e = torch.rand(1000, device="cuda")
        e.max().item()  # the value was waited for, and so was what came before it
    f = e * 2
    halves = torch.zeros(10, 10, device="cuda")
    torch.cuda.synchronize()
    with torch.cuda.stream(SIDE):
        halves[:, :5].fill_(1)  # other columns than those below
    with torch.cuda.stream(OTHER):
        halves[:, 5:].fill_(2)
        views = halves.view(-1).t()  # no content is used
    torch.cuda.synchronize()
    with torch.cuda.stream(SIDE):
        weight = torch.ones(50, device="cuda", requires_grad=True)
        loss = (weight * 3).sum()
    MAIN.wait_stream(SIDE)
    loss.backward()
    assert weight.grad is not None
    weight.grad.mul_(2)  # torch orders the streams of a backward pass
    SIDE.wait_stream(MAIN)
    with torch.cuda.stream(SIDE):
        given.fill_(5)
    MAIN.wait_stream(SIDE)
    graph.replay()
    assert result.tolist() == [6.0] * 100
    batches = [torch.ones(100).pin_memory() for _ in range(3)]
    for batch in batches:  # a prefetcher
        with torch.cuda.stream(SIDE):
            on_gpu = batch.to("cuda", non_blocking=True)
        MAIN.wait_stream(SIDE)
        on_gpu.record_stream(MAIN)
        on_gpu.mul_(2)
    del b, d, f, views


if __name__ == "__main__":
    reads_too_early()
    result_is_taken_too_early()
    writes_what_is_still_read()
    waits_for_the_wrong_event()
    copies_without_waiting()
    frees_what_another_stream_uses()
    graph, given, result = recorded()
    replays_before_the_input_is_there(graph, given)
    right(graph, given, result)
