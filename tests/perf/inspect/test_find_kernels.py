"""Kernels found by reading: which functions, and what their parameters are."""

from __future__ import annotations

from pathlib import Path

from kernel_pytorch.perf.inspect.find_kernels import FoundKernel, find_kernels, python_files
from kernel_pytorch.perf.inspect.guess import SMALL, constant, parameter_type

SOURCE = """
import triton
import triton.language as tl


@triton.jit
def helper(x):
    return x * 2


@triton.jit
def scale_kernel(X, out_ptr, stride, n, eps, BLOCK: tl.constexpr, HAS_BIAS: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    X += row * stride
    source = X + cols
    x = tl.load(source, mask=cols < n, other=0.0)
    tl.store(out_ptr + row * stride + cols, helper(x) + eps, mask=cols < n)


def launch(x, out):
    scale_kernel[(x.shape[0],)](x, out, x.stride(0), x.shape[1], 1e-6, BLOCK=256, HAS_BIAS=False, num_warps=8)
"""


def found(tmp_path: Path) -> FoundKernel:
    path = tmp_path / "kernels.py"
    path.write_text(SOURCE)
    kernels = find_kernels(python_files(tmp_path))
    assert [kernel.name for kernel in kernels] == ["scale_kernel"]  # the helper is never launched
    return kernels[0]


def test_pointers_are_summands_of_an_address_and_strides_are_not(tmp_path: Path) -> None:
    kinds = {one.name: one.kind for one in found(tmp_path).parameters}
    assert kinds == {
        "X": "pointer",
        "out_ptr": "pointer",
        "stride": "scalar",
        "n": "scalar",
        "eps": "scalar",
        "BLOCK": "constexpr",
        "HAS_BIAS": "constexpr",
    }


def test_constants_and_warps_come_from_the_call(tmp_path: Path) -> None:
    kernel = found(tmp_path)
    values = {one.name: one.value for one in kernel.parameters if one.known}
    assert values == {"BLOCK": 256, "HAS_BIAS": False}
    assert kernel.num_warps == 8


def test_a_float_given_at_the_call_is_a_float_parameter(tmp_path: Path) -> None:
    types = {one.name: parameter_type(one, "fp16") for one in found(tmp_path).parameters if one.kind != "constexpr"}
    assert types == {"X": "*fp16", "out_ptr": "*fp16", "stride": "i32", "n": "i32", "eps": "fp32"}


def test_a_single_block_is_taken_larger_than_one_of_many(tmp_path: Path) -> None:
    kernel = found(tmp_path)
    block = next(one for one in kernel.parameters if one.name == "BLOCK")
    assert constant(block, kernel) == 1024
    assert constant(block, kernel, sizes=SMALL) == 64


def test_a_file_that_does_not_parse_is_passed_over(tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text("import triton.jit\ndef (:\n")
    assert find_kernels(python_files(tmp_path)) == []


FACTORY = """
import triton
import triton.language as tl


@triton.jit
def double_kernel(x, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + at, tl.load(x + at, mask=at < n) * 2, mask=at < n)


def make_kernel(width):
    @triton.jit
    def shift(y, x, n, BLOCK: tl.constexpr):
        at = tl.arange(0, BLOCK)
        tl.store(y + at, tl.load(x + at + WIDTH, mask=at < n), mask=at < n)

    kernel = triton.JITFunction(shift.fn)
    kernel._unsafe_update_src(kernel.src.replace("WIDTH", str(width)))
    return kernel


def make_nothing(width=3):
    @triton.jit
    def lost(x, BLOCK: tl.constexpr):
        tl.store(x + tl.arange(0, BLOCK), 0.0)
"""

LAUNCHES = """
def run(x, out, width):
    from .ops import double_kernel, make_kernel, make_nothing

    double_kernel[(1,)](x, x.numel(), BLOCK=512, num_warps=16 if IS_ROCM else 32)
    chosen = make_kernel(width)
    chosen[(1,)](out, x, x.numel(), BLOCK=256)
    other = make_nothing()
    other[(1,)](x, BLOCK=64)
"""


def package(tmp_path: Path) -> Path:
    (tmp_path / "pkg").mkdir()
    (tmp_path / "pkg" / "__init__.py").write_text("")
    (tmp_path / "pkg" / "ops.py").write_text(FACTORY)
    (tmp_path / "pkg" / "launch.py").write_text(LAUNCHES)
    (tmp_path / "pkg" / "plain.py").write_text("table = [[1]]\nprint(table[0](4))\n")
    return tmp_path


def test_a_launch_in_another_file_counts_and_a_kernel_that_a_function_makes_has_its_name(tmp_path: Path) -> None:
    files = python_files(package(tmp_path))
    assert [path.name for path in files] == ["launch.py", "ops.py"]
    kernels = find_kernels(files)
    assert [(one.name, one.factory) for one in kernels] == [
        ("double_kernel", ""),
        ("shift", "make_kernel"),
        ("lost", "make_nothing"),
    ]
    assert kernels[0].num_warps == 16  # what an AMD GPU gets
    assert {one.name: one.value for one in kernels[1].parameters if one.known} == {"BLOCK": 256}
    assert [one.kind for one in kernels[1].parameters] == ["pointer", "pointer", "scalar", "constexpr"]
