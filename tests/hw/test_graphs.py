"""Graph capture on a real GPU of either vendor."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from examples.train import Transformer
from kernel_pytorch.backends.graph_recorder import GraphPool, RecordingFailed, shared_pool
from kernel_pytorch.backends.graphs import Buckets, GraphCaptureError, capture

pytestmark = pytest.mark.usefixtures("gpu")


def transformer() -> nn.Module:
    torch.manual_seed(0)
    return Transformer(256, 4, 64).cuda().bfloat16().eval()


def test_replays_equal_the_model_on_inputs_never_seen() -> None:
    model = transformer()
    fast = capture(model, torch.randint(64, (2, 64), device="cuda"), strict=True)
    with torch.no_grad():
        for rows in (2, 2, 3, 2):
            ids = torch.randint(64, (rows, 64), device="cuda")
            torch.testing.assert_close(fast(ids), model(ids), rtol=0, atol=0)
    assert fast.graphs == 2 and fast.plain_calls == 0


def test_a_compiled_model_is_captured() -> None:
    torch._dynamo.reset()
    model = transformer()
    compiled = torch.compile(model)
    ids = torch.randint(64, (2, 64), device="cuda")
    fast = capture(compiled, ids, strict=True)
    with torch.no_grad():
        torch.testing.assert_close(fast(ids), compiled(ids), rtol=0, atol=0)


def test_without_a_warm_up_compile_and_capture_do_not_go_together() -> None:
    """What the warm-up is for: Dynamo compiling during a recording. Afterwards everything works on."""
    torch._dynamo.reset()
    compiled = torch.compile(lambda x: nn.functional.dropout(x.sin() + 1, 0.5))
    x = torch.randn(64, device="cuda")
    pool = GraphPool("cuda:0")
    try:
        with torch.no_grad():
            pool.record(compiled, (x,), {}, 0)
    except RecordingFailed as error:
        assert "recompile" in str(error), error
    else:
        raise AssertionError("compiling during a recording went unnoticed")
    with torch.no_grad():
        fast = capture(compiled, x, pool=pool, strict=True)
        assert not torch.equal(fast(x), fast(x)), "dropout draws anew on every replay"


def test_random_numbers_follow_the_seed_as_without_a_graph() -> None:
    def noisy(x: torch.Tensor) -> torch.Tensor:
        return nn.functional.dropout(x, 0.5) + torch.rand_like(x)

    x = torch.ones(4096, device="cuda")
    with torch.no_grad():
        fast = capture(noisy, x, strict=True)
        torch.manual_seed(5)
        expected = [noisy(x) for _ in range(3)]
        torch.manual_seed(5)
        found = [fast(x) for _ in range(3)]
    assert fast.replays >= 3 and all(torch.equal(a, b) for a, b in zip(expected, found, strict=True))


def test_a_generator_of_ones_own() -> None:
    generator = torch.Generator("cuda").manual_seed(3)
    x = torch.ones(1024, device="cuda")

    def noisy(x: torch.Tensor) -> torch.Tensor:
        return x + torch.rand(x.shape, device=x.device, generator=generator)

    with torch.no_grad():
        fast = capture(noisy, x, pool=GraphPool("cuda:0", [generator]), strict=True)
        generator.manual_seed(9)
        expected = [noisy(x) for _ in range(2)]
        generator.manual_seed(9)
        found = [fast(x) for _ in range(2)]
    assert all(torch.equal(a, b) for a, b in zip(expected, found, strict=True))


def test_a_recording_that_breaks_off_leaves_the_gpu_usable() -> None:
    def waits(x: torch.Tensor) -> torch.Tensor:
        noise = torch.rand_like(x)
        return x * 2 if float((x + noise).sum()) > -1e9 else x

    x = torch.randn(128, device="cuda")
    with torch.no_grad():
        before = torch.cuda.current_stream()
        broken = capture(waits, x)
        assert broken.graphs == 0 and torch.equal(broken(x), x * 2), broken.reasons
        print("      reason:", next(iter(broken.reasons)))
        assert torch.cuda.current_stream() == before
        torch.manual_seed(1)
        first = torch.rand(8, device="cuda")
        torch.manual_seed(1)
        assert torch.equal(first, torch.rand(8, device="cuda")), "random numbers are drawn again"
        fine = capture(torch.sin, x, strict=True)
        assert torch.equal(fine(x), x.sin()) and fine.replays
        noisy = capture(lambda y: torch.rand_like(y) + y, x, strict=True)
        assert not torch.equal(noisy(x), noisy(x))
    try:
        with torch.no_grad():
            capture(waits, x, strict=True)
    except GraphCaptureError:
        pass
    else:
        raise AssertionError("a function that waits for the GPU was captured")


def test_weights_changed_after_recording_are_seen() -> None:
    model = transformer()
    ids = torch.randint(64, (2, 64), device="cuda")
    with torch.no_grad():
        fast = capture(model, ids, strict=True)
        model.head.weight.mul_(2)
        torch.testing.assert_close(fast(ids), model(ids), rtol=0, atol=0)
        model.head.weight.data = torch.randn_like(model.head.weight)
        torch.testing.assert_close(fast(ids), model(ids), rtol=0, atol=0)


def test_buckets() -> None:
    model = transformer()
    fast = capture(model, buckets=Buckets((4, 8)), strict=True)
    with torch.no_grad():
        for rows in (1, 3, 4, 5, 8, 2):
            ids = torch.randint(64, (rows, 64), device="cuda")
            torch.testing.assert_close(fast(ids), model(ids), rtol=2e-2, atol=1e-2)
    assert fast.graphs == 2


def test_graphs_share_their_memory() -> None:
    model = transformer()
    pool = shared_pool(torch.device("cuda:0"))

    def reserved(captured: int, own: bool) -> int:
        torch.cuda.empty_cache()
        start = torch.cuda.memory_reserved()
        kept = []
        for rows in range(256 + captured, 256, -1):  # the largest first: what it freed holds the smaller ones
            ids = torch.randint(64, (rows, 64), device="cuda")
            kept.append(capture(model, ids, pool=GraphPool("cuda:0") if own else pool, strict=True))
        torch.cuda.empty_cache()
        return torch.cuda.memory_reserved() - start

    apart, together = reserved(4, True), reserved(4, False)
    print(f"      four graphs: {apart / 2**20:.0f} MB with memory of their own, {together / 2**20:.0f} MB shared")
    assert together < apart


def test_streams_and_threads_take_turns() -> None:
    import threading

    model = transformer()
    ids = [torch.randint(64, (2, 64), device="cuda") for _ in range(4)]
    with torch.no_grad():
        expected = [model(item) for item in ids]
        fast = capture(model, ids[0], strict=True)
    wrong: list[int] = []

    def work(place: int) -> None:
        stream = torch.cuda.Stream()
        with torch.no_grad(), torch.cuda.stream(stream):
            for _ in range(25):
                result = fast(ids[place])
                stream.synchronize()
                if not torch.equal(result, expected[place]):
                    wrong.append(place)

    threads = [threading.Thread(target=work, args=(place,)) for place in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong, f"{len(wrong)} of 100 results are another thread's"
