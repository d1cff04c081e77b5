"""What a GPU refuses is refused, here by an emulated RX 7900 XTX (no FP8, wave 32)."""

from __future__ import annotations

import multiprocessing

import pytest
import torch
import torch.nn.functional as F  # noqa: N812 (everybody's name for it)


def test_the_gpu_is_another_one() -> None:
    properties = torch.cuda.get_device_properties(0)
    assert properties.gcnArchName == "gfx1100" and properties.warp_size == 32


@pytest.mark.parametrize(
    "mix",
    [
        lambda gpu, cpu: gpu + cpu,
        lambda gpu, cpu: cpu * gpu,
        lambda gpu, cpu: gpu @ cpu.t(),
        lambda gpu, cpu: torch.cat((gpu, cpu)),
        lambda gpu, cpu: F.linear(gpu, cpu),
        lambda gpu, cpu: F.embedding(torch.tensor([0]), gpu),
        lambda gpu, cpu: gpu.index_select(0, torch.tensor([0])),
        lambda gpu, cpu: gpu.add_(cpu),
        lambda gpu, cpu: F.layer_norm(gpu, (3,), cpu[0]),
        lambda gpu, cpu: gpu + gpu.to("cuda:1"),
    ],
)
def test_tensors_of_two_devices(mix: object) -> None:
    gpu, cpu = torch.ones(2, 3, device="cuda"), torch.ones(2, 3)
    with pytest.raises(RuntimeError, match="Expected all tensors to be on the same device"):
        mix(gpu, cpu)  # type: ignore[operator]


def test_numpy_does_not_reach_the_gpus_memory() -> None:
    with pytest.raises(TypeError, match="can't convert cuda:0 device type tensor to numpy"):
        torch.ones(2, device="cuda").numpy()


def test_fp8_products_that_the_gpu_has_not() -> None:
    x = torch.ones(16, 16, device="cuda").to(torch.float8_e4m3fn)
    one = torch.ones((), device="cuda")
    with pytest.raises(RuntimeError, match="gfx1100 has no float8"):
        torch._scaled_mm(x, x.t(), scale_a=one, scale_b=one, out_dtype=torch.float32)


def test_a_forked_child_may_not_use_the_gpu() -> None:
    torch.ones(1, device="cuda")
    context = multiprocessing.get_context("fork")
    queue = context.SimpleQueue()

    def child() -> None:
        try:
            torch.ones(1, device="cuda")
            queue.put("worked")
        except RuntimeError as refused:
            queue.put(str(refused))

    process = context.Process(target=child)
    process.start()
    answer = queue.get()
    process.join()
    assert "Cannot re-initialize CUDA in forked subprocess" in answer


def test_an_operator_that_nobody_wrote_for_the_gpu() -> None:
    @torch.library.custom_op("kpt_test::only_cpu", mutates_args=(), device_types="cpu")
    def only_cpu(x: torch.Tensor) -> torch.Tensor:
        return x + 1

    with pytest.raises(NotImplementedError, match="CUDA"):
        only_cpu(torch.ones(1, device="cuda"))


def test_an_index_out_of_range() -> None:
    with pytest.raises((RuntimeError, IndexError), match=r"out of range|out of bounds"):
        torch.ones(3, device="cuda")[torch.tensor([7], device="cuda")]
