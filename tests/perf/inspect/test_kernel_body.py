"""What a kernel's body says about its parameters."""

from __future__ import annotations

import ast

from kernel_pytorch.perf.inspect.kernel_body import (
    descriptor_parameters,
    index_pointers,
    pointer_parameters,
    unit_strides,
)

GATHER = """
def kernel(out, table, places, starts, weights, stride, n, BLOCK):
    row = tl.program_id(0)
    start = tl.load(starts + row)
    place = tl.load(places + start + tl.arange(0, BLOCK))
    scale = tl.load(weights + row)
    base = table + place * stride
    value = tl.load(base)
    tl.store(out + row * BLOCK + tl.arange(0, BLOCK), value * scale, mask=tl.arange(0, BLOCK) < n)
"""

DESCRIPTOR = """
def kernel(x, rows, columns, outer, inner, BLOCK):
    d = tl.make_tensor_descriptor(x, shape=[rows, columns], strides=[outer, inner], block_shape=[BLOCK, BLOCK])
    d.store([0, 0], d.load([0, 0]))
"""


def function(text: str) -> ast.FunctionDef:
    [node] = ast.parse(text).body
    assert isinstance(node, ast.FunctionDef)
    return node


def test_what_is_added_to_an_address_points() -> None:
    assert pointer_parameters(function(GATHER)) == {"out", "table", "places", "starts", "weights"}


def test_what_is_loaded_for_an_address_is_an_index() -> None:
    assert index_pointers(function(GATHER)) == {"places", "starts"}


def test_the_last_stride_of_a_descriptor_is_one() -> None:
    assert unit_strides(function(DESCRIPTOR)) == {"inner"}
    assert unit_strides(function(GATHER)) == set()


WHOLE = """
def kernel(INPUT_IDS, LOSS, DLOGITS, out_ptr, N_CTX, desc_x, BLOCK: tl.constexpr):
    INPUT_IDS += tl.program_id(0)
    place = tl.load(INPUT_IDS)
    cols = tl.arange(0, BLOCK)
    tl.store(DLOGITS + cols, 0.0)
    block = desc_x.load([0, place])
    tl.store(LOSS + N_CTX + place, tl.sum(block))
    there = out_ptr + place
    tl.store(there + N_CTX, tl.sum(block))
"""


def test_a_name_alone_in_an_address_is_a_pointer_whatever_its_case() -> None:
    assert {"INPUT_IDS", "DLOGITS", "out_ptr"} <= pointer_parameters(function(WHOLE))
    assert "N_CTX" not in pointer_parameters(function(WHOLE))


def test_what_has_its_own_load_is_a_descriptor() -> None:
    assert descriptor_parameters(function(WHOLE)) == {"desc_x"}
