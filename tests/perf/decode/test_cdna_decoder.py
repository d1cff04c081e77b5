"""AMD's one-kernel decoder: how it is cut, what it is built to, and its machine code on an emulated GPU, with all
programs at once. On a GPU: tests/hw/test_decoder_amd.py."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from kernel_pytorch.core.hardware import gpu_by_alias, target
from kernel_pytorch.emulate.device import EmulatedDevice, TensorMemory
from kernel_pytorch.perf.decode.cdna import decoder_launch
from kernel_pytorch.perf.decode.cdna.decoder_shape import FLAGS, THREADS, WAVE, WAVES, DecoderShape, why_not
from kernel_pytorch.perf.decode.form import Form
from kernel_pytorch.perf.decode.ops import register
from tests.perf.decode.given_decoder import GivenDecoder, Token, element_type, given_decoder, plainly, seen_with, token

LDS = target("gfx942").max_lds_bytes_per_workgroup
LLAMA_1B = DecoderShape(16, 2048, 8192, 128256, 32, 8, 64, 2048, 304, has_bias=True)
LARGE = [
    LLAMA_1B,
    DecoderShape(28, 1024, 3072, 151936, 16, 8, 128, 1024, 304),
    DecoderShape(28, 3072, 8192, 128256, 24, 8, 128, 2048, 304, has_bias=True),
    DecoderShape(32, 4096, 14336, 128256, 32, 8, 128, 8192, 256, has_bias=True, is_half=True),
    DecoderShape(26, 2304, 9216, 256000, 8, 4, 256, 4096, 304),
    DecoderShape(32, 2560, 10240, 51200, 32, 32, 80, 2048, 38),
]
SMALL = DecoderShape(2, 64, 96, 50, 4, 2, 16, 24, 6, has_bias=True)
# Two parts of a head, columns that do not fill a step, lanes of a key left over, an odd number of groups.
UNEVEN = DecoderShape(1, 72, 200, 90, 3, 1, 24, 400, 11, is_half=True)
WIDER = [
    DecoderShape(1, 160, 4104, 64, 2, 2, 80, 300, 7, has_bias=True, bias_is_float=True),
    DecoderShape(1, 192, 320, 64, 2, 1, 96, 130, 9),
    DecoderShape(1, 512, 640, 64, 2, 1, 256, 70, 5, has_bias=True),
    DecoderShape(3, 128, 256, 32, 8, 2, 64, 700, 24),
]


QWEN3 = replace(SMALL, has_head_norms=True)
QWEN2 = replace(UNEVEN, has_qkv_biases=True, has_bias=True)
GLM = replace(SMALL, has_qkv_biases=True, turned=8, form=Form(neighbours=True))
PHI = replace(SMALL, size=24, turned=8)
GEMMA = Form("gelu_tanh", cap=2.0, norm_plus=1.0)
GEMMA_2 = replace(SMALL, layers=3, length=700, programs=9, has_after_norms=True, kinds=2, form=GEMMA)
GEMMA_3 = replace(GEMMA_2, has_head_norms=True, size=80, hidden=72, form=replace(GEMMA, cap=0.0, gate="gelu_erf"))
FORMS = {"Qwen3": QWEN3, "Qwen2": QWEN2, "GLM": GLM, "Phi": PHI, "Gemma 2": GEMMA_2, "Gemma 3": GEMMA_3}


# -- how it is cut


@pytest.mark.parametrize("shape", [*LARGE, SMALL, UNEVEN, *WIDER], ids=str)
def test_every_row_and_key_has_one_program(shape: DecoderShape) -> None:
    assert why_not(shape, LDS) is None
    for rows, each, lanes in (
        (shape.hidden, shape.hidden_each, (shape.lanes_seen, shape.lanes_wide)),
        (shape.wide, shape.wide_each, (shape.lanes_hidden,)),
        (shape.words, shape.words_each, (shape.lanes_hidden,)),
    ):
        assert each * shape.programs >= rows and each % 2 == 0
        assert all(each % (WAVE // one) == 0 for one in lanes)
    blocks = [-(-rows * shape.size // shape.qkv_each) for rows in (shape.heads, shape.shared, shape.shared)]
    assert sum(blocks) <= shape.programs
    assert shape.parts * shape.heads <= shape.programs
    assert shape.chunk * shape.parts >= shape.length > shape.chunk * (shape.parts - 1)
    assert shape.chunk % (WAVES * WAVE // shape.lanes_key) == 0


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"hidden": 2052}, "hidden size"),
        ({"wide": 8196}, "MLP"),
        ({"wide": 40960}, "more than"),
        ({"words": 32001}, "odd"),
        ({"size": 20}, "heads of 20"),
        ({"size": 264}, "heads of 264"),
        ({"turned": 7}, "7 rotated elements"),
        ({"heads": 30}, "30 query heads"),
        ({"programs": 30}, "more than the 30 programs"),
        ({"words": 524288, "hidden": 4096}, "bytes"),
        ({"programs": 40, "words": 256000}, "LDS"),
    ],
)
def test_what_it_does_not_take(change: dict[str, Any], reason: str) -> None:
    assert reason in str(why_not(replace(LLAMA_1B, **change), LDS))


def test_only_cdna_has_it() -> None:
    assert {name: decoder_launch.why_not_on(target(name)) is None for name in ("gfx942", "gfx950", "gfx90a")} == {
        "gfx942": True, "gfx950": True, "gfx90a": True,
    }  # fmt: skip
    for name in ("gfx908", "gfx1100", "gfx1201", "sm_90"):
        assert name in str(decoder_launch.why_not_on(target(name)))


# -- what it is built to


def instructions(assembly: str) -> list[str]:
    lines = (line.split(";")[0].strip() for line in assembly.splitlines())
    return [line for line in lines if line and not line.startswith(".") and not line.endswith(":")]


def test_weights_stay_under_way_across_barriers_and_words_go_past_the_caches() -> None:
    built = decoder_launch.built(SMALL, "gfx942", keep_assembly=True)
    (resources,) = built.kernel.resources
    assert not resources.vgpr_spills and not resources.sgpr_spills and not resources.scratch_bytes
    assert built.shape.held == SMALL.held
    text = instructions(built.kernel.assembly or "")
    weights = [line for line in text if re.match(r"buffer_load_dwordx4.* nt$", line)]
    assert len(weights) >= 10  # those of rows that a program does not have are left out
    # A place that the compiler takes for different in every lane would have a loop over lanes around each load.
    for number, line in enumerate(text):
        assert line not in weights or not any("v_cmp_eq_u64" in other for other in text[max(0, number - 8) : number])
    words = [line for line in text if line.startswith(("global_load_dwordx2", "global_store_dwordx2"))]
    assert len([line for line in words if line.endswith("sc1")]) > 10
    # No fence: it would write back or empty an L2.
    assert not any(line.startswith(("buffer_wbl2", "buffer_inv")) for line in text)
    # Between the last load of weights and a barrier nobody waits for loads.
    crossed = 0
    for number, line in enumerate(text):
        before = text[max(0, number - 40) : number]
        loads = [place for place, other in enumerate(before) if other in weights]
        if line == "s_barrier" and loads:
            waits = [other for other in before[loads[-1] :] if other.startswith("s_waitcnt")]
            assert not any("vmcnt" in other for other in waits), before
            crossed += 1
    assert crossed >= 4


@pytest.mark.slow
@pytest.mark.parametrize("name", ["gfx942", "gfx950"])
@pytest.mark.parametrize("shape", LARGE, ids=str)
def test_real_decoders_are_built_without_spills(name: str, shape: DecoderShape) -> None:
    built = decoder_launch.built(shape, name)
    (resources,) = built.kernel.resources
    assert not resources.vgpr_spills and not resources.scratch_bytes and resources.sgpr_spills <= 8
    assert built.shape.held >= 8
    assert built.resident(shape.programs) >= shape.programs


def test_more_programs_than_run_at_once_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """The GPU is a stand-in, and its compute units hold nothing."""
    given = given_decoder(SMALL)
    card = SimpleNamespace(gcnArchName="gfx942:sramecc+:xnack-", multi_processor_count=6)
    monkeypatch.setattr(torch.version, "hip", "7.2")
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda device: card)
    monkeypatch.setattr(decoder_launch.Built, "resident", lambda self, units: units - 1)
    build = decoder_launch.built
    monkeypatch.setattr(decoder_launch, "built", lambda shape, name: build(shape, name, keep_assembly=True))  # as above
    decoder_launch.why_not_here.cache_clear()
    one = token(SMALL, 3)
    try:
        reason = decoder_launch.kept_for(one.row, *given.tensors, one.rest[1], one.rest[2])
    finally:
        decoder_launch.why_not_here.cache_clear()
    assert reason == "6 programs are more than the 5 that run at the same time"


# -- what it computes


@pytest.fixture(scope="module")
def mi300x() -> Iterator[EmulatedDevice]:
    with EmulatedDevice("mi300x") as device:
        yield device


def emulated(device: EmulatedDevice, given: GivenDecoder, kept: decoder_launch.Kept, one: Token) -> Any:
    """All programs at once: each waits for the others, so one after another they would never end."""
    out = torch.zeros(1, given.shape.words, dtype=element_type(given.shape))
    arguments = decoder_launch.arguments(kept, one.row, out, given.caches[0], *one.rest, seen_with(given, one))
    there = [TensorMemory(value) if isinstance(value, torch.Tensor) else value for value in arguments]
    kept.built.kernel.launch(given.shape.programs, THREADS, there, on=device)
    return out


def away(found: Any, expected: Any) -> float:
    assert not found.isnan().any()
    return float((found.float() - expected.float()).abs().max())


def compared(device: EmulatedDevice, shape: DecoderShape, places: tuple[int, ...]) -> None:
    """As near to float32 as the steps with the same roundings are, and the caches as they leave them."""
    given = given_decoder(shape)
    built = decoder_launch.built(shape, device.gpu.target.name, keep_assembly=True)
    kept = decoder_launch.keep(built, *given.tensors, given.extras)
    for at in places:
        one = token(shape, at)
        exact, _ = plainly(given, one, torch.float32)
        rounded, caches = plainly(given, one, element_type(shape))
        found = emulated(device, given, kept, one)
        assert away(found, exact) <= 2 * away(rounded, exact) + 1e-3, (shape, at)
        for mine, theirs in zip(given.caches, caches, strict=True):
            assert away(mine, theirs) <= 0.05 and torch.equal(mine[:, :, :at], theirs[:, :, :at])
            mine.copy_(theirs)
    past = kept.words.view(torch.int32)[2 * shape.exchanged + FLAGS * shape.programs]
    assert int(past) == len(places)


@pytest.mark.slow
def test_emulated_it_gives_what_the_steps_give(mi300x: EmulatedDevice) -> None:
    compared(mi300x, SMALL, (5, 0, 23))


@pytest.mark.slow
def test_a_place_outside_the_cache_writes_nothing(mi300x: EmulatedDevice) -> None:
    given = given_decoder(SMALL)
    built = decoder_launch.built(SMALL, "gfx942", keep_assembly=True)
    before = [one.clone() for one in given.caches]
    for outside in (SMALL.length, -1):
        one = token(SMALL, 7)
        emulated(mi300x, given, decoder_launch.keep(built, *given.tensors), replace_position(one, outside))
        assert all(torch.equal(mine, other) for mine, other in zip(given.caches, before, strict=True))


@pytest.mark.slow
def test_what_was_at_the_place_counts_for_nothing(mi300x: EmulatedDevice) -> None:
    built = decoder_launch.built(SMALL, "gfx942", keep_assembly=True)
    results = []
    for stale in (0.5, float("nan")):
        given = given_decoder(SMALL)
        for cache in given.caches:
            cache[:, :, 7] = stale
        results.append(emulated(mi300x, given, decoder_launch.keep(built, *given.tensors), token(SMALL, 7)))
    assert torch.equal(*results)


def replace_position(one: Token, at: int) -> Token:
    return Token(one.row, (torch.tensor([at]), *one.rest[1:]))


@pytest.mark.slow
@pytest.mark.parametrize("shape", [UNEVEN, *WIDER], ids=str)
def test_other_sizes_too(mi300x: EmulatedDevice, shape: DecoderShape) -> None:
    compared(mi300x, shape, (shape.length - 1, 3, shape.length // 2) if shape.has_bias else (shape.length - 1,))


@pytest.mark.slow
def test_keys_that_the_mask_hides_are_not_read(mi300x: EmulatedDevice) -> None:
    """What they hold would be seen: not a number times zero is none either."""
    shape = replace(SMALL, layers=1, length=1300)  # several parts, and several rounds of loads in each
    built = decoder_launch.built(shape, "gfx942", keep_assembly=True)
    results = []
    for hidden in (0.5, float("nan")):
        given = given_decoder(shape)
        one = token(shape, 900)
        one.rest[1][..., :640] = float("-inf")
        for cache in given.caches:
            cache[:, :, :640] = hidden
            cache[:, :, 901:] = hidden
        results.append(emulated(mi300x, given, decoder_launch.keep(built, *given.tensors), one))
    assert not results[0].isnan().any() and torch.equal(*results)


@pytest.mark.slow
def test_a_mask_that_hides_all_keys_alike_hides_none(mi300x: EmulatedDevice) -> None:
    shape = replace(SMALL, layers=1)
    given = given_decoder(shape)
    one = token(shape, 12)
    one.rest[1][:] = torch.finfo(torch.bfloat16).min
    exact, _ = plainly(given, one, torch.float32)
    kept = decoder_launch.keep(decoder_launch.built(shape, "gfx942", keep_assembly=True), *given.tensors)
    assert away(emulated(mi300x, given, kept, one), exact) <= 0.03


@pytest.mark.slow
@pytest.mark.parametrize("name", FORMS)
def test_forms_of_decoders(mi300x: EmulatedDevice, name: str) -> None:
    shape = FORMS[name]
    places = (shape.length - 1, 3, shape.length // 2)
    compared(mi300x, shape, places)


@pytest.mark.slow
def test_on_mi355x() -> None:
    with EmulatedDevice("mi355x") as device:
        compared(device, SMALL, (5, 23))
        compared(device, UNEVEN, (399,))
        compared(device, GEMMA_3, (500,))
        compared(device, GLM, (9,))


@pytest.mark.slow
def test_as_the_five_kernels(mi300x: EmulatedDevice) -> None:
    """Both as machine code of the same GPU, from the same tensors."""
    from kernel_pytorch.emulate.triton_session import emulated_triton
    from kernel_pytorch.perf.decode import launch
    from kernel_pytorch.perf.decode.decoder_steps import Steps, in_steps

    pytest.importorskip("triton")
    register()
    given = given_decoder(SMALL)
    one = token(SMALL, 9)
    caches = [cache.clone() for cache in given.caches]
    with emulated_triton(gpu_by_alias("mi300x")) as session:
        steps = Steps(launch.row_products, launch.row_gated, launch.attend_and_store)
        theirs = in_steps(steps, one.row, given.weights, given.norms, caches, given.head, *one.rest)
    assert len(session.launches) == 5 * SMALL.layers + 1
    kept = decoder_launch.keep(decoder_launch.built(SMALL, "gfx942", keep_assembly=True), *given.tensors)
    found = emulated(mi300x, given, kept, one)
    assert away(found, theirs) <= 0.02
    for mine, other in zip(given.caches, caches, strict=True):
        assert away(mine, other) <= 0.02
