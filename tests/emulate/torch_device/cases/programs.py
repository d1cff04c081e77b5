"""What programs ask of a GPU's torch beside computing: profilers, older types, debug modes, settings."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch
from torch.nn import functional
from torch.profiler import ProfilerActivity, profile


@pytest.fixture
def deterministic() -> Iterator[None]:
    torch.use_deterministic_algorithms(True)
    yield
    torch.use_deterministic_algorithms(False)


@pytest.fixture
def no_waiting() -> Iterator[None]:
    torch.cuda.set_sync_debug_mode("error")
    yield
    torch.cuda.set_sync_debug_mode("default")


def test_a_profile_of_the_gpu_has_the_operators_and_no_gpu_times(capfd: pytest.CaptureFixture[str]) -> None:
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as profiled:
        torch.randn(8, 8, device="cuda") @ torch.randn(8, 8, device="cuda")
    rows = {row.key: row for row in profiled.key_averages()}
    assert rows["aten::mm"].count == 1 and rows["aten::mm"].device_time_total == 0
    assert "aten::mm" in profiled.key_averages().table(sort_by="cuda_time_total")
    assert "Failed to record CUDA event" not in capfd.readouterr().err


def test_ranges_for_a_profiler() -> None:
    with torch.cuda.nvtx.range("all of it"), torch.autograd.profiler.emit_nvtx():
        assert (torch.ones(2, device="cuda") + 1).sum().item() == 4


def test_the_older_types() -> None:
    x = torch.cuda.FloatTensor([1, 2, 3])
    assert x.device.type == "cuda" and x.tolist() == [1, 2, 3]
    assert isinstance(x, torch.cuda.FloatTensor) and not isinstance(x, torch.FloatTensor)
    assert not isinstance(x.cpu(), torch.cuda.FloatTensor) and x.type() == "torch.cuda.FloatTensor"
    assert torch.ones(2).type(torch.cuda.HalfTensor).dtype == torch.float16
    assert torch.cuda.LongTensor(2, 3).shape == (2, 3) and x.type(torch.FloatTensor).device.type == "cpu"


@pytest.mark.filterwarnings("ignore:torch.set_default_tensor_type")
def test_an_older_type_as_the_default() -> None:
    torch.set_default_tensor_type(torch.cuda.FloatTensor)
    try:
        made = [torch.ones(1), torch.tensor(1.0), torch.Tensor([1]), torch.nn.Linear(1, 1).weight, torch.arange(2)]
    finally:
        torch.set_default_tensor_type(torch.FloatTensor)
    assert {one.device.type for one in made} == {"cuda"}
    assert torch.ones(1).device.type == "cpu"


def test_a_place_where_the_host_waits_is_found() -> None:
    x = torch.ones(2, device="cuda")
    torch.cuda.set_sync_debug_mode("warn")
    try:
        with pytest.warns(UserWarning, match="called a synchronizing CUDA operation"):
            x.sum().item()
    finally:
        torch.cuda.set_sync_debug_mode("default")


@pytest.mark.parametrize(
    "waits",
    [
        lambda x: x.sum().item(),
        lambda x: x.nonzero(),
        lambda x: x.cpu(),
        lambda x: x[x > 0],
        lambda x: torch.ones(2).cuda(),
    ],
)
def test_a_place_where_the_host_waits_is_refused(waits: Callable[[torch.Tensor], object], no_waiting: None) -> None:
    x = torch.zeros(2, device="cuda")
    with pytest.raises(RuntimeError, match="called a synchronizing CUDA operation"):
        waits(x)
    assert (x + 1).device == x.device and torch.empty(2, pin_memory=True).to("cuda", non_blocking=True).shape == (2,)


def _needs(function: Callable[[torch.Tensor], torch.Tensor]) -> Callable[[torch.Tensor], object]:
    return lambda x: function(x.requires_grad_()).sum().backward()


@pytest.mark.parametrize(
    "call",
    [
        _needs(lambda x: functional.pad(x, (1, 1, 1, 1), mode="reflect")),
        _needs(lambda x: functional.adaptive_avg_pool2d(x, 3)),
        _needs(lambda x: functional.grid_sample(x, torch.zeros(1, 2, 2, 2, device="cuda"), align_corners=False)),
        lambda x: x.cumsum(0),
        lambda x: x.median(0),
        lambda x: torch.histc(x),
        lambda x: torch.bincount(torch.ones(2, dtype=torch.long, device="cuda"), torch.ones(2, device="cuda")),
    ],
)
def test_what_has_no_fixed_order_on_a_gpu_is_refused_where_that_is_asked_for(
    call: Callable[[torch.Tensor], object], deterministic: None
) -> None:
    with pytest.raises(RuntimeError, match="does not have a deterministic implementation"):
        call(torch.rand(1, 2, 8, 8, device="cuda"))


def test_what_has_a_fixed_order_is_not_refused(deterministic: None) -> None:
    x = torch.rand(1, 2, 8, 8, device="cuda", requires_grad=True)
    functional.max_pool2d(functional.conv2d(x, torch.ones(1, 2, 3, 3, device="cuda")), 2).sum().backward()
    counts = torch.ones(3, dtype=torch.long, device="cuda")
    assert counts.cumsum(0).tolist() == [1, 2, 3] and torch.bincount(counts).tolist() == [0, 3]
    assert x.median().shape == ()


def test_settings_are_read_back() -> None:
    torch.backends.cuda.cufft_plan_cache[0].max_size = 7
    assert torch.backends.cuda.cufft_plan_cache[0].max_size == 7 and torch.backends.cuda.cufft_plan_cache.size == 0
    torch.backends.cuda.cufft_plan_cache.clear()
    torch.cuda.tunable.set_max_tuning_duration(5)
    assert torch.cuda.tunable.get_max_tuning_duration() == 5
    assert torch.cuda.tunable.get_filename() and torch.cuda.tunable.get_results() == ()


def test_a_pool_of_memory() -> None:
    pool = torch.cuda.MemPool()
    with torch.cuda.use_mem_pool(pool):
        assert torch.ones(4, device="cuda").sum().item() == 4
    assert torch.cuda.MemPool().id != pool.id


def test_every_name_that_torch_cuda_calls_is_there_or_says_what_is_not() -> None:
    named = {
        node.attr
        for path in (Path(torch.cuda.__file__).parent).rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute) and node.attr.startswith("_cuda_") and ast.unparse(node.value) == "torch._C"
    }
    assert len(named) > 50
    assert sorted(name for name in named if not hasattr(torch._C, name)) == []
    with pytest.raises(NotImplementedError, match="write the kernel in Triton"):
        torch.cuda.jiterator._create_jit_fn("template <typename T> T f(T x) { return x; }")(torch.ones(1).cuda())


def test_operators_of_torchvision_that_come_with_a_library_are_the_cpus() -> None:
    library = torch.library.Library("torchvision", "FRAGMENT")
    library.define("of_a_test(Tensor boxes) -> Tensor")
    library.impl("of_a_test", lambda boxes: boxes.cos(), "CPU")
    x = torch.rand(3, device="cuda")
    with pytest.raises(NotImplementedError, match="torchvision::of_a_test"):
        torch.ops.torchvision.of_a_test(x)
    torch.ops.load_library(f"{Path(torch.__file__).parent}/lib/libc10.so")  # any library: it is what comes after
    found = torch.ops.torchvision.of_a_test(x)
    assert found.device.type == "cuda" and torch.equal(found.cpu(), x.cpu().cos())


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_torchscript_indexes_with_a_tensor_of_the_gpu() -> None:
    def taken(x: torch.Tensor, at: torch.Tensor) -> torch.Tensor:
        return x[at]

    x, at = torch.rand(4, 2, device="cuda"), torch.tensor([2, 0], device="cuda")
    assert torch.equal(torch.jit.script(taken)(x, at), x[at])
