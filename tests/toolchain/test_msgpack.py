from __future__ import annotations

import math
import random

import pytest

from kernel_pytorch.toolchain.msgpack import MessagePackError, decode


@pytest.mark.parametrize(
    ("data", "value"),
    [
        (b"\x00", 0),
        (b"\x7f", 127),
        (b"\xff", -1),
        (b"\xe0", -32),
        (b"\xc0", None),
        (b"\xc2", False),
        (b"\xc3", True),
        (b"\xcc\xff", 255),
        (b"\xcd\x01\x00", 256),
        (b"\xce\x00\x01\x00\x00", 65536),
        (b"\xcf" + b"\xff" * 8, 2**64 - 1),
        (b"\xd0\x80", -128),
        (b"\xd1\x80\x00", -32768),
        (b"\xd2\x80\x00\x00\x00", -(2**31)),
        (b"\xd3\x80" + b"\x00" * 7, -(2**63)),
        (b"\xcb\x3f\xf8" + b"\x00" * 6, 1.5),
        (b"\xa3abc", "abc"),
        (b"\xd9\x03abc", "abc"),
        (b"\xda\x00\x03abc", "abc"),
        (b"\xdb\x00\x00\x00\x03abc", "abc"),
        (b"\xc4\x02\x01\x02", b"\x01\x02"),
        (b"\x93\x01\x02\x03", [1, 2, 3]),
        (b"\xdc\x00\x01\x05", [5]),
        (b"\x81\xa1a\x01", {"a": 1}),
        (b"\xde\x00\x01\xa1a\x01", {"a": 1}),
        (b"\x01\x00\x00", 1),
    ],
)
def test_values(data: bytes, value: object) -> None:
    assert decode(data) == value


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\xc1",
        b"\xa5ab",
        b"\xdb\xff\xff\xff\xff",
        b"\xdd\xff\xff\xff\xff",
        b"\xdf\xff\xff\xff\xff",
        b"\xa1\xff",
        b"\x01\x02",
        b"\x81\x90\x01",
        b"\x91" * 100 + b"\x01",
    ],
)
def test_damage_is_an_error(data: bytes) -> None:
    with pytest.raises(MessagePackError):
        decode(data)


def test_float32() -> None:
    assert math.isclose(decode(b"\xca\x40\x49\x0f\xdb"), math.pi, rel_tol=1e-6)  # type: ignore[arg-type]


def test_agrees_with_the_msgpack_package() -> None:
    msgpack = pytest.importorskip("msgpack")
    numbers = random.Random(3)

    def value(depth: int) -> object:
        kinds = ["int", "str", "bool", "none", "float"] + (["list", "dict"] if depth < 4 else [])
        kind = numbers.choice(kinds)
        if kind == "int":
            return numbers.randint(-(2**63), 2**64 - 1) >> numbers.randint(0, 63)
        if kind == "str":
            return "é" * numbers.randint(0, 300)
        if kind == "float":
            return numbers.random()
        if kind == "list":
            return [value(depth + 1) for _ in range(numbers.randint(0, 20))]
        if kind == "dict":
            return {f"k{i}": value(depth + 1) for i in range(numbers.randint(0, 20))}
        return kind == "bool" or None

    for _ in range(300):
        original = value(0)
        assert decode(msgpack.packb(original)) == original
