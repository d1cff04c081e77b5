"""The models against signatures that torch itself records, and against torch's own FLOP counter."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kernel_pytorch.perf.roofline.peaks import named_gpu, recorded_gpu
from kernel_pytorch.perf.roofline.work import work_of
from kernel_pytorch.perf.trace.chrome import read_chrome_trace

torch = pytest.importorskip("torch")


def recorded(path: Path, call: Any) -> dict[str, Any]:
    """Signatures by operator name, of one call."""
    from torch.profiler import ProfilerActivity, profile

    with profile(activities=[ProfilerActivity.CPU], record_shapes=True) as recorder:
        call()
    recorder.export_chrome_trace(str(path))
    return {one.name: one for one in read_chrome_trace(path).signatures}


def counted(call: Any) -> int:
    from torch.utils.flop_counter import FlopCounterMode

    with FlopCounterMode(display=False) as counter:
        call()
    return int(counter.get_total_flops())


def tensors(*shapes: tuple[int, ...]) -> list[Any]:
    return [torch.randn(shape) for shape in shapes]


CASES = {
    "aten::mm": lambda: torch.mm(*tensors((8, 16), (16, 4))),
    "aten::bmm": lambda: torch.bmm(*tensors((3, 8, 16), (3, 16, 4))),
    "aten::convolution": lambda: torch.nn.functional.conv2d(
        *tensors((2, 8, 9, 9), (12, 4, 3, 3)), stride=2, padding=1, groups=2
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_flops_agree_with_torchs_own_counter(name: str, tmp_path: Path) -> None:
    found = work_of(recorded(tmp_path / "t.json", CASES[name])[name])
    assert found is not None
    assert found.flops == counted(CASES[name]) > 0


def test_attention_flops_agree_with_torchs_own_formula(tmp_path: Path) -> None:
    from torch.utils.flop_counter import sdpa_flop_count

    shapes = (2, 4, 6, 8), (2, 4, 5, 8), (2, 4, 5, 8)
    seen = recorded(tmp_path / "t.json", lambda: torch.nn.functional.scaled_dot_product_attention(*tensors(*shapes)))
    found = work_of(seen["aten::scaled_dot_product_attention"])
    assert found is not None and found.flops == sdpa_flop_count(*shapes)


def test_every_modelled_operator_reads_its_real_arguments(tmp_path: Path) -> None:
    """Positions of weights, masks and flags as the installed torch records them."""
    f = torch.nn.functional
    x, w, b = tensors((2, 8, 6, 6), (8,), (8,))
    q, k = tensors((2, 8, 10, 16), (2, 2, 10, 16))

    def call() -> None:
        f.scaled_dot_product_attention(q, k, k, is_causal=True, enable_gqa=True)
        f.layer_norm(x, (6, 6))
        f.group_norm(x, 4, w, b)
        f.batch_norm(x, torch.zeros(8), torch.ones(8), w, b, training=True)
        torch.softmax(x, -1)
        x.mean((1, 2), keepdim=True)
        x.to(torch.bfloat16)
        torch.nn.functional.linear(q, k[0, 0], None)

    seen = recorded(tmp_path / "t.json", call)

    def of(name: str) -> Any:
        found = work_of(seen[f"aten::{name}"])
        assert found is not None, name
        return found

    pairs = 10 * 11 // 2
    assert of("scaled_dot_product_attention").flops == 2 * 8 * pairs * 4 * 16
    assert of("native_layer_norm").flops == 16 * (5 * 36 + 2)
    assert of("native_group_norm").flops == 8 * (7 * 72 + 2)
    assert of("native_batch_norm").flops == 8 * (7 * 72 + 2)
    assert of("_softmax").flops == 96 * (5 * 6 - 2)
    assert of("mean").bytes == 4 * (576 + 12)
    assert of("copy_").bytes == 576 * (2 + 4)
    assert of("linear").flops == 2 * 160 * 10 * 16


@pytest.mark.parametrize(
    ("facts", "gpu"),
    [
        ({"name": "AMD Instinct MI300X VF", "numSms": 304}, "MI300X"),
        ({"name": "NVIDIA H100 80GB HBM3", "numSms": 132}, "H100-SXM5-80GB"),
        ({"name": "", "computeMajor": 9, "computeMinor": 5, "warpSize": 64, "numSms": 256}, "MI350X"),
        ({"name": "AMD Radeon Graphics", "computeMajor": 9, "computeMinor": 4, "numSms": 304}, "MI300X"),
        ({"name": "NVIDIA A100-SXM4-80GB", "computeMajor": 8, "computeMinor": 0}, "A100-SXM4-80GB"),
        ({"name": "mystery", "target": "gfx942", "numSms": 228}, "MI300A"),
    ],
)
def test_the_gpu_a_recording_is_of(facts: dict[str, Any], gpu: str) -> None:
    found = recorded_gpu(facts)
    assert found is not None
    assert found.gpu.split(" (")[0] == gpu or gpu in found.gpu


def test_gpus_the_table_does_not_have() -> None:
    assert recorded_gpu({"name": "AMD something", "computeMajor": 9, "computeMinor": 0}) is None
    assert recorded_gpu({}) is None
    assert named_gpu("mi325x").bandwidth_gbs == 6000
