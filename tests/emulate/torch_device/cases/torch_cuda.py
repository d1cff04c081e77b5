"""torch.cuda's own functions on two emulated MI300X: devices, memory, streams, events, generators, graphs."""

from __future__ import annotations

import ctypes
import gc
import threading

import pytest
import torch
import torch.nn as nn


def test_the_gpu_is_described_as_the_hardware_table_has_it() -> None:
    assert torch.cuda.is_available() and torch.backends.cuda.is_built() and torch.cuda.device_count() == 2
    assert torch.version.hip and torch.version.cuda is None
    properties = torch.cuda.get_device_properties(1)
    assert (properties.name, properties.gcnArchName) == ("AMD Instinct MI300X", "gfx942:sramecc+:xnack-")
    assert (properties.warp_size, properties.multi_processor_count) == (64, 304)
    assert properties.total_memory == 192 * 2**30
    assert torch.cuda.get_device_capability() == (9, 4) and torch.cuda.is_bf16_supported()
    assert torch.cuda.get_arch_list() == ["gfx942"]
    assert torch.accelerator.is_available() and torch.accelerator.current_accelerator() == torch.device("cuda")
    assert "MI300X" in repr(properties)


def test_devices() -> None:
    assert torch.cuda.current_device() == 0
    with torch.cuda.device(1):
        x = torch.ones(2, device="cuda")
        assert x.device == torch.device("cuda:1") and torch.cuda.current_device() == 1
    assert torch.cuda.current_device() == 0 and (x + 1).device.index == 1
    torch.cuda.set_device(1)
    try:
        assert torch.zeros(1).cuda().device.index == 1 and torch.zeros(1, device="cuda:0").device.index == 0
    finally:
        torch.cuda.set_device(0)
    assert x.to("cuda:0").device.index == 0 and torch.cuda.can_device_access_peer(0, 1)
    with pytest.raises(RuntimeError, match="invalid device ordinal"):
        torch.ones(1, device="cuda:2")


def test_memory_is_counted() -> None:
    gc.collect()
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    free, total = torch.cuda.mem_get_info()
    x = torch.empty(2**20, device="cuda")
    assert torch.cuda.memory_allocated() - before == 2**22
    assert torch.cuda.mem_get_info() == (free - 2**22, total)
    del x
    assert torch.cuda.memory_allocated() == before
    assert torch.cuda.max_memory_allocated() - before == 2**22
    assert torch.cuda.memory_reserved() >= 2**22
    torch.cuda.empty_cache()
    assert torch.cuda.mem_get_info()[0] >= free
    assert torch.cuda.memory_stats()["allocated_bytes.all.peak"] == torch.cuda.max_memory_allocated()
    assert "Allocated memory" in torch.cuda.memory_summary()


def test_memory_that_is_not_there() -> None:
    with pytest.raises(torch.OutOfMemoryError, match=r"HIP out of memory\. Tried to allocate 36\.38 TiB|GiB"):
        torch.empty(10**13, device="cuda")
    assert torch.ones(1, device="cuda").item() == 1
    torch.cuda.set_per_process_memory_fraction(1e-6)
    try:
        with pytest.raises(torch.OutOfMemoryError):
            torch.empty(2**22, device="cuda")
    finally:
        torch.cuda.set_per_process_memory_fraction(1.0)


def test_pinned_memory() -> None:
    x = torch.arange(4.0).pin_memory()
    assert x.is_pinned() and not torch.arange(4.0).is_pinned() and x.device.type == "cpu"
    assert torch.empty(3, pin_memory=True).is_pinned()
    assert x.cuda(non_blocking=True).tolist() == [0.0, 1.0, 2.0, 3.0]
    data = torch.utils.data.TensorDataset(torch.arange(6.0))
    loader = torch.utils.data.DataLoader(data, batch_size=3, pin_memory=True)
    assert [batch[0].is_pinned() for batch in loader] == [True, True]


def test_streams_and_events() -> None:
    first, second = torch.cuda.Stream(), torch.cuda.Stream(priority=-1)
    assert torch.cuda.current_stream() == torch.cuda.default_stream() and first != second
    x = torch.zeros(4, device="cuda")
    with torch.cuda.stream(first):
        assert torch.cuda.current_stream() == first
        x.add_(1)
        done = first.record_event()
    second.wait_event(done)
    second.wait_stream(first)
    with torch.cuda.stream(second):
        x.mul_(3)
    x.record_stream(second)
    second.synchronize()
    assert first.query() and done.query() and x.tolist() == [3.0] * 4
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    with pytest.raises(ValueError, match="recorded"):
        start.elapsed_time(end)
    start.record()
    (x @ x).item()
    end.record()
    torch.cuda.synchronize()
    assert start.elapsed_time(end) > 0
    assert torch.cuda.current_stream().cuda_stream == 0 and first.cuda_stream != 0


def test_generators() -> None:
    torch.manual_seed(5)
    first = torch.rand(8, device="cuda")
    after = torch.rand(8)
    torch.cuda.manual_seed(5)
    assert torch.equal(torch.rand(8, device="cuda"), first)
    torch.manual_seed(5)
    assert torch.equal(torch.rand(8), after), "the GPU's numbers are not taken from the CPU's generator"
    state = torch.cuda.get_rng_state()
    one = torch.randn(5, device="cuda"), torch.nn.functional.dropout(torch.ones(50, device="cuda"))
    torch.cuda.set_rng_state(state)
    two = torch.randn(5, device="cuda"), torch.nn.functional.dropout(torch.ones(50, device="cuda"))
    assert all(map(torch.equal, one, two))
    own = torch.Generator(device="cuda").manual_seed(9)
    x = torch.randperm(20, device="cuda", generator=own)
    assert torch.equal(torch.randperm(20, device="cuda", generator=own.manual_seed(9)), x) and own.initial_seed() == 9
    with pytest.raises(RuntimeError, match="Expected a 'cuda' device type for generator"):
        torch.rand(3, device="cuda", generator=torch.Generator())
    with torch.random.fork_rng():
        torch.rand(3, device="cuda")
    assert torch.cuda.initial_seed() == 5


def test_a_graph_is_recorded_and_replayed_into_the_same_memory() -> None:
    x, total = torch.zeros(4, device="cuda"), torch.zeros(1, device="cuda")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        assert torch.cuda.is_current_stream_capturing()
        y = (x + 1).relu() * 2
        total.add_(y.sum())
    assert total.item() == 0 and not torch.cuda.is_current_stream_capturing()
    place = y.data_ptr()
    for step in range(3):
        x.fill_(step)
        graph.replay()
        assert y.tolist() == [2.0 * (step + 1)] * 4 and y.data_ptr() == place
    assert total.item() == 8 + 16 + 24
    with (
        pytest.raises(RuntimeError, match="not permitted when stream is capturing"),
        torch.cuda.graph(torch.cuda.CUDAGraph()),
    ):
        x.sum().item()
    assert x.sum().item() == 8


def test_a_training_step_is_recorded() -> None:
    torch.manual_seed(0)
    model = nn.Linear(4, 4).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    x = torch.randn(8, 4, device="cuda")

    def step() -> torch.Tensor:
        optimizer.zero_grad(set_to_none=True)
        loss = model(x).square().mean()
        loss.backward()
        optimizer.step()
        return loss

    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        step()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    optimizer.zero_grad(set_to_none=True)
    with torch.cuda.graph(graph):
        loss = step()
    seen = []
    for _ in range(3):
        graph.replay()
        seen.append(loss.item())
    assert seen[0] > seen[1] > seen[2]
    wanted = step().item()
    assert wanted < seen[2]


def test_data_parallel_splits_over_the_gpus() -> None:
    model = nn.DataParallel(nn.Linear(4, 2).cuda())
    x = torch.randn(6, 4, device="cuda")
    torch.testing.assert_close(model(x), model.module(x))


def test_nvtx_and_the_runtime_module() -> None:
    with torch.cuda.nvtx.range("part"):
        torch.cuda.nvtx.mark("here")
    assert torch.cuda.cudart().cudaMemGetInfo(0)[1] == torch.cuda.get_device_properties(0).total_memory


def test_an_operator_waits_for_work_that_goes_on_in_its_stream() -> None:
    hip = ctypes.CDLL("libamdhip64.so.7")
    flag, values = torch.zeros(1, dtype=torch.int32).pin_memory(), torch.arange(4.0, device="cuda")
    side = torch.cuda.Stream()
    at = ctypes.c_void_p(flag.data_ptr())
    assert hip.hipStreamWaitValue32(ctypes.c_void_p(side.cuda_stream), at, 1, 1, 0xFFFFFFFF) == 0
    assert not side.query()
    other = values + 1  # on another stream: not held up
    later = threading.Timer(0.2, lambda: flag.fill_(1))
    later.start()
    with torch.cuda.stream(side):
        values.mul_(2)
        assert flag.item() == 1
    later.join()
    side.synchronize()
    assert side.query() and other.tolist() == [1, 2, 3, 4] and values.tolist() == [0, 2, 4, 6]
