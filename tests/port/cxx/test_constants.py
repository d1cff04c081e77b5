"""The value of an integer expression, by its text and what the unit defines."""

from __future__ import annotations

import pytest

from kernel_pytorch.port.cxx.constants import constant_value
from kernel_pytorch.port.cxx.source import cxx_file
from kernel_pytorch.port.cxx.unit import unit_of

UNIT = unit_of(
    cxx_file(
        "a.cu",
        b"#define N 32\n#define TWICE (N * 2)\n#define F(x) x\n#define LOOP LOOP2\n#define LOOP2 LOOP\n"
        b"constexpr int kBlock = 256;\nstatic const unsigned kBytes = kBlock * sizeof(float);\n",
    ),
    cxx_file("b.h", b"#define TWO 1\nconstexpr int kOther = 1;\n"),
    cxx_file("c.h", b"#define TWO 2\nconstexpr int kOther = 2;\n"),
)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (b"32", 32), (b"0x20u", 32), (b"0b11", 3), (b"010", 8), (b"1'024", 1024), (b"0 - 1", -1),
        (b"N", 32), (b"TWICE + 1", 65), (b"N * kBlock", 8192), (b"kBytes", 1024),
        (b"sizeof(float4) * 2", 32), (b"sizeof (unsigned int)", 4),
        (b"(size_t)N << 10", 32768), (b"(unsigned)(3 + 4) % 4", 3), (b"48 * 1024 / 2", 24576), (b"~0 & 0xff", 255),
        (b"static_cast<int>(N)", 32), (b" 256  // eight warps", 256), (b"2 /* warps */ * N", 64),
        (b"F(1)", None), (b"unknown", None), (b"TWO", None), (b"kOther", None), (b"LOOP", None), (b"1 / 0", None),
        (b"1 << 70", None), (b"warpSize", None), (b"a ? 1 : 2", None), (b"", None), (b"9" * 5000, None),
        (b"*".join([b"4294967296"] * 3), None), (b"(" * 900 + b"1", None),
    ],
)  # fmt: skip
def test_value(text: bytes, value: int | None) -> None:
    assert constant_value(text, UNIT) == value
