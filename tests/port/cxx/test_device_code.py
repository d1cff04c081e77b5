"""Which parts of a file run on the device."""

from __future__ import annotations

import pytest

from kernel_pytorch.port.cxx.device_code import device_regions
from kernel_pytorch.port.cxx.source import cxx_file


def _bodies(text: bytes) -> list[bytes]:
    return [text[region.start : region.end] for region in device_regions(cxx_file("a.cu", text))]


@pytest.mark.parametrize(
    ("text", "bodies"),
    [
        (b"__global__ void k(int *p) { *p = 1; }", [b"{ *p = 1; }"]),
        # A macro without a body: what follows it belongs to no device function.
        (b"#define KERNEL(name) __global__ void name\n#define RUN(n) do { n<<<1, 1>>>(); } while (0)\n", []),
        (b"#define MARK __device__\nvoid host() { run(); }\n", []),
        # A macro with its body, on one line and on two.
        (b"#define DEFINE(name) __global__ void name() { work(); }\nvoid host() { }\n", [b"{ work(); }"]),
        (b"#define DEFINE(name) __global__ \\\n  void name() { work(); }\nvoid host() { }\n", [b"{ work(); }"]),
    ],
)
def test_the_body_behind_a_mark(text: bytes, bodies: list[bytes]) -> None:
    """A mark in a macro has its body in that macro, or none."""
    assert _bodies(text) == bodies
