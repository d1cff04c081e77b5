"""Expected times: what the formulas must hold to, where the coefficients come from, and a few real measurements."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import pytest

from kernel_pytorch.core.hardware import GPU, gpu_by_alias, gpus
from kernel_pytorch.perf.expected.expected import expected_time, total
from kernel_pytorch.perf.expected.formulas import Launched, kind_of
from kernel_pytorch.perf.expected.table import COLUMNS, TABLE, TUNED_GEMM, fitted
from kernel_pytorch.perf.roofline.collectives import sent_bytes
from kernel_pytorch.perf.roofline.forms import (
    Attended,
    Collective,
    Convolved,
    HostCopy,
    Product,
    Rows,
    Streamed,
    access_of,
)
from kernel_pytorch.perf.roofline.functions import INSTRUCTIONS
from kernel_pytorch.perf.roofline.loops import streamed
from kernel_pytorch.perf.roofline.routed import routed_product
from kernel_pytorch.perf.roofline.shapes import Tensor
from kernel_pytorch.perf.roofline.work import Work

MI300X, MI355X = gpu_by_alias("mi300x"), gpu_by_alias("mi355x")
BF16 = "c10::BFloat16"


def product(m: int, n: int, k: int, arithmetic: str = "bf16", size: float = 2) -> Work:
    moved = int(size * (m * k + n * k) + 2 * m * n)
    return Work(2 * m * n * k, moved, arithmetic, matrix=True, form=Product(1, m, n, k))


def stream(moved: int, what: str = "elementwise", access: str = "same") -> Work:
    return Work(0, moved, "bf16", form=Streamed(what, access))


# Measured on an MI300X in public traces that nothing was fitted on (AMD-AGI/TraceLens, tests/traces).
MEASURED = [
    pytest.param(product(8192, 2432, 2432), 181.1, id="xdit_sd_3.5 aten::mm"),
    pytest.param(product(32768, 8192, 2048), 1874.6, id="torch_compile_triton aten::mm"),
    pytest.param(product(788, 768, 768), 8.5, id="Falconsai aten::addmm"),
    pytest.param(
        Work(4 * 8 * 16 * 4096**2 * 128, 4 * 2 * 8 * 16 * 4096 * 128, "bf16", True, Attended(8, 16, 4096, 4096, 128)),
        3683.5, id="torch_compile_triton attention",
    ),
    pytest.param(stream(115_610_000), 28.3, id="timesformer aten::add"),
]  # fmt: skip


@pytest.mark.parametrize(("work", "us"), MEASURED)
def test_real_times_lie_inside_the_interval(work: Work, us: float) -> None:
    found = expected_time(MI300X, work)
    assert found is not None and found.low_us <= us <= found.high_us


@pytest.mark.parametrize("gpu", gpus(), ids=lambda gpu: gpu.alias)
def test_every_gpu_has_a_time_for_every_form_and_says_what_it_rests_on(gpu: GPU) -> None:
    forms = [
        product(512, 512, 512), product(64, 4096, 4096, "fp8", 1), stream(1 << 20),
        stream(1 << 20, "copy", "transposed"), Work(9, 1 << 20, "bf16", form=Rows("generated loop", 512, 1024)),
        Work(9, 1 << 20, "bf16", form=Rows("generated row", 512, 64)),
        routed_product(64, 128, 8, ((3072, 4096),), "fp8", "fp8"),
        Work(1 << 30, 1 << 20, "bf16", True, Attended(32, 8, 1, 4096, 128)),
        Work(1 << 20, 1 << 20, "bf16", True, Product(40000, 8, 8, 64)),
        Work(0, 1 << 20, "bf16", form=HostCopy()),
        Work(9, 1 << 20, "bf16", form=Rows("row norm", 512, 1024)),
        Work(9, 1 << 20, "bf16", form=Rows("channel norm", 64, 1024)),
        Work(1 << 30, 1 << 20, "bf16", True, Attended(1, 8, 512, 512, 64)),
        Work(1 << 30, 1 << 20, "bf16", True, Convolved(Product(1, 4096, 64, 576), 9)),
        Work(1 << 30, 1 << 20, "bf16", True, Convolved(Product(1, 4096, 64, 576), 9, backward=2)),
    ]  # fmt: skip
    for work in forms:
        found = expected_time(gpu, work)
        assert found is not None, kind_of(work)
        assert 0 < found.low_us < found.us < found.high_us
        measured = any(row.gpu == gpu.alias for row in fitted().values())
        assert found.basis.startswith(("fitted to", "derived from") if measured else "derived from")


def test_another_gpu_is_derived_by_its_hardware_and_with_a_wider_interval() -> None:
    work = stream(1 << 30)
    here, there = expected_time(MI300X, work), expected_time(gpu_by_alias("mi325x"), work)
    assert here is not None and there is not None
    assert there.basis == "derived from MI300X" and "MI300X" in here.basis
    assert there.us < here.us and there.us > here.us * MI300X.bandwidth_gbs / 6001
    assert there.high_us / there.us > here.high_us / here.us


def test_more_work_does_not_take_less_time() -> None:
    sizes = [2**n for n in range(4, 15)]
    for make in (lambda n: stream(n * n), lambda n: product(n, 4096, 4096), lambda n: product(4096, n, 4096)):
        times = [expected_time(MI300X, make(size)) for size in sizes]
        values = [one.us for one in times if one is not None]
        assert len(values) == len(sizes)
        # More tiles fill the memory interface better: a few per cent less is what hardware does, too.
        assert all(later >= earlier * 0.95 for earlier, later in itertools.pairwise(values))


def test_a_product_that_fills_a_round_badly_takes_a_round_more() -> None:
    """304 tiles of 256 x 256 are one round over 304 compute units; one tile more is a second one, of some tile size."""
    full, more = (expected_time(MI300X, product(256 * 16, 256 * columns, 16384)) for columns in (19, 20))
    assert full is not None and more is not None
    assert more.us / full.us > 1.2  # 5 % more work


def test_the_limiter_is_launch_for_next_to_no_work() -> None:
    small, large = expected_time(MI300X, stream(100)), expected_time(MI300X, stream(1 << 33))
    assert small is not None and small.limiter == "launch"
    assert large is not None and large.limiter == "memory"
    heavy = expected_time(MI300X, product(8192, 8192, 8192))
    assert heavy is not None and heavy.limiter == "compute" and heavy.best_us == pytest.approx(841.0, rel=0.01)


def test_work_of_unknown_form_has_no_time() -> None:
    assert expected_time(MI300X, Work(10, 100, "fp32")) is None


def test_a_kernel_after_idling_is_reported_as_shorter_on_amd() -> None:
    queued, idle = (expected_time(MI300X, stream(1000), launched=Launched(after_idle=share)) for share in (0.0, 1.0))
    assert queued is not None and idle is not None and idle.us < queued.us


def test_errors_of_one_kind_add_up_and_those_of_others_do_not() -> None:
    one, other = expected_time(MI300X, stream(1 << 20)), expected_time(MI300X, product(512, 512, 512))
    assert one is not None and other is not None
    same = total([one, one])
    assert same is not None and same.high_us == pytest.approx(2 * one.high_us)
    mixed = total([one, other])
    assert mixed is not None and mixed.us == pytest.approx(one.us + other.us)
    assert mixed.high_us < one.high_us + other.high_us
    assert mixed.high_us - mixed.us == pytest.approx(math.hypot(one.high_us - one.us, other.high_us - other.us))
    assert total([]) is None


def test_tuned_kernels_have_coefficients_of_their_own() -> None:
    work = product(2048, 50016, 6144)
    found = expected_time(MI355X, work, tuned=True)
    assert found is not None and TUNED_GEMM in found.basis and "ROCm/aiter" in found.basis
    assert found.low_us < 1036 < found.high_us  # aiter's table for this shape: 1,036 us


def test_the_table_is_whole() -> None:
    head = TABLE.read_text(encoding="utf-8").splitlines()[0]
    assert tuple(head.split(",")) == COLUMNS
    for row in fitted().values():
        gpu_by_alias(row.gpu)
        assert row.low < 1 < row.high and row.rows > 0 and row.source
        assert all(value > 0 for value in row.use.values()) and "start" in row.use


def test_how_tensors_lie_to_each_other() -> None:
    plain = Tensor((8, 16), BF16, (16, 1))
    assert access_of((plain, plain)) == "same"
    assert access_of((plain, Tensor((16,), BF16, (1,)))) == "broadcast"
    assert access_of((plain, replace(plain, strides=(0, 1)))) == "broadcast"
    assert access_of((plain, replace(plain, strides=(32, 1)))) == "strided"
    assert access_of((plain, replace(plain, strides=(1, 8)))) == "transposed"
    assert access_of((plain, Tensor((), BF16))) == "same"  # a number takes part without being read along
    assert access_of((plain, Tensor((8, 16), BF16))) == "same"  # strides not recorded: contiguous


def test_more_kernels_start_more_often_where_data_is_streamed() -> None:
    one, three = (expected_time(MI300X, stream(1000), launched=Launched(kernels=count)) for count in (1, 3))
    assert one is not None and three is not None
    assert three.us == pytest.approx(one.us + 2 * fitted()["mi300x", "elementwise", ""].use["start"], rel=0.01)


def test_a_collective_takes_what_its_links_give_and_a_gpu_without_links_has_no_time() -> None:
    def all_reduce(members: int) -> Work:
        return Work(
            0, 1 << 30, "fp32", form=Collective("all-reduce", members, sent_bytes("all-reduce", members, 1 << 30), 2)
        )

    eight, two = expected_time(MI300X, all_reduce(8)), expected_time(MI300X, all_reduce(2))
    assert eight is not None and two is not None
    # Two of eight that are all linked have one link between them; the other six lie idle.
    assert two.us > 3 * eight.us
    switched = [expected_time(gpu_by_alias("h100"), all_reduce(members)) for members in (2, 8)]
    assert switched[0] is not None and switched[1] is not None and switched[0].us < switched[1].us
    assert expected_time(gpu_by_alias("rx7900xtx"), all_reduce(2)) is None


def test_a_long_row_is_shared_where_torch_shares_it() -> None:
    alone, shared = (Work(9, 4 << 20, "fp32", form=Rows("reduction", 1, 1 << 20, shared)) for shared in (False, True))
    slow, fast = expected_time(MI300X, alone), expected_time(MI300X, shared)
    assert slow is not None and fast is not None and fast.us < slow.us / 5


def test_a_first_run_after_idling_takes_longer_than_a_later_one() -> None:
    first, later = (
        expected_time(MI300X, stream(1000), launched=Launched(after_idle=1.0, cold=share)) for share in (1.0, 0.0)
    )
    assert first is not None and later is not None and first.us > later.us


@pytest.mark.parametrize("loop", [{"steps": 10**10}, {"lines": 10**9}, {"groups": 10**7}])
def test_a_loop_is_as_slow_as_its_slowest_part(loop: dict[str, int]) -> None:
    plain = expected_time(MI300X, stream(1 << 20, "copy", "strided"))
    slow = expected_time(MI300X, Work(0, 1 << 20, "bf16", form=Streamed("copy", "strided", **loop)))
    assert plain is not None and slow is not None and slow.us > 10 * plain.us


def test_a_product_with_ragged_rows_takes_longer() -> None:
    even = product(4096, 4096, 4096)
    ragged = replace(even, form=Product(1, 4096, 4096, 4096, ragged=True))
    one, other = expected_time(MI300X, even), expected_time(MI300X, ragged)
    assert one is not None and other is not None and other.us > 1.1 * one.us


def test_what_the_cache_holds_comes_faster_than_the_rest() -> None:
    cache = int(MI300X.l2_mib * 2**20)
    times = [expected_time(MI300X, stream(size)) for size in (cache // 2, cache, 8 * cache)]
    start = fitted()["mi300x", "elementwise", ""].use["start"]
    first, full, large = (one.us - start for one in times if one is not None)
    assert full == pytest.approx(2 * first)
    assert large > 8 * full  # what does not fit goes at the memory's rate


def test_a_lane_needs_its_time_however_few_elements_there_are() -> None:
    short, long = (Work(0, 64, "bf16", form=Streamed("copy", "strided", depth=depth)) for depth in (0, 2000))
    fast, slow = expected_time(MI300X, short), expected_time(MI300X, long)
    assert fast is not None and slow is not None
    assert slow.us - fast.us == pytest.approx(2000 * 4 / MI300X.boost_mhz, rel=0.02)


def test_a_function_costs_instructions_where_bytes_do_not() -> None:
    x = Tensor((1 << 22,), BF16, (1,))
    plain, gelu = (
        expected_time(MI300X, Work(0, 1 << 24, "bf16", form=streamed("generated pointwise", (x,), function=count)))
        for count in (0, INSTRUCTIONS["gelu"])
    )
    assert plain is not None and gelu is not None and gelu.us > 1.3 * plain.us


def test_scaling_small_pictures_takes_a_workgroup_for_each() -> None:
    few, many = (Rows("channel norm", 512, 25088, groups=groups) for groups in (512, 512 * 512))
    times = [expected_time(MI300X, Work(0, 51_400_000, "bf16", form=form)) for form in (few, many)]
    assert times[0] is not None and times[1] is not None and times[1].us > times[0].us + 100


def test_the_sum_over_experts_counts_for_the_second_product() -> None:
    plain, summed = (
        routed_product(8192, 128, 8, ((4096, 512),), "fp8", "fp8", summed=summed) for summed in (False, True)
    )
    assert summed.bytes - plain.bytes == (8192 * 8 + 8192) * 4096 * 2
    # As many FLOPs with a short K: each tile has hardly begun when it ends.
    long, short = (
        expected_time(MI355X, routed_product(8192, 128, 8, (size,), "fp8", "fp8"), tuned=True)
        for size in ((512, 4096), (4096, 512))
    )
    assert long is not None and short is not None and short.us > 1.3 * long.us


def test_a_copy_to_the_gpu_is_slower_and_short_ones_are_shorter_on_an_idle_gpu() -> None:
    there, back = (expected_time(MI300X, Work(0, 40 << 20, "bf16", form=HostCopy(to_gpu=to))) for to in (True, False))
    assert there is not None and back is not None and there.us > 1.2 * back.us
    small = Work(0, 4096, "bf16", form=HostCopy())
    queued, alone = (expected_time(MI300X, small, launched=Launched(after_idle=share)) for share in (0.0, 1.0))
    assert queued is not None and alone is not None and alone.us < 0.8 * queued.us


def test_a_convolution_of_two_kernels_has_fewer_to_start_than_one_of_six() -> None:
    work = Work(1 << 27, 1 << 20, "bf16", True, Convolved(Product(1, 1024, 512, 144), 9))
    times = [expected_time(MI300X, work, launched=Launched(kernels=count)) for count in (1.0, 2.0, 6.0)]
    unknown, two, six = (one.us for one in times if one is not None)
    assert two < 0.7 * six and two < unknown <= six


def test_a_convolution_with_groups_does_not_pass_for_measured() -> None:
    plain, grouped = (
        expected_time(MI300X, Work(1 << 27, 1 << 24, "bf16", True, Convolved(Product(groups, 4096, 8, 49), 49)))
        for groups in (1, 96)
    )
    assert plain is not None and grouped is not None
    assert grouped.basis.startswith("fitted") and " as convolution" in grouped.basis and " as " not in plain.basis
    assert grouped.high_us / grouped.us > plain.high_us / plain.us
