"""Each rewrite keeps its meaning: the CUDA kernel on 32-lane warps and its rewritten form on HIP waves agree.

The rewritten text is the analysis' own output; kernels run lane by lane on random data, with split warps, blocks that
fill half a wave and lanes that have left. See lane_machine for what the two vendors' collectives do.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.port.wave.lane_machine import POISON, Machine, Trap
from tests.port.wave.test_rewritten_compiles import rewrite

HAZARDS = Path(__file__).parent / "hazards"


@dataclass(frozen=True)
class Case:
    """A kernel to run, its arguments by name (see `made`) and its block."""

    name: str
    text: str
    kernel: str
    arguments: tuple[str, ...]
    block: tuple[int, int] = (128, 1)


def read_case(path: Path) -> Case:
    """A file of kernels/: the first line says how to run it, and which file of the labelled set goes before it."""
    head, _, rest = path.read_text().partition("\n")
    settings = dict(part.strip().split(": ", 1) for part in head.removeprefix("// ").split(";"))
    before = (HAZARDS / settings["after"]).read_text() if "after" in settings else ""
    width, height = map(int, settings["block"].split())
    return Case(path.stem, before + rest, settings["kernel"], tuple(settings["arguments"].split()), (width, height))


CASES = [read_case(path) for path in sorted((Path(__file__).parent / "kernels").glob("*.cu"))]


def made(what: str, threads: int, seed: int) -> list[float] | list[int] | int:
    """An argument by name, the same for both runs."""
    rng = random.Random(f"{what}{seed}")
    n = max(threads, 128)
    if what.isdigit():
        return int(what)
    makers = {
        "out": lambda: [-7] * n,
        "zeros": lambda: [0] * n,
        "floats": lambda: [float(rng.randint(-64, 64)) for _ in range(n)],  # exact sums, in any order
        "floats_rows": lambda: [float(rng.randint(-64, 64)) for _ in range(40 * n)],
        "ints": lambda: [rng.randint(-(2**31), 2**31 - 1) for _ in range(n)],
        "ints_inout": lambda: [rng.randint(-1000, 1000) for _ in range(n)],
        "small_inout": lambda: [rng.randint(0, 3) for _ in range(n)],
        "words": lambda: [rng.getrandbits(32) for _ in range(n)],
        "bits": lambda: [rng.randint(0, 1) for _ in range(n)],
        "keys": lambda: [rng.randint(0, 5) for _ in range(n)],
        "mostly_one": lambda: [int(rng.random() > 0.02) for _ in range(n)],
        "next": lambda: [rng.randint(-1, i - 1) if i else -1 for i in range(n)],
        "start": lambda: [rng.randint(-1, n - 1) for _ in range(n)],
    }
    return makers[what]()  # type: ignore[no-any-return]


def memory_after(case: Case, text: str, vendor: str, wave: int, seed: int) -> list[object]:
    arguments = [made(what, case.block[0] * case.block[1], seed) for what in case.arguments]
    Machine(text, vendor, wave, case.block).run(case.kernel, *arguments)
    return [one for one in arguments if isinstance(one, list)]


def untouched(case: Case, seed: int) -> list[object]:
    arguments = [made(what, case.block[0] * case.block[1], seed) for what in case.arguments]
    return [one for one in arguments if isinstance(one, list)]


@pytest.mark.parametrize("wave", [32, 64])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_same_meaning(case: Case, wave: int) -> None:
    before = case.text
    after = rewrite("case.cu", before.encode()).decode()
    assert after != before
    for seed in range(3):
        expected = memory_after(case, before, "cuda", 32, seed)
        assert expected != untouched(case, seed), "the kernel wrote nothing"
        found = memory_after(case, after, "hip", wave, seed)
        for old, new in zip(expected, found, strict=True):
            # What CUDA leaves undefined may be anything.
            assert [a for a in old if a is not POISON] == [b for a, b in zip(old, new, strict=True) if a is not POISON]  # type: ignore[call-overload]


def test_the_machine_tells_a_difference() -> None:
    """A sum that reaches across the 32-lane line is caught: the check above can fail."""
    text = """__global__ void k(int* out, const int* in) {
  int v = in[threadIdx.x];
  for (int o = 16; o > 0; o >>= 1) v += __shfl_down(v, o);
  out[threadIdx.x] = v;
}"""
    case = Case("wrong", text, "k", ("out", "ints_inout"))
    assert memory_after(case, text, "cuda", 32, 0) != memory_after(case, text, "hip", 64, 0)
    assert memory_after(case, text, "cuda", 32, 0) == memory_after(case, text, "hip", 32, 0)


@pytest.mark.parametrize("mask", ["0xffffffffull", "0xffffffffffffffffull"])
def test_a_constant_mask_would_trap(mask: str) -> None:
    """Why the forms without `_sync` are used: no constant mask fits a wave of which one half is elsewhere."""
    call = f"__shfl_sync({mask}, 1, 0, 32)"
    text = f"__global__ void k(int* out) {{ if (threadIdx.x / 32 == 1) out[threadIdx.x] = {call}; }}"
    with pytest.raises(Trap):
        memory_after(Case("trap", text, "k", ("out",)), text, "hip", 64, 0)
