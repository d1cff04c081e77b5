"""torch.compile: Inductor's kernels for the emulated GPU, forward and backward."""

import torch


def test_a_compiled_model_gives_what_eager_gives():
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(32, 64), torch.nn.GELU(), torch.nn.LayerNorm(64)).cuda()
    x = torch.randn(8, 32, device="cuda")
    wanted = torch.autograd.grad(model(x).square().sum(), tuple(model.parameters()))
    found = torch.autograd.grad(torch.compile(model)(x).square().sum(), tuple(model.parameters()))
    for mine, theirs in zip(found, wanted, strict=True):
        torch.testing.assert_close(mine, theirs, atol=1e-4, rtol=1e-4)


def test_a_model_compiled_into_graphs_trains():
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(16, 16), torch.nn.GELU()).cuda()
    compiled = torch.compile(model, mode="reduce-overhead")
    for _ in range(4):  # the first two warm up and record
        x = torch.randn(4, 16, device="cuda")
        wanted = torch.autograd.grad(model(x).square().sum(), tuple(model.parameters()))
        found = torch.autograd.grad(compiled(x).square().sum(), tuple(model.parameters()))
        for mine, theirs in zip(found, wanted, strict=True):
            torch.testing.assert_close(mine, theirs, atol=1e-4, rtol=1e-4)


def test_of_many_kernels_for_a_product_one_is_run(monkeypatch):
    from torch._inductor.select_algorithm import AlgorithmSelectorCache, TritonTemplateCaller
    from torch._inductor.utils import fresh_cache

    timed, plain = [], AlgorithmSelectorCache.benchmark_choice.__func__

    def noted(cls, choice, *rest, **named):
        timed.append(choice)
        return plain(cls, choice, *rest, **named)

    monkeypatch.setattr(AlgorithmSelectorCache, "benchmark_choice", classmethod(noted))
    x = torch.randn(64, 64, device="cuda")
    with fresh_cache():  # nobody has chosen before
        found = torch.compile(lambda a: torch.relu(a @ a), mode="max-autotune-no-cudagraphs")(x)
    torch.testing.assert_close(found, torch.relu(x @ x), atol=1e-3, rtol=1e-3)
    assert len(timed) == 1 and isinstance(timed[0], TritonTemplateCaller)
