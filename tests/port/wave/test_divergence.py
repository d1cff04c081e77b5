"""KP314 by the data flow of conditions: which lanes are there, and which ones a collective reads."""

from __future__ import annotations

import pytest

from kernel_pytorch.port.cxx.source import cxx_file
from kernel_pytorch.port.cxx.unit import unit_of
from kernel_pytorch.port.wave.analysis import hazards

XOR = "for (int m = 16; m > 0; m /= 2) v += __shfl_xor_sync(0xffffffff, v, m);"
UP = "for (int o = 1; o < 32; o *= 2) v += __shfl_up_sync(0xffffffff, v, o);"
DOWN = "for (int o = 16; o > 0; o /= 2) v += __shfl_down_sync(0xffffffff, v, o);"


def is_reported(body: str, head: str = "", tail: str = "") -> bool:
    text = f"{head}__global__ void kernel(float* data, int n) {{ float v = 0; {body} data[0] = v; }}\n{tail}"
    source = cxx_file("kernel.cu", text.encode())
    return any(hazard.code == "KP314" for hazard in hazards(source, unit_of(source)))


@pytest.mark.parametrize(
    "body",
    [
        f"if (blockIdx.x < n) {{ {XOR} }}",
        f"int warp = threadIdx.x / 32; if (warp < n) {{ {XOR} }}",
        f"int warp = threadIdx.x >> 5; for (int w = warp; w < n; w += blockDim.x / 32) {{ {XOR} }}",
        f"int i = (blockIdx.x * blockDim.x + threadIdx.x) / 32; if (i >= n) return; {XOR}",
        f"int i = (blockIdx.x * blockDim.x + threadIdx.x) / 64; if (i == n) return; {XOR}",
        f"if (threadIdx.x < 64) {{ {XOR} }}",
        f"if (threadIdx.x > 31) {{ {XOR} }}",
        f"if (n <= 4 && threadIdx.x + 32 < 96) {{ {XOR} }}",
        f"for (int i = threadIdx.x; i < n * 32; i += blockDim.x) {{ {XOR} }}",
        f"int e = threadIdx.x; e = n; if (e < 7) {{ {XOR} }}",
        # The lanes that are left are the first ones, and only lanes below are read.
        f"int i = blockIdx.x * 32 + threadIdx.x; if (i >= n || blockIdx.y > 3) return; {UP}",
        "if (threadIdx.x % 32 <= n) v = __shfl_sync(0xffffffff, v, 0);",
        f"if (!(threadIdx.x >= n)) {{ {UP} }}",
        f"if (threadIdx.x % 32 >= n) {{ {DOWN} }}",
        # Values move inside groups that leave together.
        "if (blockIdx.x * 4 + threadIdx.x / 8 >= n) return; v += __shfl_xor_sync(0xffffffff, v, 4, 8);",
    ],
)
def test_the_lanes_that_are_read_are_there(body: str) -> None:
    assert not is_reported(body)


@pytest.mark.parametrize(
    "body",
    [
        f"int i = blockIdx.x * blockDim.x + threadIdx.x; if (i >= n) return; {XOR}",
        f"int i = blockIdx.x * 32 + threadIdx.x; if (i >= n) return; {DOWN}",
        f"if (threadIdx.x < 63) {{ {XOR} }}",
        f"if (threadIdx.x <= 64) {{ {XOR} }}",
        f"if (threadIdx.x / 16 < n) {{ {XOR} }}",
        f"if (threadIdx.x % 2 == 0) {{ {XOR} }}",
        f"for (int i = threadIdx.x; i < n; i += blockDim.x) {{ {XOR} }}",
        f"if (threadIdx.x >= n) {{ {UP} }}",
        f"if (threadIdx.x < n) v = 1; else {{ {UP} }}",
        "if (threadIdx.x % 32 <= n) v = __shfl_sync(0xffffffff, v, 3);",
        "if (blockIdx.x * 4 + threadIdx.x / 8 >= n) return; v += __shfl_xor_sync(0xffffffff, v, 8, 16);",
    ],
)
def test_lanes_that_are_read_may_be_missing(body: str) -> None:
    assert is_reported(body)


def test_rows_of_a_width_known_by_name() -> None:
    body = "if (blockIdx.x + threadIdx.x / {} >= n) return; v += __shfl_xor_sync(0xffffffff, v, ROW / 2, ROW);"
    assert not is_reported(body.format("ROW"), "template <int ROW> ")
    assert is_reported(body.format("OTHER"), "template <int ROW, int OTHER> ")


def test_a_launch_that_gives_whole_warps() -> None:
    body = f"int i = blockIdx.x * blockDim.x + threadIdx.x; if (i > n - 1) return; {XOR}"
    launch = "void run(float* d, int pixels) {{ const int n = pixels * {}; kernel<<<n / 32, 32>>>(d, n); }}"
    assert not is_reported(body, tail=launch.format(32))
    assert is_reported(body, tail=launch.format(16))
