"""How a decoder is cut: every row to one program, every word in a place of its own."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from kernel_pytorch.perf.decode.hopper.decoder_launch import key_of, shape_of
from kernel_pytorch.perf.decode.hopper.decoder_shape import DecoderShape, why_not

TINY_LLAMA = DecoderShape(22, 2048, 5632, 32000, 32, 4, 512, True, 132)
LLAMA_1B = DecoderShape(16, 2048, 8192, 128256, 32, 8, 2048, True, 132)
SHAPES = [
    TINY_LLAMA,
    LLAMA_1B,
    replace(TINY_LLAMA, programs=114),
    DecoderShape(2, 1024, 2560, 1000, 16, 16, 77, False, 78),
    DecoderShape(28, 1024, 3072, 151936, 16, 8, 512, True, 132, size=128, has_head_norms=True),
    DecoderShape(28, 3072, 8192, 128256, 24, 8, 512, True, 132, size=128),
    DecoderShape(32, 4096, 14336, 128256, 32, 8, 32768, True, 132, stages=5, size=128),
    DecoderShape(2, 1536, 1024, 1000, 24, 4, 200, True, 114),
]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_all_boxes_are_dealt_out_and_none_is_left(shape: DecoderShape) -> None:
    assert why_not(shape) is None
    for boxes, each in (
        (shape.qkv_boxes, shape.qkv_each),
        (shape.hidden_boxes, shape.hidden_each),
        (shape.wide_boxes, shape.wide_each),
        (shape.word_boxes, shape.words_each),
    ):
        assert (each - 1) * shape.programs < boxes <= each * shape.programs
    used = shape.heads * shape.parts
    assert used <= shape.programs < 2 * used + shape.heads
    assert shape.parts * shape.keys_each >= shape.length > (shape.chunks - 1) * shape.parts * shape.keys_held
    assert shape.parts % shape.parts_at_once == 0 and shape.parts_at_once * shape.seen_rows <= 128


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_what_programs_exchange_does_not_overlap(shape: DecoderShape) -> None:
    starts = [0, shape.at_pieces, shape.at_tops, shape.at_middle, shape.at_gated, shape.at_row, shape.exchanged]
    sizes = [
        shape.qkv_boxes * 2, shape.pieces * shape.head_words, shape.pieces,
        shape.hidden // 2, shape.wide // 2, shape.hidden // 2,
    ]  # fmt: skip
    for start, size, following in zip(starts, sizes, starts[1:], strict=False):
        assert start + size <= following
    assert all(start % 2 == 0 for start in starts)  # words are read two at a time


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"hidden": 2080}, "hidden size"),
        ({"wide": 5504}, "MLP"),
        ({"words": 32001}, "32001 words"),
        ({"heads": 24, "shared": 5}, "24 query heads"),
        ({"size": 96}, "heads of 96"),
        ({"heads": 64, "programs": 60}, "more than the GPU"),
        ({"wide": 32768}, "do not fit"),
    ],
    ids=str,
)
def test_what_it_cannot_take_is_said(change: dict[str, int], reason: str) -> None:
    said = why_not(replace(TINY_LLAMA, **change))
    assert said is not None and reason in said


def tensors(
    hidden: int = 512, wide: int = 1024, heads: int = 8, shared: int = 2, size: int = 64
) -> tuple[list[torch.Tensor], ...]:
    rows = [heads * size, shared * size, shared * size, hidden, wide, wide, hidden]
    columns = [hidden, hidden, hidden, heads * size, hidden, hidden, wide]
    weights = [torch.empty(*shape, device="meta") for _ in range(2) for shape in zip(rows, columns, strict=True)]
    caches = [torch.empty(1, shared, 40, size, device="meta") for _ in range(4)]
    return weights, caches


def test_the_shape_is_read_off_the_tensors() -> None:
    weights, caches = tensors()
    head = torch.empty(96, 512, device="meta")
    assert shape_of(weights, caches, head, True, 132) == DecoderShape(2, 512, 1024, 96, 8, 2, 40, True, 132)
    assert shape_of(weights[:-1], caches, head, True, 132) is None
    assert shape_of([*weights[:-1], weights[0]], caches, head, True, 132) is None
    assert shape_of(weights, [*caches[:3], caches[0][:, :1]], head, True, 132) is None
    assert shape_of(weights, caches, torch.empty(96, 1024, device="meta"), True, 132) is None
    other_size = tensors(size=32)
    assert shape_of(*other_size, head, True, 132) is None


def test_a_cache_that_grows_in_its_place_is_another_decoder() -> None:
    """One key-value head: the first places of a buffer are contiguous, and lie where the buffer lies."""
    weights = [torch.empty(2, 2)] * 7
    buffers = [torch.zeros(1, 1, 40, 64) for _ in range(2)]
    short, longer = ([one[:, :, :length] for one in buffers] for length in (10, 20))
    rest = (torch.device("cpu"), weights, [torch.empty(2)] * 3)
    keys = [key_of(*rest, caches, weights[0], True) for caches in (short, longer)]
    assert keys[0] != keys[1] and keys[0] == key_of(*rest, short, weights[0], True)


@pytest.mark.parametrize(("heads", "hidden", "held"), [(8, 512, (1, 1)), (16, 1024, (1, 2)), (32, 2048, (2, 2))])
def test_no_more_is_held_than_sixteen_rows_have(heads: int, hidden: int, held: tuple[int, int]) -> None:
    shape = replace(TINY_LLAMA, heads=heads, hidden=hidden)
    assert (shape.seen_held, shape.gated_held) == held


def test_long_rows_take_the_place_of_a_stage() -> None:
    weights, caches = tensors(wide=14336)
    shape = shape_of(weights, caches, torch.empty(96, 512, device="meta"), True, 132)
    assert shape is not None and shape.stages == 5
