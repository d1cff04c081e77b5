"""Kernels of serving engines: mixtures of experts by name and grid, paged attention by the step's lengths."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from kernel_pytorch.core.errors import UsageError
from kernel_pytorch.core.hardware import gpu_by_alias
from kernel_pytorch.perf.expected.expected import expected_time
from kernel_pytorch.perf.roofline.forms import Attended, Routed, Tile
from kernel_pytorch.perf.roofline.paged import Batch, batch_of, paged_attention
from kernel_pytorch.perf.roofline.routed import kernel_work, routed_product, touched, worst_blocks
from kernel_pytorch.perf.roofline.windows import attention_windows
from kernel_pytorch.perf.roofline.work import Work, work_of
from kernel_pytorch.perf.trace.recording import Signature

BF16 = "c10::BFloat16"


def moe(tokens: int, width: int, experts: int) -> Signature:
    return Signature("vllm::moe_forward", ((tokens, width), (tokens, experts), (), ()), (BF16, BF16, "", ""))


# gpt-oss-20b (4 of 32 experts, 2880 wide, padded) in vLLM on an MI300X; gpt-oss-120b on eight B200: kernels and grids
# of public traces (AMD-AGI/TraceLens, tests/traces).
UP, DOWN = "_matmul_ogs_NNT_bf16xbf16xmxfp4_16x128x256x1_swiglu", "_matmul_ogs_NNT_bf16xbf16xmxfp4_16x128x256x1"
TRTLLM_UP = "bmm_MxE4m3_MxE2m1MxE4m3_Fp32_t128x16x256u2_s3_et128x16_m128x16x32_schedP2x1x2x3_swiGlu_dynBatch_sm100f"
TRTLLM_DOWN = "bmm_Bfloat16_MxE2m1MxE4m3_Fp32_t128x16x256u2_s3_et128x16_m128x16x32_schedP2x1x2x3_dynBatch_sm100f"


@pytest.mark.parametrize(
    ("signature", "up", "down", "rows", "product"),
    [
        (moe(32, 3072, 32), (UP, "[1748, 1, 1]"), (DOWN, "[912, 1, 1]"), 128, (5888, 3072)),
        (moe(888, 3072, 128), (TRTLLM_UP, "[8, 342, 1]"), (TRTLLM_DOWN, "[24, 342, 1]"), 3552, (1024, 3072)),
    ],
)
def test_the_grid_tells_what_the_operator_leaves_out(
    signature: Signature, up: tuple[str, str], down: tuple[str, str], rows: int, product: tuple[int, int]
) -> None:
    first = kernel_work(signature, *up, {up, down})
    second = kernel_work(signature, *down, {up, down})
    assert first is not None and second is not None
    assert isinstance(first.form, Routed) and isinstance(second.form, Routed)
    assert first.form.rows == second.form.rows == rows
    assert first.form.products == (product,) and second.form.products == ((3072, product[0] // 2),)
    # One kernel alone does not tell how many experts a token has.
    assert kernel_work(signature, *up, {up}) is None


def routed(work: Work | None) -> Routed:
    assert work is not None and isinstance(work.form, Routed)
    return work.form


def test_a_kernel_that_converts_its_weights_has_its_own_tile() -> None:
    both = {(UP, "[1748, 1, 1]"), (DOWN, "[912, 1, 1]")}
    work = kernel_work(moe(32, 3072, 32), DOWN, "[912, 1, 1]", both)
    assert routed(work).tile == Tile(16, 128, 256)
    # Hardware that multiplies these formats converts nothing.
    kernels = {(TRTLLM_UP, "[8, 342, 1]"), (TRTLLM_DOWN, "[24, 342, 1]")}
    assert routed(kernel_work(moe(888, 3072, 128), TRTLLM_DOWN, "[24, 342, 1]", kernels)).tile is None
    mi300x = gpu_by_alias("mi300x")
    own, other = (expected_time(mi300x, work, tuned=tuned) for tuned in (False, True)) if work else (None, None)
    assert own is not None and other is not None and own.us > 1.5 * other.us


def test_steps_that_do_not_divide_k_wait_for_their_loads() -> None:
    mi300x = gpu_by_alias("mi300x")
    times = []
    for k in (3072, 2944):
        work = routed_product(32, 32, 4, ((3072, k),), "bf16", "mxfp4")
        form = replace(routed(work), tile=Tile(16, 128, 256))
        found = expected_time(mi300x, replace(work, form=form))
        assert found is not None
        times.append(found.us)
    assert times[1] > 1.3 * times[0]  # with less to do


def test_few_tokens_leave_experts_out_and_their_weights_unread() -> None:
    assert touched(128, 1, 8) == pytest.approx(8)
    assert touched(128, 4096, 8) == pytest.approx(128)
    few, many = (routed_product(tokens, 128, 8, ((1024, 2048),), "bf16", "mxfp4") for tokens in (1, 4096))
    weights = 128 * 1024 * 2048 * 17 / 32
    assert few.bytes == pytest.approx(weights / 16, rel=0.02)
    assert many.bytes > weights and many.flops == 4096 * few.flops


def test_blocks_are_those_of_the_worst_spread() -> None:
    assert worst_blocks(20, 32, 16) == 20  # one row each
    assert worst_blocks(128, 32, 16) == 38  # 31 experts with one row, one with the rest


def test_a_step_tells_the_lengths() -> None:
    note = "execute_32_context_0(sq0sk0sqsq0sqsk0)_generation_32(sq32sk32785sqsq32sqsk32785)"
    assert batch_of(note) == Batch(32, 32, 32785, 32785)
    assert batch_of("execute_context_1(888_788544)_generation_0(0)") == Batch(1, 888, 888, 888 * 889 // 2)
    assert batch_of("execute_context_1(888_788544)_generation_3(3)") is None  # how long are those three?
    assert batch_of("step[DECODE bs=32]") is None


def test_paged_attention_reads_the_keys_that_are_there_not_the_whole_cache() -> None:
    cache = (835874, 1, 8, 128)
    one = Signature("x::paged_attention_ragged", ((32, 32, 128), (32, 32, 128), cache, cache), (BF16,) * 4)
    work = paged_attention(one, Batch(32, 32, 32768, 32768))
    assert work is not None
    assert work.form == Attended(32, 32, 1, 1024, 128)
    assert work.flops == 4 * 32 * 32768 * 128
    assert work.bytes == 2 * 32768 * 8 * 128 * 2 + 32 * 32 * 128 * 4
    assert paged_attention(one, None) is None


def test_a_generated_kernel_touches_no_more_than_it_goes_over() -> None:
    """Rows taken from a table: 32 of 201,088."""
    one = Signature(
        "triton_poi_fused_embedding_0",
        ((32,), (201088, 2880), (32, 2880), ()),
        ("long int", BF16, BF16, "Scalar"),
        concrete=("", "", "", str(32 * 2880)),
    )
    work = work_of(one)
    assert work is not None and work.bytes == 32 * 8 + 2 * 32 * 2880 * 2


FP8 = "c10::Float8_e4m3fnuz"


@pytest.mark.parametrize(
    ("signature", "rows", "products", "joint"),
    [
        pytest.param(
            Signature(
                "vllm::inplace_fused_experts",
                ((16, 2048), (128, 1536, 2048), (128, 2048, 768), (16, 8), (16, 8)),
                (BF16, BF16, BF16, "float", "int"),
            ),
            128, ((1536, 2048), (2048, 768)), False, id="vLLM, Qwen3-30B-A3B",
        ),
        pytest.param(
            Signature(
                "aiter::ck_moe_stage1",
                ((16, 4096), (8, 28672, 4096), (8, 4096, 14336), (64,), (8,), (2,), (16, 2, 14336), ()),
                (FP8, FP8, FP8, "int", "int", "int", BF16, "Scalar"),
                concrete=("",) * 7 + ("2",),
            ),
            32, ((28672, 4096),), False, id="aiter, first stage",
        ),
        pytest.param(
            Signature(
                "aiter::ck_moe_stage2",
                ((16, 2, 14336), (8, 28672, 4096), (8, 4096, 14336), (64,), (8,), (2,), (16, 4096), ()),
                (FP8, FP8, FP8, "int", "int", "int", BF16, "Scalar"),
                concrete=("",) * 7 + ("2",),
            ),
            32, ((4096, 14336),), False, id="aiter, second stage",
        ),
        pytest.param(
            Signature(
                "aiter::fmoe_g1u1",
                ((16, 4096), (16, 4096), (8, 3072, 4096), (8, 4096, 1536), (64,), (64,), (8,), (2,), ()),
                (BF16, FP8, FP8, FP8, "int", "float", "int", "int", "Scalar"),
                concrete=("",) * 8 + ("2",),
            ),
            32, ((3072, 4096), (4096, 1536)), True, id="aiter, one kernel",
        ),
    ],
)  # fmt: skip
def test_experts_whose_operator_names_its_weights(
    signature: Signature, rows: int, products: tuple[tuple[int, int], ...], joint: bool
) -> None:
    work = work_of(signature)
    assert work is not None and isinstance(work.form, Routed)
    assert (work.form.rows, work.form.products, work.form.joint) == (rows, products, joint)
    assert work.flops == sum(2 * rows * n * k for n, k in products)


def test_packed_weights_have_twice_the_columns_and_odd_ones_are_not_guessed() -> None:
    shapes = ((4, 2880), (32, 5760, 1440), (32, 2880, 1440), (4, 4), (4, 4))
    packed = Signature("vllm::outplace_fused_experts", shapes, (BF16, "unsigned char", "unsigned char", "float", "int"))
    work = work_of(packed)
    assert work is not None and isinstance(work.form, Routed)
    assert work.form.products == ((5760, 2880), (2880, 2880)) and work.arithmetic == "bf16"
    # Weights that do not fit each other are in some layout that is not known here.
    strange = Signature("vllm::outplace_fused_experts", shapes, (BF16, BF16, BF16, "float", "int"))
    assert work_of(strange) is None


def test_a_window_leaves_keys_out() -> None:
    note = "execute_8192_context_2(sq600sk1000sqsq180000sqsk300000)_generation_3(sq3sk300sqsq3sqsk300)"
    full, narrow = batch_of(note), batch_of(note, 128)
    assert full is not None and narrow is not None and narrow.window == 128
    # Two sequences of 300 new tokens behind 200: 128 keys for each; three of 100 keys, which the window holds.
    assert narrow.pairs == 600 * 128 + 300 and narrow.keys == 2 * (128 + 299) + 300
    assert (narrow.sequences, narrow.queries) == (full.sequences, full.queries)
    # From nothing: the first 127 queries have fewer keys, 1 + 2 + ... + 127.
    one = batch_of("execute_context_1(888_788544)_generation_0(0)", 128)
    assert one is not None and one.pairs == 127 * 128 // 2 + (888 - 127) * 128
    wide = batch_of(note, 100_000)
    assert wide is not None and (wide.keys, wide.pairs) == (full.keys, full.pairs)


@pytest.mark.parametrize(
    ("config", "windows"),
    [
        ({"sliding_window": 128, "layer_types": ["sliding_attention", "full_attention"]}, (128, None)),
        ({"text_config": {"sliding_window": 1024, "sliding_window_pattern": 3}}, (1024, 1024, None)),
        ({"sliding_window": 4096}, (4096,)),
        ({"sliding_window": 4096, "use_sliding_window": False}, (None,)),
        ({"hidden_size": 8}, (None,)),
    ],
)
def test_a_models_configuration_tells_its_windows(
    config: dict[str, object], windows: tuple[int | None, ...], tmp_path: Path
) -> None:
    path = tmp_path / "config.json"
    path.write_text(json.dumps(config))
    assert attention_windows(path) == windows


@pytest.mark.parametrize("text", ["", "[]", '{"sliding_window": "wide"}'])
def test_what_is_no_configuration_is_refused(text: str, tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    path.write_text(text)
    with pytest.raises(UsageError, match=r"config\.json"):
        attention_windows(path)
