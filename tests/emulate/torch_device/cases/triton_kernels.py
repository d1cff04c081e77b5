"""Triton on the emulated GPU: its own driver, launcher, autotuner and descriptors, unmodified."""

import torch
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor


@triton.autotune([triton.Config({"BLOCK": block}, num_warps=4) for block in (256, 1024)], key=["n"])
@triton.jit
def twice(x, y, n, BLOCK: tl.constexpr):  # noqa: N803
    place = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + place, tl.load(x + place, mask=place < n) * 2, mask=place < n)


@triton.jit
def thrice(source, to):
    to.store([0, 0], source.load([0, 0]) * 3)


def test_an_autotuned_kernel_takes_its_first_configuration():
    x = torch.randn(1000, device="cuda")
    y = torch.empty_like(x)
    twice[lambda meta: (triton.cdiv(1000, meta["BLOCK"]),)](x, y, 1000)
    assert twice.best_config.kwargs == {"BLOCK": 256}
    torch.testing.assert_close(y, x * 2)


def test_descriptors_made_on_the_host():
    x = torch.randn(16, 32, device="cuda")
    y = torch.empty_like(x)
    thrice[(1,)](TensorDescriptor.from_tensor(x, [16, 32]), TensorDescriptor.from_tensor(y, [16, 32]))
    torch.testing.assert_close(y, x * 3)


def test_a_benchmark_runs_once():
    calls = []
    milliseconds = triton.testing.do_bench(lambda: calls.append(1))
    assert calls == [1]
    assert milliseconds > 0


def test_the_target_is_the_emulated_one():
    target = triton.runtime.driver.active.get_current_target()
    assert target.backend == "hip"
    assert torch.cuda.get_device_properties(0).gcnArchName.startswith(target.arch)
