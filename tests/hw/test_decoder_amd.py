"""AMD's one-kernel decoder on a CDNA GPU, against plain torch and five kernels a layer."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch

from kernel_pytorch.perf.decode import launch
from kernel_pytorch.perf.decode.cdna import decoder_launch
from kernel_pytorch.perf.decode.cdna.decoder_shape import DecoderShape
from kernel_pytorch.perf.decode.decoder_steps import Steps, in_steps
from kernel_pytorch.perf.decode.form import Form
from kernel_pytorch.perf.decode.ops import register
from tests.perf.decode.given_decoder import GivenDecoder, Token, given_decoder, plainly, seen_with, token

pytestmark = [
    pytest.mark.amd,
    pytest.mark.skipif(
        not torch.cuda.is_available() or decoder_launch.why_not_here(torch.device("cuda")) is not None,
        reason="needs an AMD GPU of CDNA 2 or later (gfx90a, gfx942, gfx950)",
    ),
]

# layers, hidden, MLP, words, heads, key-value heads, their size, cache; programs are the GPU's compute units.
SIZES: dict[str, tuple[int, ...]] = {
    "Llama-3.2-1B, 2 layers": (2, 2048, 8192, 128256, 32, 8, 64, 2048),
    "Llama-3-8B, 1 layer": (1, 4096, 14336, 128256, 32, 8, 128, 1024),
    "heads of 80": (2, 2560, 10240, 51200, 32, 32, 80, 300),
    "heads of 256": (2, 2304, 9216, 32000, 8, 4, 256, 500),
    "small, few keys": (2, 1024, 2560, 1000, 16, 16, 64, 77),
}


GEMMA = Form("gelu_tanh", norm_plus=1.0)
FORMS: dict[str, tuple[tuple[int, ...], dict[str, Any]]] = {
    "Qwen2-0.5B, 2 layers": ((2, 896, 4864, 151936, 14, 2, 64, 2048), {"has_qkv_biases": True}),
    "Qwen3-0.6B, 2 layers": ((2, 1024, 3072, 151936, 16, 8, 128, 2048), {"has_head_norms": True}),
    "Gemma-2-2B, 3 layers": (
        (3, 2304, 9216, 32000, 8, 4, 256, 4096),
        {"has_after_norms": True, "kinds": 2, "form": replace(GEMMA, cap=50.0)},
    ),
    "Gemma-3-1B, 3 layers": (
        (3, 1152, 6912, 32000, 4, 1, 256, 4096),
        {"has_after_norms": True, "has_head_norms": True, "kinds": 2, "form": GEMMA},
    ),
    "GLM-4-9B, 1 layer": (
        (1, 4096, 13696, 32000, 32, 2, 128, 1024),
        {"has_qkv_biases": True, "turned": 64, "form": Form(neighbours=True)},
    ),
    "Mistral-7B, 1 layer, 32k keys": ((1, 4096, 14336, 32768, 32, 8, 128, 32768), {}),
}


def shape(name: str, is_half: bool = False) -> DecoderShape:
    units = int(torch.cuda.get_device_properties(0).multi_processor_count)
    sizes, more = (SIZES[name], {}) if name in SIZES else FORMS[name]
    return DecoderShape(*sizes, programs=units, has_bias=True, is_half=is_half, **more)


def five_kernels(given: GivenDecoder, caches: list[Any], one: Token) -> Any:
    steps = Steps(launch.row_products, launch.row_gated, launch.attend_and_store)
    extras = seen_with(given, one)
    return in_steps(steps, one.row, given.weights, given.norms, caches, given.head, *one.rest, extras=extras)


def one_kernel(given: GivenDecoder, caches: list[Any], one: Token) -> Any:
    extras = seen_with(given, one)
    tensors = (given.weights, given.norms, caches, given.head)
    kept = decoder_launch.kept_for(one.row, *tensors, one.rest[1], one.rest[2], extras)
    assert not isinstance(kept, str), kept  # the five kernels would be compared with themselves
    return decoder_launch.decoder(one.row, *tensors, *one.rest, extras)


def copies(given: GivenDecoder) -> list[Any]:
    return [one.clone() for one in given.caches]


def away(found: Any, expected: Any) -> float:
    assert not found.isnan().any()
    return float((found.float().cpu() - expected.float().cpu()).abs().max())


@pytest.mark.parametrize("is_half", [False, True], ids=["bf16", "fp16"])
@pytest.mark.parametrize("name", [*SIZES, *FORMS])
def test_as_near_to_plain_torch_as_the_five_kernels(name: str, is_half: bool) -> None:
    size = shape(name, is_half)
    given = given_decoder(size, "cuda")
    for at in (size.length // 2, 0, size.length - 1):
        one = token(size, at, "cuda")
        own, theirs = copies(given), copies(given)
        expected, _ = plainly(given, one, torch.float32)
        near = away(five_kernels(given, theirs, one), expected)
        found = away(one_kernel(given, own, one), expected)
        print(f"      {name}, token {at}: {found:.4f} away, five kernels {near:.4f}, of {expected.abs().max():.2f}")
        assert found <= 2 * near + 0.01, (name, at, found, near)
        for mine, other in zip(own, theirs, strict=True):
            assert away(mine, other) <= 0.05
            mine[:, :, at] = other[:, :, at]
            assert torch.equal(mine, other), "written where nothing was to be written"


def test_keys_that_the_mask_hides_are_not_read() -> None:
    """What they hold would be seen: not a number times zero is none either."""
    size = shape("Mistral-7B, 1 layer, 32k keys")
    results = []
    for hidden in (0.5, float("nan")):
        given = given_decoder(size, "cuda")
        one = token(size, 9000, "cuda")
        one.rest[1][..., :5000] = float("-inf")
        for cache in given.caches:
            cache[:, :, :5000] = hidden
            cache[:, :, 9001:] = hidden
        results.append((one_kernel(given, copies(given), one), five_kernels(given, copies(given), one)))
    for first, second in zip(*results, strict=True):
        assert not first.isnan().any() and torch.equal(first, second)


def test_many_tokens_one_after_another() -> None:
    size = shape("Llama-3.2-1B, 2 layers")
    given = given_decoder(size, "cuda")
    own, theirs = copies(given), copies(given)
    for at in range(100, 160):
        one = token(size, at, "cuda")
        near = five_kernels(given, theirs, one)
        assert away(one_kernel(given, own, one), near) <= 0.06 * float(near.float().abs().max())


def test_the_same_call_a_thousand_times() -> None:
    """Words that come late, or of another round, would show in one of them."""
    size = shape("small, few keys")
    given = given_decoder(size, "cuda")
    own = copies(given)
    one = token(size, 40, "cuda")
    expected = one_kernel(given, own, one).clone()
    for _ in range(1000):
        assert torch.equal(one_kernel(given, own, one), expected)


def test_a_recorded_graph_replayed_two_thousand_times() -> None:
    size = shape("small, few keys")
    given = given_decoder(size, "cuda")
    own = copies(given)
    one = token(size, 40, "cuda")
    expected = one_kernel(given, own, one).clone()
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        one_kernel(given, own, one)
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        out = one_kernel(given, own, one)
    for _ in range(20):
        for _ in range(100):
            graph.replay()
        assert torch.equal(out, expected)


def test_a_place_outside_the_cache_writes_nothing() -> None:
    size = shape("small, few keys")
    given = given_decoder(size, "cuda")
    for outside in (size.length, size.length + 30, -1):
        one = token(size, 40, "cuda")
        own = copies(given)
        one_kernel(given, own, Token(one.row, (torch.tensor([outside], device="cuda"), *one.rest[1:])))
        assert all(torch.equal(mine, before) for mine, before in zip(own, given.caches, strict=True))


def test_the_operator_takes_it() -> None:
    size = shape("small, few keys")
    given = given_decoder(size, "cuda")
    one = token(size, 40, "cuda")
    expected = one_kernel(given, copies(given), one)
    own = copies(given)
    found = register().decoder(one.row, given.weights, given.norms, own, given.head, *one.rest)
    assert torch.equal(found, expected)


def test_weights_that_are_not_aligned_take_the_five_kernels() -> None:
    size = shape("small, few keys")
    given = given_decoder(size, "cuda")
    flat = torch.empty(given.weights[0].numel() + 4, device="cuda", dtype=torch.bfloat16)
    moved = flat[4:].view(given.weights[0].shape).copy_(given.weights[0])
    other = GivenDecoder(size, [moved, *given.weights[1:]], given.norms, given.caches, given.head)
    one = token(size, 40, "cuda")
    reason = decoder_launch.kept_for(one.row, other.weights, other.norms, other.caches, other.head, *one.rest[1:3])
    assert "16 bytes" in str(reason)
    found = decoder_launch.decoder(one.row, other.weights, other.norms, copies(given), other.head, *one.rest)
    assert torch.equal(found, five_kernels(given, copies(given), one))
