"""Which kernels KP236 takes for kernels of matrix tiles."""

from __future__ import annotations

import pytest

from kernel_pytorch.port.cxx.source import cxx_file
from kernel_pytorch.port.cxx.unit import unit_of
from kernel_pytorch.port.rules.cuda import kp236_tile_kernel_without_bounds

PRODUCT = """
__device__ void times(float* d, unsigned a, unsigned b) {
  asm("mma.sync.aligned.m16n8k4.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%4}, {%5}, {%0,%1,%2,%3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "r"(a), "r"(b));
}
"""


@pytest.mark.parametrize(
    ("body", "is_one"),
    [
        ("times(d, 1, 2);", True),  # a function of the unit that multiplies
        ("HMMA16816(d[0], d[1], a, b, c);", True),  # a macro of a header that is not there
        ("wmma::mma_sync(c, a, b, c);", True),
        ("layer_norm(d, gamma, beta);", False),
        ("sometimes(d, 1, 2);", False),
    ],
)
def test_a_kernel_that_multiplies(body: str, is_one: bool) -> None:
    text = f"{PRODUCT}__global__ void k(float* d) {{ {body} }}\nvoid f(float* d) {{ k<<<1, 128>>>(d); }}\n"
    file = cxx_file("a.cu", text.encode())
    found = list(kp236_tile_kernel_without_bounds.check_in_unit(file, unit_of(file)))
    assert bool(found) == is_one
