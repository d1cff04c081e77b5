"""The Triton kernels of decoding: numbers through Triton's interpreter, machine code for AMD and NVIDIA targets."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any
from unittest import mock

import pytest

pytest.importorskip("triton")

BEGIN = """
import torch
from kernel_pytorch.perf.decode import launch, ops

operators = ops.register()
launch.can_overlap = lambda device: False
torch.manual_seed(0)


def close(found, expected):
    assert not found.isnan().any()
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)


"""
CHECKS = """
for rows, columns, has_norm, has_bias, has_residual in (
    ([24, 10, 7], 48, True, False, False),
    ([32], 100, False, True, True),
    ([20], 3000, True, True, True),
    ([4], 9000, True, False, False),
    ([16, 8, 8], 1024, True, False, False),
    ([12, 5, 9], 200, True, True, False),
    ([6], 4608, False, False, True),
):
    x = torch.randn(1, columns)
    weights = [torch.randn(count, columns) / columns**0.5 for count in rows]
    norm = torch.rand(columns) if has_norm else None
    biases = [torch.randn(count) for count in rows] if has_bias else []
    residual = torch.randn(1, sum(rows)) if has_residual else None
    args = (x, weights, norm, 1e-5, biases, residual, False)
    close(launch.row_products(*args), operators.row_products(*args))
for columns in (100, 2048, 2500):
    gate, up = torch.randn(21, columns) / columns**0.5, torch.randn(21, columns) / columns**0.5
    for norm in (None, torch.rand(columns)):
        args = (torch.randn(1, columns), gate, up, norm, 1e-5, False)
        close(launch.row_gated(*args), operators.row_gated(*args))
for length, held in ((5, 1 << 15), (300, 1 << 15), (5, 0), (128, 0), (300, 0)):  # by one program, and in parts
    launch.HELD_KEYS = held
    q = torch.randn(2, 1, 6, 16).transpose(1, 2)
    k, v = (torch.randn(2, 1, 2, 16).transpose(1, 2) for _ in range(2))
    keys, values = torch.randn(2, 2, length, 16), torch.randn(2, 2, length, 16)
    at = torch.tensor([length - 2])
    cos, sin = torch.randn(1, 1, 16), torch.randn(1, 1, 16)
    bias = torch.where(torch.arange(length) <= length - 2, 0.0, float("-inf")).view(1, 1, 1, length)
    plain = (None, None, 0.0, 0.0)
    for norms in (plain, (torch.rand(16), torch.rand(16), 1e-6, 0.0)):  # the counters go on from call to call
        own, theirs = (keys.clone(), values.clone()), (keys.clone(), values.clone())
        found = launch.attend_and_store(q, k, v, *own, at, bias, cos, sin, 0.25, *norms, False)
        close(found, operators.attend_and_store(q, k, v, *theirs, at, bias, cos, sin, 0.25, *norms, False))
        assert torch.equal(own[1], theirs[1])
        torch.testing.assert_close(own[0], theirs[0])
        args = (q, keys, values, None, None, None, 0.25, norms[0], norms[2], 0.0, False)
        close(launch.attend(*args), operators.attend(*args))
    # What is at the place of the new key counts for nothing, whatever it is.
    own = keys.clone(), values.clone()
    own[0][:, :, length - 2] = own[1][:, :, length - 2] = float("nan")
    close(launch.attend_and_store(q, k, v, *own, at, bias, cos, sin, 0.25, *norms, False), found)
    # Past the end of the cache nothing is written.
    for outside in (length, -1) if length == 5 else ():
        own = keys.clone(), values.clone()
        launch.attend_and_store(q, k, v, *own, torch.tensor([outside]), None, cos, sin, 0.25, *plain, False)
        assert torch.equal(own[0], keys) and torch.equal(own[1], values)
print("all close")
"""
# Heads that are no power of two, rotated in part, capped scores, several rounds of a few parts.
MORE_CHECKS = """
for size, turned, cap, length, held in (
    (80, 80, 0.0, 40, 1 << 15),
    (96, 32, 0.0, 300, 0),
    (16, 8, 2.0, 40, 1 << 15),
    (24, 12, 0.5, 700, 0),
    (256, 256, 50.0, 40, 0),
):
    launch.HELD_KEYS, launch.MOST_PARTS = held, 2
    q = torch.randn(2, 1, 6, size).transpose(1, 2)
    k, v = (torch.randn(2, 1, 2, size).transpose(1, 2) for _ in range(2))
    keys, values = torch.randn(2, 2, length, size), torch.randn(2, 2, length, size)
    cos, sin = torch.randn(1, 1, turned), torch.randn(1, 1, turned)
    # A sliding window of 30: before it and after the place nothing is seen.
    at = torch.tensor([length - 5])
    seen = (torch.arange(length) <= at) & (torch.arange(length) > at - 30)
    bias = torch.where(seen, 0.0, float("-inf")).view(1, 1, 1, length)
    for norms in ((None, None, 0.0), (torch.rand(size), torch.rand(size), 1e-6)):
        own, theirs = (keys.clone(), values.clone()), (keys.clone(), values.clone())
        rest = (at, bias, cos, sin, 1.5, *norms, cap, False)
        close(launch.attend_and_store(q, k, v, *own, *rest), operators.attend_and_store(q, k, v, *theirs, *rest))
        assert torch.equal(own[1], theirs[1])
        torch.testing.assert_close(own[0], theirs[0])
    plain = (q, keys, values, None, cos, sin, 0.25, None, 0.0, cap, False)
    close(launch.attend(*plain), operators.attend(*plain))
print("all close")
"""


# Gemma's norms, GELU, rotation of neighbours, and keys that a mask hides: nobody reads what is there.
FORM_CHECKS = """
x, norm = torch.randn(1, 200), torch.rand(200) - 0.5
weights = [torch.randn(count, 200) / 14 for count in (12, 5, 9)]
args = (x, weights, norm, 1e-5, [], None, False, 1.0)
close(launch.row_products(*args), operators.row_products(*args))
for active in ("gelu_tanh", "gelu_erf"):
    args = (x, weights[0], weights[0].flip(1).contiguous(), norm, 1e-5, False, 1.0, active)
    close(launch.row_gated(*args), operators.row_gated(*args))
for length, turned, held in ((40, 16, 1 << 15), (300, 8, 0), (700, 16, 0)):
    launch.HELD_KEYS, launch.MOST_PARTS = held, 2
    q = torch.randn(2, 1, 6, 16).transpose(1, 2)
    k, v = (torch.randn(2, 1, 2, 16).transpose(1, 2) for _ in range(2))
    keys, values = torch.randn(2, 2, length, 16), torch.randn(2, 2, length, 16)
    cos, sin = torch.randn(turned), torch.randn(turned)
    at = torch.tensor([length - 9])
    seen = (torch.arange(length) <= at) & (torch.arange(length) > at - 30)
    for hidden in (float("-inf"), torch.finfo(torch.float32).min):
        bias = torch.where(seen, 0.0, hidden).view(1, 1, 1, length)
        rest = (at, bias, cos, sin, 0.25, torch.rand(16) - 0.5, torch.rand(16) - 0.5, 1e-6, 0.0, False, 1.0, True)
        own, theirs = (keys.clone(), values.clone()), (keys.clone(), values.clone())
        expected = operators.attend_and_store(q, k, v, *theirs, *rest)
        close(launch.attend_and_store(q, k, v, *own, *rest), expected)
        torch.testing.assert_close(own[0], theirs[0])
        if held == 0:
            for cache in own:
                cache[:, :, ~seen] = float("nan")
            close(launch.attend_and_store(q, k, v, *own, *rest), expected)
    # A mask that hides all keys by the same number hides none.
    rest = (at, torch.full_like(bias, hidden), *rest[2:])
    own = keys.clone(), values.clone()
    close(launch.attend_and_store(q, k, v, *own, *rest), operators.attend_and_store(q, k, v, *theirs, *rest))
print("all close")
"""


@pytest.mark.parametrize(
    "checks",
    [CHECKS, *(pytest.param(checks, marks=pytest.mark.slow) for checks in (FORM_CHECKS, MORE_CHECKS))],
    ids=["usual", "forms", "more"],
)
def test_numbers_are_those_of_torch_through_the_interpreter(checks: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", BEGIN + checks],
        env={**os.environ, "TRITON_INTERPRET": "1"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.stdout.strip() == "all close", done.stderr[-2000:]


def _compiled(
    kernel: Any, types: dict[str, str], constants: dict[str, Any], target: tuple[str, Any, int], warps: int = 4
) -> Any:
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    names = kernel.arg_names
    aligned = [[name for name in types if types[name] != "fp32"], [["tt.divisibility", 16]]]
    source = ASTSource(
        fn=kernel,
        signature={name: types.get(name, "constexpr") for name in names},
        constexprs={(names.index(name),): value for name, value in constants.items()},
        attrs={(names.index(name),): aligned[1] for name in aligned[0]},
    )
    return triton.compile(source, target=GPUTarget(*target), options={"num_warps": warps})


HALF = "*bf16"
MATRICES = (
    dict.fromkeys(("x_ptr", "norm_ptr", "weight_ptr", "bias_ptr", "residual_ptr", "out_ptr"), HALF)
    | dict.fromkeys(("to_second", "to_third", "bias_to_second", "bias_to_third"), "i64")
    | dict.fromkeys(("first_rows", "second_rows", "third_rows", "columns"), "i32")
    | {"epsilon": "fp32"}
)
GATED = (
    dict.fromkeys(("x_ptr", "norm_ptr", "gate_ptr", "up_ptr", "out_ptr"), HALF)
    | dict.fromkeys(("rows", "columns"), "i32")
    | {"epsilon": "fp32"}
)
_POINTERS = ["q_ptr", "k_ptr", "v_ptr", "cos_ptr", "sin_ptr", "q_norm_ptr", "k_norm_ptr", "keys_ptr", "values_ptr"]
_POINTERS += ["bias_ptr", "out_ptr"]
_STRIDES = [
    "q_batch",
    "q_head",
    "k_batch",
    "k_head",
    "v_batch",
    "v_head",
    "cache_batch",
    "cache_head",
    "bias_batch",
    "bias_head",
    "bias_key",
    "length",
]
ATTENTION = (
    dict.fromkeys(_POINTERS, HALF)
    | {"position_ptr": "*i64", "totals_ptr": "*fp32", "weights_ptr": "*fp32", "arrived_ptr": "*i32", "scale": "fp32"}
    | {"epsilon": "fp32"}
    | dict.fromkeys(_STRIDES, "i32")
)


def kernels(overlaps: bool) -> list[tuple[Any, dict[str, str], dict[str, Any]]]:
    from kernel_pytorch.perf.decode.attention_kernel import one_head_attention, one_query_attention
    from kernel_pytorch.perf.decode.row_kernels import row_times_gated, row_times_matrices

    block = {
        "OVERLAPS": overlaps,
        "BLOCK_ROWS": 4,
        "BLOCK": 1024,
        "BLOCKS": 3,
        "EARLY": 2,
        "EVEN": True,
        "HAS_NORM": True,
        "NORM_PLUS": 0.0,
    }
    shape = {
        "GROUP": 8,
        "SIZE": 64,
        "WIDTH": 64,
        "TURNED": 64,
        "CAP": 0.0,
        "OVERLAPS": overlaps,
        "ROTATES": True,
        "WRITES": True,
        "HAS_BIAS": True,
    }
    shape |= {"NORMS": True, "NORM_PLUS": 0.0, "NEIGHBOURS": False}
    parts = {"SKIPS": not overlaps, "SHARED": 4, "GROUP_BLOCK": 16, "BLOCK": 128, "PARTS": 4}
    apart = ("totals_ptr", "weights_ptr", "arrived_ptr")
    whole = {name: kind for name, kind in ATTENTION.items() if name not in apart}
    return [
        (row_times_matrices, MATRICES, {**block, "HAS_BIAS": False, "HAS_RESIDUAL": True, "MATRICES": 3}),
        (row_times_gated, GATED, {**block, "GATE": "silu"}),
        (one_query_attention, ATTENTION, {**shape, **parts}),
        (one_head_attention, whole, {**shape, "BLOCK": 512}),
    ]


OTHERS = [pytest.param(name, marks=pytest.mark.slow) for name in ("gfx90a", "gfx950", "gfx1201")]


@pytest.mark.parametrize("target", ["gfx942", pytest.param("gfx1100", marks=pytest.mark.slow), *OTHERS])
def test_kernels_compile_for_amd(target: str) -> None:
    wave = 32 if target.startswith("gfx1") else 64
    for kernel, types, constants in kernels(overlaps=False):
        assert _compiled(kernel, types, constants, ("hip", target, wave)).asm["hsaco"]


def test_weights_are_asked_for_before_the_wait_and_in_wide_loads() -> None:
    for kernel, types, constants in kernels(overlaps=True)[:2]:
        text = _compiled(kernel, types, constants, ("cuda", 90, 32)).asm["ptx"]
        ahead, _, behind = text.partition("griddepcontrol.wait")
        assert behind, "no wait"
        wide = [line for line in ahead.splitlines() if "ld.global" in line and "evict_first" in line]
        assert wide and all(".v4" in line for line in wide)


@pytest.mark.slow
@pytest.mark.parametrize("gpu", ["mi300x", "mi355x", "rx7900xtx"])
def test_machine_code_of_the_forms_gives_what_torch_gives(gpu: str) -> None:
    """Gemma's norms and gate, rotation of neighbours; what hidden keys hold is not read."""
    import torch

    from kernel_pytorch.emulate.triton_session import emulated_triton
    from kernel_pytorch.perf.decode import launch, ops

    operators = ops.register()
    torch.manual_seed(0)
    x, norm = torch.randn(1, 96), torch.rand(96) - 0.5
    gate, up = torch.randn(20, 96) / 10, torch.randn(20, 96) / 10
    gated = (x, gate, up, norm, 1e-5, False, 1.0, "gelu_tanh")
    q, k, v = torch.randn(1, 4, 1, 16), torch.randn(1, 2, 1, 16), torch.randn(1, 2, 1, 16)
    keys, values = torch.randn(1, 2, 600, 16), torch.randn(1, 2, 600, 16)
    at, place = torch.tensor([560]), torch.arange(600)
    seen = (place <= at) & (place > at - 40)
    bias = torch.where(seen, 0.0, float("-inf")).view(1, 1, 1, 600)
    norms = (torch.rand(16) - 0.5, torch.rand(16) - 0.5, 1e-6)
    rest = (at, bias, torch.randn(8), torch.randn(8), 0.25, *norms, 0.0, False, 1.0, True)
    own, theirs = (keys.clone(), values.clone()), (keys.clone(), values.clone())
    for cache in own:
        cache[:, :, ~seen] = float("nan")
    with mock.patch.object(launch, "HELD_KEYS", 0), emulated_triton(gpu) as session:
        found = launch.row_gated(*gated), launch.attend_and_store(q, k, v, *own, *rest)
    assert len(session.launches) == 2
    torch.testing.assert_close(found[0], operators.row_gated(*gated), rtol=1e-4, atol=1e-5)
    expected = operators.attend_and_store(q, k, v, *theirs, *rest)
    torch.testing.assert_close(found[1], expected, rtol=1e-2, atol=2e-3)  # products of fp32 may have xf32's 10 bits


@pytest.mark.slow
@pytest.mark.parametrize(
    ("size", "turned", "cap", "length"),
    [(80, 80, 0.0, 40), (96, 24, 0.0, 700), (256, 256, 50.0, 20), (16, 8, 2.0, 300)],
    ids=["heads of 80", "heads of 96, a quarter rotated, in parts", "heads of 256, capped", "capped, half rotated"],
)
def test_machine_code_for_mi300x_gives_what_torch_gives(size: int, turned: int, cap: float, length: int) -> None:
    """Sliding window of 30 keys, two sequences, six query heads over two."""
    import torch

    from kernel_pytorch.emulate.triton_session import emulated_triton
    from kernel_pytorch.perf.decode import launch, ops

    operators = ops.register()
    torch.manual_seed(0)
    q = torch.randn(2, 6, 1, size)
    k, v = torch.randn(2, 2, 1, size), torch.randn(2, 2, 1, size)
    keys, values = torch.randn(2, 2, length, size), torch.randn(2, 2, length, size)
    at = torch.tensor([length - 4])
    seen = (torch.arange(length) <= at) & (torch.arange(length) > at - 30)
    bias = torch.where(seen, 0.0, float("-inf")).view(1, 1, 1, length)
    cos, sin = torch.randn(turned), torch.randn(turned)
    rest = (at, bias, cos, sin, size**-0.5, torch.rand(size), torch.rand(size), 1e-6, cap, False)
    own, theirs = (keys.clone(), values.clone()), (keys.clone(), values.clone())
    with emulated_triton("mi300x") as session:
        found = launch.attend_and_store(q, k, v, *own, *rest)
    assert len(session.launches) == 1
    expected = operators.attend_and_store(q, k, v, *theirs, *rest)
    # Products of fp32 matrices have the 10 bits of xf32 on this GPU.
    torch.testing.assert_close(found, expected, rtol=1e-2, atol=2e-3)
    for mine, other in zip(own, theirs, strict=True):
        torch.testing.assert_close(mine, other, rtol=1e-4, atol=1e-5)
