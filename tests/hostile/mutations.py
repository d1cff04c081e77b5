"""Damaged source files, the same ones in every run: our own fixtures with pieces lost, doubled, swapped or garbled."""

from __future__ import annotations

import random
import re
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

PORT = Path(__file__).parents[1] / "port"
LIMIT_S = 20
_TOKEN = re.compile(rb"\w+|\s+|[^\w\s]")
_PIECES = (b'"', b"'", b"/*", b"*/", b"//", b"{", b"}", b"(", b")", b"\\\n", b"#if 1\n", b"#endif\n", b'R"(', b"##",
           b"<<<", b"<", b"\xef\xbb\xbf", b"\r", b"\x0c", b"\t", b":", b"lambda ", b"\xff")  # fmt: skip
_NESTS = ((b"(", b")"), (b"{", b"}"), (b"[", b"]"), (b"-", b""), (b"f(", b")"), (b"not ", b""), (b"a?b:", b""))


def seeds(*suffixes: str) -> list[Path]:
    """The fixtures of the rules with these suffixes, and the examples, in a stable order."""
    return sorted(path for path in PORT.rglob("*") if path.suffix in suffixes and not path.name.startswith("test_"))


def mutated(count: int, files: list[Path], first: int = 0) -> Iterator[tuple[str, bytes]]:
    """`count` damaged files, each with a name that says which it is. `first` shifts to others."""
    for number in range(first, first + count):
        rng = random.Random(number)
        path = files[number % len(files)]
        data = path.read_bytes()
        for _ in range(rng.randrange(1, 5)):
            data = rng.choice((_lost, _doubled, _swapped, _cut, _noise, _nested, _piece))(data, rng, files)
        yield f"{path.parent.name}/{path.name}#{number}", data


def _lost(data: bytes, rng: random.Random, files: list[Path]) -> bytes:
    tokens = _TOKEN.findall(data)
    at = rng.randrange(len(tokens) + 1)
    return b"".join(tokens[:at] + tokens[at + rng.randrange(1, 6) :])


def _doubled(data: bytes, rng: random.Random, files: list[Path]) -> bytes:
    tokens = _TOKEN.findall(data)
    at = rng.randrange(len(tokens) + 1)
    return b"".join(tokens[: at + rng.randrange(1, 30)] + tokens[at:])


def _swapped(data: bytes, rng: random.Random, files: list[Path]) -> bytes:
    tokens = _TOKEN.findall(data)
    if not tokens:
        return data
    one, two = rng.randrange(len(tokens)), rng.randrange(len(tokens))
    tokens[one], tokens[two] = tokens[two], tokens[one]
    return b"".join(tokens)


def _cut(data: bytes, rng: random.Random, files: list[Path]) -> bytes:
    return data[: rng.randrange(len(data) + 1)]


def _noise(data: bytes, rng: random.Random, files: list[Path]) -> bytes:
    garbled = bytearray(data)
    for _ in range(rng.randrange(1, 9)):
        if garbled:
            garbled[rng.randrange(len(garbled))] = rng.randrange(1, 256)
    return bytes(garbled)


def _nested(data: bytes, rng: random.Random, files: list[Path]) -> bytes:
    opening, closing = rng.choice(_NESTS)
    depth = rng.choice((10, 90, 900, 3000))
    at = rng.randrange(len(data) + 1)
    return data[:at] + opening * depth + b"x" + closing * depth + data[at:]


def _piece(data: bytes, rng: random.Random, files: list[Path]) -> bytes:
    """A token out of place, or a part of another file."""
    at = rng.randrange(len(data) + 1)
    other = rng.choice(files).read_bytes()
    start = rng.randrange(len(other) + 1)
    return data[:at] + rng.choice((rng.choice(_PIECES), other[start : start + 400])) + data[at:]


class HangError(Exception):
    """A file took longer than the limit."""


@contextmanager
def no_hang(seconds: float = LIMIT_S) -> Iterator[None]:
    """Ends what takes longer. The limit is far above what any of these files takes."""

    def ring(number: int, frame: FrameType | None) -> None:
        raise HangError(f"longer than {seconds:g} s")

    previous = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)
