"""A lane's aligned access of 8 or 16 bytes is whole for other blocks, as on hardware: a 64-bit atomic load or store is
the one, what rocPRIM's scans leave for the next block the other."""

from __future__ import annotations

import numpy
import pytest

from kernel_pytorch.emulate.launch import launch

TIMES = 300000
# One block writes numbers with equal halves, the other looks for one with different halves. Lanes lie apart, one behind
# the other, or all at one place: three ways of reaching memory.
SOURCE = """
__global__ void halves(unsigned long long *place, int apart, int times, int *torn) {
    unsigned long long *mine = place + threadIdx.x * apart;
    if (blockIdx.x == 0) {
        for (int i = 1; i <= times; i++)
            __hip_atomic_store(mine, (unsigned long long)i << 32 | i, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
        return;
    }
    unsigned long long seen;
    do { /* until the last one: so both run at the same time */
        seen = __hip_atomic_load(mine, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
        if ((unsigned)seen != (unsigned)(seen >> 32)) *torn = 1;
    } while ((unsigned)seen != times);
}
"""


@pytest.mark.slow
@pytest.mark.parametrize("apart", [3, 1, 0])
def test_no_reader_sees_half_of_a_write(apart: int) -> None:
    place, torn = numpy.zeros(256, dtype=numpy.uint64), numpy.zeros(1, dtype=numpy.int32)
    launch(SOURCE, 2, 64, place, apart, TIMES, torn, gpu="mi300x")
    assert place[0] >> 32 == TIMES
    assert torn[0] == 0


# The same with four words, of one lane or of all.
FOURS = """
typedef unsigned four __attribute__((ext_vector_type(4)));
__global__ void fours(volatile four *place, int apart, int times, int *torn) {
    volatile four *mine = place + threadIdx.x * apart;
    if (blockIdx.x == 0) {
        for (unsigned i = 1; i <= times; i++) *mine = four{i, i, i, i};
        return;
    }
    four seen;
    do {
        seen = *mine;
        if (seen.x != seen.y || seen.x != seen.z || seen.x != seen.w) *torn = 1;
    } while (seen.w != times);
}
"""


@pytest.mark.slow
@pytest.mark.parametrize("lanes", [1, 64])
@pytest.mark.parametrize("apart", [3, 1, 0])
@pytest.mark.parametrize("gpu", ["mi300x", "rx7900xtx"])
def test_no_reader_sees_a_part_of_four_words(gpu: str, apart: int, lanes: int) -> None:
    place, torn = numpy.zeros((256, 4), dtype=numpy.uint32), numpy.zeros(1, dtype=numpy.int32)
    launch(FOURS, 2, lanes, place, apart, TIMES, torn, gpu=gpu)
    assert place[0, 3] == TIMES
    assert torn[0] == 0
