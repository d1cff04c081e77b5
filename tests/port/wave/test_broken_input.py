"""Text that is not C++ gives no exception, no endless loop and no overlapping edits."""

from __future__ import annotations

import random
from itertools import pairwise
from pathlib import Path

import pytest

from kernel_pytorch.port.cxx.source import cxx_file
from kernel_pytorch.port.cxx.unit import Unit, unit_of
from kernel_pytorch.port.wave.analysis import hazards

CASES = sorted((Path(__file__).parent / "hazards").glob("*.cu"))


def check(data: bytes, wave: str = "logical32") -> None:
    source = cxx_file("broken.cu", data)
    spans = sorted(
        (edit.span.start, edit.span.end)
        for hazard in hazards(source, Unit((source,), wave), wave)
        for edit in hazard.edits
    )
    assert all(before[1] <= after[0] for before, after in pairwise(spans))
    assert all(end <= len(data) for _, end in spans)


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_truncated_and_mangled(path: Path) -> None:
    data = path.read_bytes()
    rng = random.Random(path.stem)
    for _ in range(12):
        check(data[: rng.randrange(len(data))], rng.choice(["logical32", "native"]))
        mangled = bytearray(data)
        for _ in range(4):
            mangled[rng.randrange(len(mangled))] = rng.choice(b'(){}<>,;\\"#\0\xff=&')
        check(bytes(mangled))


def test_deep_nesting() -> None:
    inner = b"__shfl_sync(0xffffffff, " * 2000 + b"v" + b", 0)" * 2000
    check(b"__global__ void k(int v) { v = " + inner + b"; }")
    check(b"__device__ int f() { return " + b"(" * 5000 + b"warpSize" + b")" * 5000 + b"; }")
    check(b"__global__ void k() { " + b"if (threadIdx.x < 3) {" * 1500 + b"__syncwarp(1);" + b"}" * 1500 + b" }")


def test_macros_that_need_each_other() -> None:
    text = b"#define A B\n#define B A\n__device__ int f(int v) { return __shfl_sync(A, v, 0, B); }\n"
    source = cxx_file("loop.cu", text)
    assert {hazard.code for hazard in hazards(source, unit_of(source))} == {"KP301"}
