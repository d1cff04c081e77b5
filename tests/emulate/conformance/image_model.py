"""What an image instruction does, lane by lane, from AMD's documents: descriptors, formats, sampling. NumPy only.

Shares no code with the emulator: descriptors are packed here from the manuals' tables, and texels are read by NumPy.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass, field
from typing import Any

import numpy as np

#: Bits of texel formats -> channels -> number of the first numeric format: gfx9 (data format), gfx10, gfx11 and gfx12.
FORMATS = {
    (8, 1): (1, 1, 1), (16, 1): (2, 7, 7), (8, 2): (3, 14, 14), (32, 1): (4, 20, 20), (16, 2): (5, 23, 23),
    (8, 4): (10, 56, 42), (32, 2): (11, 62, 48), (16, 4): (12, 65, 51), (32, 4): (14, 75, 61),
}  # fmt: skip
SMALL = ("unorm", "snorm", "uscaled", "sscaled", "uint", "sint", "float")
LARGE = ("uint", "sint", "float")
GFX9_NUMBERS = {"unorm": 0, "snorm": 1, "uscaled": 2, "sscaled": 3, "uint": 4, "sint": 5, "float": 7, "srgb": 9}
SRGB = {1: (128, 64), 2: (129, 65), 4: (130, 66)}
TYPES = {"1D": 8, "2D": 9, "3D": 10, "1D_ARRAY": 12, "2D_ARRAY": 13}
AXES = {"1D": 1, "2D": 2, "3D": 3, "1D_ARRAY": 1, "2D_ARRAY": 2}
MODES = {"wrap": 0, "mirror": 1, "clamp": 2, "mirror once": 3, "border": 6}


def numbers_of(bits: int) -> tuple[str, ...]:
    """The numeric formats that HIP or its device library can meet in channels of this size."""
    return LARGE if bits == 32 else SMALL if bits == 16 else (*SMALL[:-1], "srgb")


@dataclass
class Picture:
    """An image in memory with everything that its descriptor says."""

    generation: int
    shape: str
    width: int
    height: int
    slices: int
    bits: int
    channels: int
    numbers: str
    pitch: int  # texels
    select: tuple[int, int, int, int]
    first_layer: int = 0
    address: int = 0
    memory: Any = field(default=None, repr=False)  # the bytes from the address on

    @property
    def bytes(self) -> int:
        return self.bits * self.channels // 8

    @property
    def is_integer(self) -> bool:
        return self.numbers in ("uint", "sint")

    @property
    def size(self) -> int:
        return self.pitch * self.bytes * self.height * (self.slices + self.first_layer)

    def words(self) -> list[int]:
        """The eight words of the descriptor."""
        nine, ten, eleven = FORMATS[self.bits, self.channels]
        order = LARGE if self.bits == 32 else SMALL
        code = ten if self.generation == 10 else eleven
        code = SRGB[self.channels][self.generation > 10] if self.numbers == "srgb" else code + order.index(self.numbers)
        own_rows = self.shape in ("1D", "2D")
        last = self.first_layer + self.slices - 1
        select = sum(one << 3 * at for at, one in enumerate(self.select))
        w = [0] * 8
        w[0] = self.address >> 8 & 0xFFFFFFFF
        w[1] = self.address >> 40 & 0xFF
        w[7] = self.address & 0xFF
        if self.generation == 9:
            w[1] |= nine << 20 | GFX9_NUMBERS[self.numbers] << 26
            w[2] = self.width - 1 | (self.height - 1) << 14
            w[4] = last | (self.pitch - 1) << 13
            w[5] = self.first_layer
        else:
            w[1] |= code << (17 if self.generation == 12 else 20) | (self.width - 1 & 3) << 30
            w[2] = self.width - 1 >> 2 | (self.height - 1) << 14
            w[4] = (self.pitch - 1 if own_rows else last) | self.first_layer << 16
        w[3] = select | TYPES[self.shape] << 28
        return w

    def buffer_words(self, records: int, stride: int) -> list[int]:
        """The four words of a typed view of a buffer with texels of this format."""
        w = self.words()
        select = w[3] & 0xFFF
        if self.generation == 9:
            kind = (w[1] >> 26 & 7) << 12 | (w[1] >> 20 & 15) << 15
        else:
            kind = (w[1] >> (17 if self.generation == 12 else 20) & 0x7F) << 12
        return [self.address & 0xFFFFFFFF, self.address >> 32 & 0xFFFF | stride << 16, records, select | kind]

    def texel(self, x: int, y: int, z: int) -> list[float | int]:
        """The channels in memory, in the texel's own order, as numbers."""
        at = ((z + self.first_layer) * self.height + y) * self.pitch * self.bytes + x * self.bytes
        raw = self.memory[at : at + self.bytes].view({8: np.uint8, 16: np.uint16, 32: np.uint32}[self.bits])
        return [self._number(int(one), c) for c, one in enumerate(raw)]

    def _number(self, raw: int, channel: int) -> float | int:
        top, half = (1 << self.bits) - 1, 1 << (self.bits - 1)
        signed = raw - 2 * half if raw >= half else raw
        if self.numbers == "float":
            kind = np.float16 if self.bits == 16 else np.float32
            return float(np.array([raw], dtype=f"uint{self.bits}").view(kind)[0])
        linear = raw / top
        curve = linear / 12.92 if linear <= 0.04045 else ((linear + 0.055) / 1.055) ** 2.4
        return {
            "uint": raw, "sint": signed, "uscaled": float(raw), "sscaled": float(signed), "unorm": linear,
            "snorm": max(signed / (half - 1), -1.0),
            "srgb": linear if channel == 3 else curve,
        }[self.numbers]  # fmt: skip

    def put(self, memory: Any, x: int, y: int, z: int, channels: list[float | int]) -> None:
        """Write a texel the way a store does."""
        at = ((z + self.first_layer) * self.height + y) * self.pitch * self.bytes + x * self.bytes
        size = self.bits // 8
        for c in range(self.channels):
            memory[at + c * size : at + (c + 1) * size] = np.frombuffer(
                self._raw(channels[c]).to_bytes(size, "little"), dtype=np.uint8
            )

    def _raw(self, value: float | int) -> int:
        top, half = (1 << self.bits) - 1, 1 << (self.bits - 1)
        if self.numbers == "uint":
            return min(int(value), top)
        if self.numbers == "sint":
            return min(max(int(value), -half), half - 1) & top
        if self.numbers == "float":
            return int(np.array([value], np.float16 if self.bits == 16 else np.float32).view(f"uint{self.bits}")[0])
        if math.isnan(value):
            return 0
        if self.numbers == "unorm":
            return round(min(max(value, 0.0), 1.0) * top)
        if self.numbers == "snorm":
            return round(min(max(value, -1.0), 1.0) * (half - 1)) & top
        low, high = (0, top) if self.numbers == "uscaled" else (-half, half - 1)
        return math.trunc(min(max(value, low), high)) & top


@dataclass(frozen=True)
class Sampler:
    """How a place is turned into texels."""

    modes: tuple[str, str, str]
    linear: bool
    unnormalized: bool
    border: int  # 0: zeros, 1: opaque black, 2: white
    truncates: bool = False

    def words(self, generation: int) -> list[int]:
        first = sum(MODES[mode] << 3 * at for at, mode in enumerate(self.modes))
        first |= self.unnormalized << 15 | self.truncates << 27
        return [first, 4095 << (13 if generation == 12 else 12), self.linear * (5 << 20), self.border << 30]


def wrapped(at: int, size: int, mode: str) -> int | None:
    """A texel's number, or None in the border."""
    if mode == "wrap":
        return at % size
    if mode == "mirror":
        return at % size if at // size % 2 == 0 else size - 1 - at % size
    if mode == "border":
        return at if 0 <= at < size else None
    if mode == "mirror once" and at < 0:
        at = -1 - at
    return min(max(at, 0), size - 1)


def selected(picture: Picture, texel: list[float | int]) -> list[float | int]:
    """The texel's channels through the descriptor's selection."""
    one = 1 if picture.is_integer else 1.0
    padded = [*texel, 0, 0, 0, 0]
    return [{0: one * 0, 1: one}.get(source, padded[source - 4] if source >= 4 else 0) for source in picture.select]


def corners(
    picture: Picture, sampler: Sampler, place: list[float], layer: int, filtered: bool
) -> list[tuple[float, list[float | int]]]:
    """Weights and texels (before the selection), x fastest."""
    sizes = (picture.width, picture.height, picture.slices)
    axes = []
    for axis, at in enumerate(place):
        at = 0.0 if math.isnan(at) else at * (1 if sampler.unnormalized else sizes[axis])
        steps = math.floor((at - 0.5) * 256 + 0.5) if filtered else math.floor(at * 256 + 0.5) & ~255
        if not filtered and sampler.truncates:
            steps = math.floor(at) * 256
        axes.append((steps >> 8, steps & 255))
    found = []
    for corner in range(1 << len(axes) if filtered else 1):
        weight, at3 = 1.0, [0, 0, layer]
        is_border = False
        for axis, (first, fraction) in enumerate(axes):
            second = corner >> axis & 1
            weight *= (fraction if second else 256 - fraction) / 256
            number = wrapped(first + second, sizes[axis], sampler.modes[axis])
            is_border = is_border or number is None
            at3[axis] = number or 0
        one = 1 if picture.is_integer else 1.0
        border = [one if sampler.border == 2 or (sampler.border == 1 and c == 3) else one * 0 for c in range(4)]
        texel = border[: picture.channels] if is_border else picture.texel(*at3)
        found.append((weight, texel))
    return found


def sampled(picture: Picture, sampler: Sampler, place: list[float], layer: float) -> list[float | int]:
    """The four channels that a sample gives."""
    nearest = min(max(int(np.rint(layer)) if layer == layer else 0, 0), picture.slices - 1)
    filtered = sampler.linear and not picture.is_integer
    found = corners(picture, sampler, place, nearest if picture.shape != "3D" else 0, filtered)
    if not filtered:
        return selected(picture, found[0][1])
    texel: list[float | int] = [
        math.fsum(weight * one[c] for weight, one in found if weight) for c in range(picture.channels)
    ]
    return selected(picture, texel)


def gathered(picture: Picture, sampler: Sampler, place: list[float], layer: float, channel: int) -> list[float | int]:
    """One channel of the four texels around a place, counterclockwise from the lower left one."""
    nearest = min(max(int(np.rint(layer)) if layer == layer else 0, 0), picture.slices - 1)
    found = corners(picture, sampler, place, nearest, True)
    return [selected(picture, found[corner][1])[channel] for corner in (2, 3, 1, 0)]


def loaded(picture: Picture, place: list[int], layer: int, level: int) -> list[float | int]:
    """What a load gives: zeros outside."""
    x, y, z = (*place, 0, 0)[:3]
    z = layer if picture.shape.endswith("ARRAY") else z
    if level or x >= picture.width or y >= picture.height or z >= picture.slices:
        return [0, 0, 0, 0]
    return selected(picture, picture.texel(x, y, z))


def random_picture(rng: random.Random, generation: int, shape: str, writable: bool = False) -> Picture:
    """An image of a size, format and selection of its own."""
    bits, channels = rng.choice(list(FORMATS))
    numbers = rng.choice([one for one in numbers_of(bits) if not (writable and one == "srgb")])
    width = rng.choice((1, 3, 8, 11, 16))
    height = 1 if shape.startswith("1D") else rng.choice((1, 2, 5, 7))
    slices = 1 if shape in ("1D", "2D") else rng.choice((1, 2, 3))
    texel = bits * channels // 8
    pitch = -(-width * texel // 256) * 256 // texel
    plain = tuple(4 + c if c < channels else int(c == 3) for c in range(4))
    turned = (7, 4, 1, 0) if channels == 4 else plain
    select = plain if writable or rng.random() < 0.7 else turned
    layer = rng.choice((0, 1)) if shape.endswith("ARRAY") else 0
    return Picture(generation, shape, width, height, slices, bits, channels, numbers, pitch, select, layer)  # type: ignore[arg-type]


def random_sampler(rng: random.Random) -> Sampler:
    modes = tuple(rng.choice(list(MODES)) for _ in range(3))
    linear, unnormalized, truncates = (rng.random() < chance for chance in (0.6, 0.4, 0.3))
    return Sampler(modes, linear, unnormalized, rng.choice((0, 0, 1, 2)), truncates)  # type: ignore[arg-type]
