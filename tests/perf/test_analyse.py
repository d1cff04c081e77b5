"""Whole profiles of traces made by hand, and what is made of them: idle causes, patterns, advice, saving, diff."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kernel_pytorch.core.errors import UsageError
from kernel_pytorch.core.findings import to_json
from kernel_pytorch.perf.analyse import analyse
from kernel_pytorch.perf.diff import diff
from kernel_pytorch.perf.profile import Profile, is_saved_profile, load, save
from kernel_pytorch.perf.roofline.peaks import named_gpu
from kernel_pytorch.perf.trace.open import open_recording

BF16 = "c10::BFloat16"
FOUR_K = ((4096, 4096), (4096, 4096))


def profile_of(made: Any, **options: Any) -> Profile:
    return analyse(open_recording(made.write()), **options)


def test_the_roofline_of_a_known_gpu(builder: Callable[..., Any]) -> None:
    made = builder()
    made.launch("aten::mm", "Cijk_x", 0, 100, 210.0, dims=FOUR_K, types=(BF16, BF16))
    profile = profile_of(made)
    (row,) = profile.operators
    flops = 2 * 4096**3
    assert row.flops == flops
    assert row.tflops == pytest.approx(flops / 210e-6 / 1e12)
    assert row.best_ms == pytest.approx(flops / 1307.4e12 * 1e3)
    assert row.percent_of_roofline == pytest.approx(100 * row.best_ms / 0.210)
    assert row.percent_of_achievable == pytest.approx(100 * flops / 708e12 * 1e3 / 0.210)  # the table's bf16 ceiling
    assert row.limiter == "compute"
    assert profile.peaks is not None and profile.peaks.gpu == "MI300X"
    assert profile.modelled_share == 1.0
    assert profile.categories[0].most_to_gain_ms == pytest.approx(0.210 - row.best_ms)


def test_another_gpu_by_name(builder: Callable[..., Any]) -> None:
    made = builder()
    made.launch("aten::mm", "Cijk_x", 0, 100, 210.0, dims=FOUR_K, types=(BF16, BF16))
    assert profile_of(made, peaks=named_gpu("h200")).operators[0].best_ms == pytest.approx(2 * 4096**3 / 989.4e9)


@pytest.mark.parametrize(("length", "limiter"), [(2.0, "cache"), (6.0, "latency"), (40.0, "memory")])
def test_what_limits_a_small_and_a_large_copy(builder: Callable[..., Any], length: float, limiter: str) -> None:
    made = builder()
    size = 1 << 16 if limiter == "latency" else 1 << 23
    made.launch("aten::add", "k", 0, 100, length, dims=((size,), (size,)), types=("float", "float"))
    assert profile_of(made).operators[0].limiter == limiter


def test_why_the_gpu_waited(builder: Callable[..., Any]) -> None:
    made = builder()
    made.launch("aten::mm", "a", 0, 10, 10)
    made.launch("aten::mm", "b", 12, 23, 10)  # launched at 14 while a ran: 3 us between queued kernels
    made.launch("aten::mm", "c", 60, 70, 10)  # launched at 62: 29 us of host, 8 us of latency
    made.span("cuda_runtime", "hipStreamSynchronize", 81, 9, correlation=5000)  # the queue ran dry at 80
    made.launch("aten::mm", "d", 100, 110, 10)  # launched at 102: 22 us after a synchronisation
    made.span("user_annotation", "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 120, 80)
    made.launch("aten::mm", "e", 200, 210, 10)  # launched at 202
    causes = {row.cause: row.idle_ms * 1e3 for row in profile_of(made).idle}
    assert causes == pytest.approx(
        {
            "between queued kernels": 3,
            "host-bound": 29,
            "after a synchronisation": 22,
            "data loading": 82,
            "launch latency": 8 + 8 + 8,
        }
    )
    (row,) = profile_of(made).timelines
    assert row.idle_ms * 1e3 == pytest.approx(sum(causes.values()))


def test_communication_and_copies_are_exposed_only_where_nothing_computes(builder: Callable[..., Any]) -> None:
    made = builder("nvidia")
    made.launch("aten::mm", "gemm", 0, 100, 50)
    made.kernel("ncclDevKernel_AllReduce_Sum_bf16_RING_LL", 120, 60, launched=90, stream=9)
    made.kernel("Memcpy HtoD (Pageable -> Device)", 170, 30, launched=95, stream=10, category="gpu_memcpy")
    made.kernel("Memset (Device)", 200, 5, launched=96, category="gpu_memset")
    (row,) = profile_of(made).timelines
    assert row.compute_ms * 1e3 == pytest.approx(55)  # the memset is a kernel by another name
    assert row.exposed_communication_ms * 1e3 == pytest.approx(30)
    assert row.exposed_copy_ms * 1e3 == pytest.approx(20)
    assert row.idle_ms == pytest.approx(0)
    titles = {one.title for one in profile_of(made).advice}
    assert {"exposed communication", "exposed copies"} <= titles


def test_amds_copy_kernels_are_copies(builder: Callable[..., Any]) -> None:
    made = builder()
    made.launch("aten::mm", "Cijk_x", 0, 100, 10)
    made.kernel("__amd_rocclr_copyBuffer", 110, 10, launched=50)
    (row,) = profile_of(made).timelines
    assert (row.compute_ms * 1e3, row.exposed_copy_ms * 1e3) == pytest.approx((10, 10))


def test_patterns_with_a_name(builder: Callable[..., Any]) -> None:
    made = builder()
    shape = (2, 64, 64)
    steps = [
        ("aten::bmm", 100, {"dims": (shape, shape), "types": (BF16, BF16)}),
        ("aten::mul", 30, {}),
        ("aten::add", 30, {}),
        ("aten::_softmax", 40, {}),
        ("aten::bmm", 100, {"dims": (shape, shape), "types": (BF16, BF16)}),
        ("aten::copy_", 20, {"dims": ((8, 8), (8, 8)), "types": ("float", BF16), "strides": ((8, 1), (8, 1))}),
        ("aten::pow", 20, {}),
        ("aten::mean", 20, {}),
        ("aten::add", 5, {}),
        ("aten::rsqrt", 5, {}),
        ("aten::mul", 25, {}),
        ("aten::copy_", 10, {"dims": ((8, 8), (8, 8)), "types": (BF16, BF16), "strides": ((8, 1), (1, 8))}),
        ("aten::mm", 50, {"dims": FOUR_K, "types": ("float", "float")}),
        ("aten::mm", 50, {"dims": FOUR_K, "types": ("float", "float")}),
    ]
    at = 1000.0
    for number, (name, length, more) in enumerate(steps):
        made.launch(name, f"k{number}", 20.0 * number, at, length, **more)
        at += length
    seen = {row.kind: row for row in profile_of(made).observations}
    attention = seen["hand-written attention"]
    assert (attention.kernel_ms * 1e3, attention.saving_ms * 1e3) == pytest.approx((300, 100))
    norm = seen["hand-written norm"]
    assert (norm.count, norm.kernel_ms * 1e3, norm.saving_ms * 1e3) == (1, pytest.approx(85), pytest.approx(60))
    assert seen["dtype copies"].text == "bf16 to fp32"
    assert seen["layout copies"].kernel_ms * 1e3 == pytest.approx(10)
    assert seen["fp32 GEMM"].count == 2
    assert "GEMMs that share an input" not in seen  # two square ones may be a chain
    chains = seen["fusible chains"]
    # What is between the products of attention goes with it.
    assert (chains.count, chains.saving_ms * 1e3) == (1, pytest.approx(105 - 25))


@pytest.mark.parametrize(
    ("between", "shared"),
    [
        ([], True),
        ([("aten::mul", ((8, 64), ()), (BF16, "double"))], True),  # the queries are scaled
        ([("aten::silu", ((8, 256),), (BF16,))], True),  # the gate's own activation
        ([("aten::add", ((8, 64), (8, 64)), (BF16, BF16))], False),  # a residual: the next block's input is new
        ([("aten::gelu", ((8, 64),), (BF16,))], False),
        ([("triton_poi_fused_add_1", ((8, 64), (8, 64)), (BF16, BF16))], False),
    ],
)
def test_a_product_of_what_the_one_before_it_made_shares_no_input(
    builder: Callable[..., Any], between: list[Any], shared: bool
) -> None:
    made = builder()
    product = ("aten::mm", ((8, 64), (64, 128)), (BF16, BF16))
    for number, (name, dims, types) in enumerate([product, *between, product]):
        made.launch(name, f"k{number}", 20.0 * number, 1000.0 + 10 * number, 10, dims=dims, types=types)
    seen = {row.kind for row in profile_of(made).observations}
    assert ("GEMMs that share an input" in seen) is shared


@pytest.mark.parametrize(("count", "shared"), [(2, 0), (3, 2), (4, 3)])
def test_two_square_products_could_be_a_chain(builder: Callable[..., Any], count: int, shared: int) -> None:
    """An output projection and the layer behind it look like that; three are queries, keys and values."""
    made = builder()
    for number in range(count):
        dims = ((8, 64), (64, 64))
        made.launch("aten::mm", "k", 20.0 * number, 1000.0 + 10 * number, 10, dims=dims, types=(BF16, BF16))
    seen = {row.kind: row.count for row in profile_of(made).observations}
    assert seen.get("GEMMs that share an input", 0) == shared


def test_graph_breaks_and_recompilations_in_a_trace(builder: Callable[..., Any]) -> None:
    made = builder()
    made.operator("Torch-Compiled Region: 0/0", 0, 5)
    made.operator("Torch-Compiled Region: 1/3", 5, 5)
    made.span("python_function", "m.py(7): torch_dynamo_resume_in_forward_at_7", 0, 5)
    made.launch("aten::mm", "k", 10, 20, 5)
    profile = profile_of(made)
    seen = {row.kind: row for row in profile.observations}
    assert seen["recompiles"].count == 3
    assert "forward_at_7" in seen["graph breaks"].text
    assert {"graph breaks", "recompilation"} <= {one.title for one in profile.advice}


def test_advice_is_ranked_names_a_rung_and_takes_the_profilers_cost_off(builder: Callable[..., Any]) -> None:
    made = builder()
    for number in range(10):
        made.launch("aten::add", "k", 100.0 * number, 100.0 * number + 10, 5)
    profile = profile_of(made)
    assert [one.saving_ms for one in profile.advice] == sorted((one.saving_ms for one in profile.advice), reverse=True)
    assert all(1 <= one.rung <= 5 and one.action and one.how for one in profile.advice)
    gaps = next(one for one in profile.advice if one.title == "launch gaps")
    assert gaps.saving_ms == pytest.approx(9 * 0.095)
    recording = open_recording(made.write())
    recording.unprofiled_ms = 0.35
    calmer = next(one for one in analyse(recording).advice if one.title == "launch gaps")
    assert calmer.saving_ms == pytest.approx(0.35 - 0.05)
    recording.unprofiled_ms = 0.01
    assert all(one.title != "launch gaps" for one in analyse(recording).advice)


def test_short_kernels_launches_modules_and_stretches(builder: Callable[..., Any]) -> None:
    made = builder()
    made.span("python_function", "nn.Module: Linear_3", 0, 500)
    made.launch("aten::mm", "long", 0, 10, 100)
    made.launch("aten::add", "short", 300, 310, 4)
    profile = profile_of(made)
    assert (profile.short_kernels.count, profile.short_kernels.share_of_kernels) == (1, 0.5)
    assert profile.launches.calls == 2
    assert profile.modules[0].module == "Linear_3" and profile.modules[0].kernels == 2
    (stretch,) = profile.stretches
    assert stretch.operator == "aten::add"
    assert stretch.length_ms == pytest.approx(0.2, rel=0.05)
    assert sum(one.length_ms for one in profile.bins) == pytest.approx(profile.total_ms)


def test_a_saved_profile_comes_back_whole(builder: Callable[..., Any], tmp_path: Path) -> None:
    made = builder()
    made.launch("aten::mm", "Cijk_x", 0, 100, 210.0, dims=FOUR_K, types=(BF16, BF16))
    profile = profile_of(made)
    path = tmp_path / "p.json"
    save(profile, path)
    assert load(path) == profile
    assert is_saved_profile(path) and not is_saved_profile(tmp_path / "trace.json")
    path.write_text(to_json(profile)[:-40])
    with pytest.raises(UsageError, match="not a profile"):
        load(path)


def test_the_difference_of_two_profiles_is_per_step(builder: Callable[..., Any]) -> None:
    first, second = builder(), builder("nvidia")
    for number, made in enumerate((first, second)):
        for step in range(number + 1):
            made.span("user_annotation", f"ProfilerStep#{step}", 1000 * step, 500)
            made.launch(
                "aten::mm",
                "k",
                1000.0 * step,
                1000.0 * step + 100,
                200.0 - 100 * number,
                dims=FOUR_K,
                types=(BF16, BF16),
            )
    a = profile_of(first)
    b = analyse(open_recording(second.write("b.json")))
    found = diff(a, b)
    (row,) = found.operators
    assert (row.a_ms, row.b_ms, row.ratio) == pytest.approx((0.2, 0.1, 0.5))
    assert any("different devices" in note for note in found.notes)
    assert any("per step" in note for note in found.notes)
    assert "times do not compare" in diff(a, replace(b, device_kind="cpu")).notes[0]


def test_a_run_on_the_cpu_is_called_that(builder: Callable[..., Any]) -> None:
    made = builder()
    made.operator("aten::linear", 0, 100)
    made.operator("aten::addmm", 10, 80, dims=((4,), (4, 4), (4, 4)), types=("float",) * 3)
    profile = profile_of(made)
    assert (profile.device_kind, profile.gpu, profile.vendor) == ("cpu", "CPU", "cpu")
    assert profile.peaks is None and profile.operators[0].flops == 2 * 64 + 16
    assert all(one.title != "launch gaps" for one in profile.advice)


def test_an_operator_has_an_expected_time_with_its_range_and_basis(builder: Callable[..., Any]) -> None:
    made = builder()
    made.launch("aten::mm", "Cijk_x", 0, 100, 210.0, dims=FOUR_K, types=(BF16, BF16))
    (row,) = profile_of(made).operators
    assert row.expected_ms is not None and row.low_ms is not None and row.high_ms is not None
    assert row.low_ms < row.expected_ms < row.high_ms
    assert row.basis is not None and "MI300X" in row.basis
    assert row.reachable_ms is not None and row.best_ms is not None and row.best_ms < row.reachable_ms


@pytest.mark.parametrize(("length", "advised"), [(210.0, False), (900.0, True)])
def test_a_product_is_slow_only_beyond_what_tuned_kernels_take(
    builder: Callable[..., Any], length: float, advised: bool
) -> None:
    """105 us is the roofline; tuned kernels take some 190. 210 us is as good as it gets."""
    made = builder()
    made.launch("aten::mm", "Cijk_x", 0, 100, length, dims=FOUR_K, types=(BF16, BF16))
    profile = profile_of(made)
    found = [one for one in profile.advice if one.title == "GEMM slower than tuned ones"]
    assert bool(found) == advised
    if advised:
        reachable = profile.operators[0].reachable_ms
        assert reachable is not None and found[0].saving_ms == pytest.approx(0.9 - reachable)


def test_kernels_of_a_compiled_model_are_not_to_be_compiled_again(builder: Callable[..., Any]) -> None:
    eager, compiled = builder(), builder()
    add, fused = ("aten::add", "vectorized_elementwise_kernel"), ("triton_poi_fused_add_0",) * 2
    for made, names in ((eager, add), (compiled, fused)):
        for at in (100.0, 160.0, 220.0):
            made.launch(*names, at - 50, at, 50.0, dims=((1 << 22,),) * 2, types=(BF16,) * 2)
    assert any(one.title == "unfused elementwise" for one in profile_of(eager).advice)
    advice = profile_of(compiled).advice
    assert all(one.title != "unfused elementwise" for one in advice)
    assert all("torch.compile" not in one.action for one in advice)


def test_a_librarys_kernels_in_a_replayed_graph_are_not_to_be_fused(builder: Callable[..., Any]) -> None:
    made = builder()
    made.launch("aten::mm", "Cijk_x", 0, 100, 50)
    at = 150.0
    for name in ("_ZN5aiter24add_rmsnorm_quant_kernelI", "void rotary_embedding_kernel<bf16>", "void store_kvcache<1>"):
        made.kernel(name, at, 20, launched=60, call="hipGraphLaunch")
        at += 20
    assert "fusible chains" not in {row.kind for row in profile_of(made).observations}
    for name in ("void at::native::vectorized_elementwise_kernel<4>", "void at::native::elementwise_kernel<128, 4>"):
        made.kernel(name, at, 20, launched=60, call="hipGraphLaunch")
        at += 20
    (chains,) = (row for row in profile_of(made).observations if row.kind == "fusible chains")
    assert (chains.count, chains.kernel_ms * 1e3) == (1, pytest.approx(40))


def test_a_norm_over_channels_ends_what_can_be_one_kernel(builder: Callable[..., Any]) -> None:
    made = builder()
    made.operator("aten::native_batch_norm", 0, 20.0)
    for number, (name, length) in enumerate((("collect_statistics", 60), ("transform_input", 30))):
        made.kernel(f"void at::native::batch_norm_{name}_kernel", 100 + 60 * number, length, launched=2 + 4 * number)
    made.launch("aten::relu", "void at::native::vectorized_elementwise_kernel<8>", 30, 190, 10)
    (chains,) = (row for row in profile_of(made).observations if row.kind == "fusible chains")
    # Scaling and the activation may become one; the statistics have to be there before.
    assert (chains.kernel_ms * 1e3, chains.saving_ms * 1e3) == (pytest.approx(40), pytest.approx(10))


def test_a_gap_while_a_graph_is_still_being_launched_is_not_between_queued_kernels(
    builder: Callable[..., Any],
) -> None:
    made = builder()
    made.span("cuda_runtime", "hipGraphLaunch", 0, 400, correlation=7)
    for start in (20, 200):  # the call goes on until 400
        made.span("kernel", "Cijk_x", start, 30, device=0, stream=0, correlation=7)
    made.span("kernel", "Cijk_x", 500, 30, device=0, stream=0, correlation=7)
    causes = {row.cause: row.idle_ms * 1e3 for row in profile_of(made).idle}
    assert causes == pytest.approx({"launch latency": 150, "between queued kernels": 270})


def test_what_runs_beside_the_main_stream_is_not_to_be_fused(builder: Callable[..., Any]) -> None:
    made = builder()
    made.launch("aten::mm", "Cijk_x", 0, 100, 200)
    for number in range(3):
        made.operator("aten::copy_", 20.0 * number, 10.0)
        name = "void at::native::elementwise_kernel<128, 4>"
        made.kernel(name, 110 + 50 * number, 20, launched=20.0 * number + 2, stream=2)
    assert "fusible chains" not in {row.kind for row in profile_of(made).observations}
    for number in range(2):  # behind it
        made.operator("aten::copy_", 300 + 20.0 * number, 10.0)
        name = "void at::native::elementwise_kernel<128, 4>"
        made.kernel(name, 400 + 20 * number, 20, launched=302 + 20.0 * number, stream=2)
    (chains,) = (row for row in profile_of(made).observations if row.kind == "fusible chains")
    assert chains.kernel_ms * 1e3 == pytest.approx(40)


@pytest.mark.parametrize("shifted", [False, True])
def test_times_that_cannot_belong_to_their_kernels_are_noted(builder: Callable[..., Any], shifted: bool) -> None:
    """Half of a graph's names are one kernel ahead of the times, as ROCm's profiler was seen to write them."""
    made = builder()
    made.span("cuda_runtime", "hipGraphLaunch", 0, 20, correlation=7)
    at, names = 100.0, ("aiter::rmsnorm2d", "Cijk_x")
    for number in range(40):
        length = (5.0, 60.0)[number % 2]
        name = names[(number + (shifted and number >= 20)) % 2]
        made.span("kernel", name, at, length, device=0, stream=0, correlation=7, grid=[32, 1, 1])
        at += length
    notes = " ".join(profile_of(made).notes)
    assert ("mixed up names and times" in notes) == shifted


def test_copies_that_a_product_makes_for_itself_are_no_run_to_be_fused(builder: Callable[..., Any]) -> None:
    made = builder()
    made.operator("aten::matmul", 0, 90.0)
    for number in range(2):
        made.operator("aten::clone", 10.0 + 20 * number, 15.0)
        made.launch(
            "aten::copy_", "void at::native::elementwise_kernel<128, 4>", 11.0 + 20 * number, 100 + 20 * number, 20
        )
    made.launch("aten::bmm", "Cijk_x", 60, 140, 50)
    assert "fusible chains" not in {row.kind for row in profile_of(made).observations}


def test_layers_with_a_window_are_rows_of_their_own(builder: Callable[..., Any]) -> None:
    made = builder()
    note = "execute_32_context_0(sq0sk0sqsq0sqsk0)_generation_32(sq32sk65536sqsq32sqsk65536)"
    made.span("user_annotation", note, 0.0, 990.0)
    dims, types = ((32, 64, 64), (32, 8, 64), (32, 8, 64)), ("c10::BFloat16",) * 3
    for layer in range(4):
        kernels = (("2d", 13.0),) if layer % 2 == 0 else (("3d", 41.0),)
        for name, length in kernels:
            operator, at = "vllm::unified_attention_with_output", 200.0 * layer
            made.launch(operator, f"kernel_unified_attention_{name}", at, at + 20, length, dims=dims, types=types)
    one = profile_of(made).operators
    assert len(one) == 1 and one[0].calls == 4
    full, narrow = profile_of(made, windows=(128, None)).operators
    assert (full.kernel_ms, narrow.kernel_ms) == (pytest.approx(0.082), pytest.approx(0.026))
    assert narrow.shapes.endswith("window 128") and not full.shapes.endswith("window 128")
    assert narrow.expected_ms is not None and full.expected_ms is not None
    assert narrow.expected_ms < full.expected_ms / 3
    with pytest.raises(UsageError, match="3 layers"):
        profile_of(made, windows=(128, None, None))


def test_a_launch_that_loads_code_is_not_work_that_nobody_recorded(builder: Callable[..., Any]) -> None:
    made = builder()
    made.launch("aten::mm", "a", 0, 10, 10)
    made.operator("aten::sum", 30, 7000.0)
    made.span("cuda_runtime", "hipLaunchKernel", 40, 6500.0, correlation=77)  # the kernel's code is loaded
    made.span("kernel", "b", 6550, 10.0, device=0, stream=0, correlation=77)
    causes = {row.cause: row.idle_ms * 1e3 for row in profile_of(made).idle}
    assert causes == pytest.approx({"host-bound": 20, "inside the launch call": 6510})


def test_a_gpu_without_a_name_is_known_by_its_size(builder: Callable[..., Any]) -> None:
    made = builder()
    facts = {"id": 0, "name": "AMD Radeon Graphics", "computeMajor": 9, "computeMinor": 0, "warpSize": 64}
    made.properties = [{**facts, "numSms": 104, "totalGlobalMem": 68702699520}]  # as ROCm 6.2 names an MI250
    made.launch("aten::mm", "Cijk_x", 0, 10, 10, dims=FOUR_K, types=(BF16, BF16))
    found = profile_of(made).peaks
    assert found is not None and found.alias == "mi210" and "104 compute units" in found.source
    made.properties = [{**facts, "numSms": 60, "totalGlobalMem": 68702699520}]
    assert profile_of(made).peaks is None


def test_without_operators_the_statistics_of_a_norm_still_end_a_chain(builder: Callable[..., Any]) -> None:
    made = builder()
    names = ("batch_norm_collect_statistics", "batch_norm_transform_input", "vectorized_elementwise")
    for number, name in enumerate(names):
        made.kernel(f"void at::native::{name}_kernel<4>", 100 + 60 * number, 30, launched=2 + 4 * number)
    (chains,) = (row for row in profile_of(made).observations if row.kind == "fusible chains")
    assert (chains.count, chains.kernel_ms * 1e3) == (1, pytest.approx(60))
