"""`--profile` counts the extra cycles that LDS accesses take because lanes want different words of one bank."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import pytest

from kernel_pytorch.core.hardware import gpu_by_alias
from kernel_pytorch.emulate.program import build_emulated
from kernel_pytorch.emulate.run import RunSettings, run_program
from kernel_pytorch.toolchain.find import find_toolchain

# The word of each lane, and how many words it reads from there.
PATTERNS = {
    "t": 1, "t * 2": 1, "t * 32": 1, "t * 33": 1, "t * 8 % 512": 1, "t / 4": 1, "t * 4": 4,
    "t * 2 ": 2, "t * 12 + 64": 4,
}  # fmt: skip
KERNEL = """
__global__ void k{number}(float *out) {{
  extern __shared__ __attribute__((aligned(16))) float s[];
  int t = threadIdx.x;
  out[t] = ((float{words} *)(s + {place}))[0]{first};
}}
"""
PROGRAM = """
#include <hip/hip_runtime.h>
{kernels}
int main() {{
  float *out;
  if (hipMalloc(&out, 1024) != hipSuccess) return 1;
  {launches}
  return hipDeviceSynchronize() != hipSuccess;
}}
"""


def extra_cycles(place: str, words: int, wave: int) -> int:
    """32 lanes at a time: a bank gives one word a cycle, and wider accesses take more of their own accord."""
    extra = 0
    for first in range(0, wave, 32):
        banks: dict[int, set[int]] = defaultdict(set)
        for t in range(first, first + 32):
            start = eval(place.replace("/", "//"), {"t": t})
            for word in range(start, start + words):
                banks[word % 32].add(word)
        extra += max(0, max(map(len, banks.values())) - words)
    return extra


@pytest.mark.parametrize("gpu", ["mi300x", pytest.param("rx7900xtx", marks=pytest.mark.slow)])
def test_words_of_one_bank_take_a_cycle_each(gpu: str, tmp_path: Path) -> None:
    kernels = launches = ""
    for number, (place, words) in enumerate(PATTERNS.items()):
        read = f"((float{words} *)(s + {place}))[0]"
        first = "" if words == 1 else ".x + " + " + ".join(f"{read}.{one}" for one in "yzw"[: words - 1])
        kernels += KERNEL.format(number=number, words="" if words == 1 else words, place=place, first=first)
        launches += f"k{number}<<<1, WAVE, 16384>>>(out);\n  "
    chosen = gpu_by_alias(gpu)
    source = tmp_path / "reads.hip"
    text = PROGRAM.format(kernels=kernels, launches=launches.replace("WAVE", str(chosen.target.wave_size)))
    source.write_text(text)
    program = tmp_path / "reads"
    build_emulated([source], chosen.target.name, find_toolchain(), program)
    ran = run_program(program, [], chosen, RunSettings(counted=True))
    assert ran.ok, ran.stderr
    found = [launch.counters["lds_conflict_cycles"] for launch in ran.events.launches]
    wanted = [extra_cycles(place, words, chosen.target.wave_size) for place, words in PATTERNS.items()]
    assert found == wanted and max(wanted) == 31 * chosen.target.wave_size // 32
    assert all(launch.counters["lds_accesses"] == 1 for launch in ran.events.launches)
