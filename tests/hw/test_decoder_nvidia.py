"""The decoder kernel on an NVIDIA GPU of compute capability 9.0, against plain torch and five kernels a layer."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import pytest
import torch

from kernel_pytorch.perf.decode import launch
from kernel_pytorch.perf.decode.decoder_steps import Steps, in_steps
from kernel_pytorch.perf.decode.form import Extras
from kernel_pytorch.perf.decode.hopper import decoder_launch
from kernel_pytorch.perf.decode.hopper.decoder_shape import DecoderShape
from kernel_pytorch.perf.decode.ops import register

pytestmark = [
    pytest.mark.nvidia,
    pytest.mark.skipif(
        not torch.cuda.is_available() or decoder_launch.why_not_here(torch.device("cuda")) is not None,
        reason="needs an NVIDIA GPU of compute capability 9.0",
    ),
]


SIZES = {
    "1.1B, 3 layers": DecoderShape(3, 2048, 5632, 32000, 32, 4, 512, has_bias=True, programs=132),
    "Llama-3.2-1B, 2 layers, keys in chunks": DecoderShape(
        2, 2048, 8192, 128256, 32, 8, 2048, has_bias=True, programs=132
    ),
    "small, few keys": DecoderShape(2, 1024, 2560, 1000, 16, 16, 77, has_bias=True, programs=132),
    "a long MLP": DecoderShape(1, 512, 14336, 504, 8, 2, 130, has_bias=True, programs=132),
    "many rows a program": DecoderShape(1, 4096, 1024, 512, 64, 8, 64, has_bias=True, programs=132),
    "Qwen3-0.6B, 2 layers": DecoderShape(
        2, 1024, 3072, 151936, 16, 8, 512, has_bias=True, programs=132, size=128, has_head_norms=True
    ),
    "Llama-3.2-3B, 2 layers": DecoderShape(2, 3072, 8192, 128256, 24, 8, 512, has_bias=True, programs=132, size=128),
    "Llama-3-8B, 1 layer, keys in chunks": DecoderShape(
        1, 4096, 14336, 128256, 32, 8, 1500, has_bias=True, programs=132, size=128
    ),
    "Qwen3-4B, 1 layer": DecoderShape(
        1, 2560, 9728, 1000, 32, 8, 300, has_bias=True, programs=132, size=128, has_head_norms=True
    ),
    "24 heads of 64 with norms": DecoderShape(
        2, 512, 1024, 1000, 24, 4, 200, has_bias=True, programs=132, has_head_norms=True
    ),
}


@dataclass(frozen=True)
class Decoder:
    """Random weights, and caches of which every way of computing gets its own copy."""

    size: DecoderShape
    weights: list[Any]
    norms: list[Any]
    caches: list[Any]
    head: Any
    extras: Extras

    def copies(self) -> list[Any]:
        return [one.clone() for one in self.caches]


def decoder(size: DecoderShape) -> Decoder:
    torch.manual_seed(1)
    shapes = [
        (size.heads * size.size, size.hidden), (size.shared * size.size, size.hidden),
        (size.shared * size.size, size.hidden), (size.hidden, size.heads * size.size),
        (size.wide, size.hidden), (size.wide, size.hidden), (size.hidden, size.wide),
    ]  # fmt: skip
    weights = [matrix(*shape) for _ in range(size.layers) for shape in shapes]
    norms = [norm(size.hidden) for _ in range(2 * size.layers + 1)]
    cache = (1, size.shared, size.length, size.size)
    caches = [torch.randn(cache, device="cuda").bfloat16() for _ in range(2 * size.layers)]
    head_norms = [norm(size.size) for _ in range(2 * size.layers)] if size.has_head_norms else []
    extras = Extras([], head_norms, [], [], [])
    return Decoder(size, weights, norms, caches, matrix(size.words, size.hidden), extras)


def norm(length: int) -> Any:
    return (torch.rand(length, device="cuda") + 0.5).bfloat16()


def matrix(rows: int, columns: int) -> Any:
    return (torch.randn(rows, columns, device="cuda") / columns**0.5).bfloat16()


def token(size: DecoderShape, at: int, has_bias: bool = True) -> tuple[Any, ...]:
    """(row in), (position, bias, cos, sin, scale, epsilon)"""
    torch.manual_seed(at)
    angles = torch.rand(size.size // 2, device="cuda") * 6
    cos, sin = (torch.cat([turn(angles)] * 2).bfloat16() for turn in (torch.cos, torch.sin))
    seen = torch.arange(size.length, device="cuda") <= at
    bias = torch.where(seen, 0.0, float("-inf")).view(1, 1, 1, -1).bfloat16() if has_bias else None
    row = torch.randn(1, size.hidden, device="cuda").bfloat16()
    return row, (torch.tensor([at], device="cuda"), bias, cos, sin, size.size**-0.5, 1e-5)


def plainly(given: Decoder, caches: list[Any], row: Any, rest: tuple[Any, ...]) -> Any:
    """On the CPU in float32, step by step."""
    operators = register()
    steps = Steps(operators.row_products, operators.row_gated, operators.attend_and_store)

    def moved(one: Any) -> Any:
        if not isinstance(one, torch.Tensor):
            return one
        return one.cpu().float() if one.is_floating_point() else one.cpu()

    lists = (given.weights, given.norms, caches, given.extras.head_norms)
    weights, norms, copied, head_norms = ([moved(one) for one in some] for some in lists)
    extras = Extras([], head_norms, [], [], [])
    return in_steps(steps, moved(row), weights, norms, copied, moved(given.head), *map(moved, rest), extras=extras)


def five_kernels(given: Decoder, caches: list[Any], row: Any, rest: tuple[Any, ...]) -> Any:
    steps = Steps(launch.row_products, launch.row_gated, launch.attend_and_store)
    return in_steps(steps, row, given.weights, given.norms, caches, given.head, *rest, extras=given.extras)


def one_kernel(given: Decoder, caches: list[Any], row: Any, rest: tuple[Any, ...]) -> Any:
    return decoder_launch.decoder(row, given.weights, given.norms, caches, given.head, *rest, given.extras)


def away(found: Any, expected: Any) -> float:
    assert not found.isnan().any()
    return float((found.float().cpu() - expected.float().cpu()).abs().max())


@pytest.mark.parametrize("name", SIZES)
def test_as_near_to_plain_torch_as_the_five_kernels(name: str) -> None:
    size = SIZES[name]
    given = decoder(size)
    assert decoder_launch.why_not(size) is None
    for at, has_bias in ((size.length // 2, True), (0, True), (size.length - 1, False)):
        row, rest = token(size, at, has_bias)
        own, theirs, plain = given.copies(), given.copies(), given.copies()
        expected = plainly(given, plain, row, rest)
        near = away(five_kernels(given, theirs, row, rest), expected)
        found = away(one_kernel(given, own, row, rest), expected)
        print(f"      {name}, token {at}: {found:.4f} away, five kernels {near:.4f}, of {expected.abs().max():.2f}")
        assert found <= 2 * near + 0.01, (name, at, found, near)
        for mine, other in zip(own, theirs, strict=True):
            assert away(mine, other) <= 0.05
            mine[:, :, at] = other[:, :, at]
            assert torch.equal(mine, other), "written where nothing was to be written"


@pytest.mark.parametrize("name", ["1.1B, 3 layers", "Qwen3-0.6B, 2 layers"])
def test_many_tokens_one_after_another(name: str) -> None:
    size = SIZES[name]
    given = decoder(size)
    own, theirs = given.copies(), given.copies()
    for at in range(100, 160):
        row, rest = token(size, at)
        near = five_kernels(given, theirs, row, rest)
        assert away(one_kernel(given, own, row, rest), near) <= 0.06 * float(near.float().abs().max())


@pytest.mark.parametrize("name", ["1.1B, 3 layers", "Llama-3.2-3B, 2 layers"])
def test_a_recorded_graph_replayed_two_thousand_times(name: str) -> None:
    size = SIZES[name]
    given = decoder(size)
    own = given.copies()
    row, rest = token(size, 200)
    expected = one_kernel(given, own, row, rest).clone()
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        one_kernel(given, own, row, rest)
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        out = one_kernel(given, own, row, rest)
    for _ in range(20):
        for _ in range(100):
            graph.replay()
        assert torch.equal(out, expected)


def test_a_place_outside_the_cache_writes_nothing() -> None:
    size = SIZES["small, few keys"]
    given = decoder(size)
    for outside in (size.length, size.length + 30, -1):
        row, (_, *rest) = token(size, 40)
        own = given.copies()
        one_kernel(given, own, row, (torch.tensor([outside], device="cuda"), *rest))
        assert all(torch.equal(mine, before) for mine, before in zip(own, given.caches, strict=True))


def test_what_was_at_the_place_counts_for_nothing() -> None:
    size = SIZES["small, few keys"]
    given = decoder(size)
    row, rest = token(size, 40)
    expected = one_kernel(given, given.copies(), row, rest).clone()
    own = given.copies()
    for one in own:
        one[:, :, 40] = float("nan")
    assert torch.equal(one_kernel(given, own, row, rest), expected)


def test_the_first_call_may_be_inductors_warm_up() -> None:
    """What the kernel keeps does not go into the pool of Inductor's graphs."""
    size = SIZES["small, few keys"]
    given = decoder(size)
    row, rest = token(size, 40)
    expected = five_kernels(given, given.copies(), row, rest)
    operators = register()

    def call(x: Any) -> Any:
        return operators.decoder(x, given.weights, given.norms, given.caches, given.head, *rest) * 1

    compiled = torch.compile(call, mode="reduce-overhead")
    for _ in range(4):
        found = compiled(row).clone()
    assert away(found, expected) <= 0.06 * float(expected.float().abs().max())


def test_weights_that_are_not_aligned_take_the_five_kernels() -> None:
    size = SIZES["small, few keys"]
    given = decoder(size)
    flat = torch.empty(given.weights[0].numel() + 8, device="cuda", dtype=torch.bfloat16)
    moved = flat[8:].view(given.weights[0].shape).copy_(given.weights[0])
    other = replace(given, weights=[moved, *given.weights[1:]])
    row, rest = token(size, 40)
    assert torch.equal(one_kernel(other, given.copies(), row, rest), five_kernels(given, given.copies(), row, rest)), (
        "not the five kernels"
    )
