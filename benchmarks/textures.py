"""Texture and surface fetches: NVIDIA's hardware, a port's software or AMD's image units against a model in NumPy.

    python benchmarks/textures.py                    the port's software textures, emulated (MI300X, wave 64)
    python benchmarks/textures.py --gpu rx7900xtx --software     the same at wave 32
    python benchmarks/textures.py --gpu rx7900xtx    the port's calls of HIP's functions: image instructions, emulated
    python benchmarks/textures.py --nvidia           nvcc's build of the same program, on this machine's GPU
    python benchmarks/textures.py --values FILE      what the program printed elsewhere

The model follows the appendix "Texture Fetching" of CUDA's programming guide, and where that is silent what an H200
does. For image units it is changed where HIP and AMD's units are known to differ (AMD below), and what differs from
CUDA's model is listed. It shares no code with the port. Exit code 1 if a value differs by more than the tolerance.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

SOURCE = Path(__file__).parent / "textures" / "cases.cu"
THREADS, WIDTH, HEIGHT, DEPTH, FACE = 64, 11, 7, 5, 8
EXTENTS = {
    "1D": (1, 1, WIDTH), "2D": (1, HEIGHT, WIDTH), "3D": (DEPTH, HEIGHT, WIDTH), "1DLayered": (3, 1, WIDTH),
    "2DLayered": (3, HEIGHT, WIDTH), "Cubemap": (6, FACE, FACE), "CubemapLayered": (12, FACE, FACE),
    "fetch": (1, 1, WIDTH), "pitch2D": (1, HEIGHT, WIDTH), "2DLod": (1, HEIGHT, WIDTH), "2DGrad": (1, HEIGHT, WIDTH),
    "2Dgather": (1, HEIGHT, WIDTH),
}  # fmt: skip
AXES = {"1D": 1, "1DLayered": 1, "3D": 3}
BORDER = np.array([0.25, -1.5, 2.0, 0.75])
# The hardware's sums of fractions have about 16 bits, and it has its own table for sRGB. It finds the place on a cube
# by a fast reciprocal, which may move the fraction by one step of 1/256 between texels up to 16 apart. The weights of a
# volume's corners differ by such a step too: in which order it rounds their products is not known.
TOLERANCES = {"plain": 2.0**-14, "half": 2.0**-10, "srgb": 2.0**-8, "step": 2.0**-4 + 2.0**-14}
# An H200 samples a 1D texture as a 2D one of one row, at its edge: half of what it blends in is the border.
LEFT_OUT = "1D f32x1 border linear"
Values = NDArray[np.float64]


@dataclass(frozen=True)
class Rules:
    """What is not the same everywhere."""

    rounds_products: bool = True  # the weights of corners, to 1/256
    wraps_layers: bool = True  # -1 is the last layer
    has_border: bool = True  # a colour of the program's choice, not zeros
    rounds_halves: bool = True  # a filtered half is a half
    limits_early: bool = False  # -128/127 is -1 before it is filtered
    rounds_points: bool = False  # point sampling: to 1/256, and HIP takes normalised coordinates down to a texel first


CUDA, AMD = Rules(), Rules(False, False, False, False, True, True)
#: Cases that differ from the model of AMD's units, and why: no fault of the units.
EXPLAINED = {
    "fetch": "HIP's descriptor counts bytes where the hardware counts elements: no bound is kept, as on hardware",
    "surface-1D f32x1 zero": "clang moves the reads behind the barrier that should keep them before the writes",
    "surface-1DLayered f32x1 zero": "clang moves the reads behind the barrier that should keep them before the writes",
}


def stored(kind: str, bits: int, count: int) -> NDArray[np.generic]:
    """The channels as the program fills them: words of one hash, in the format's own type."""
    hashed = ((np.arange(1, count + 1, dtype=np.uint64) * 2654435761) & 0xFFFFFFFF).astype(np.uint32) >> 8
    if kind == "f":
        return ((hashed & 0xFFF) / 256.0 - 8.0).astype({32: np.float32, 16: np.float16}[bits])
    unsigned = hashed.astype({8: np.uint8, 16: np.uint16, 32: np.uint32}[bits])
    return unsigned if kind == "u" else unsigned.view({8: np.int8, 16: np.int16, 32: np.int32}[bits])


def coordinates(axis: int, salt: int, scale: float) -> Values:
    """What the program's threads ask for on one axis."""
    k = ((np.arange(1, THREADS + 1) * 40503 + axis * 25717 + salt * 7919) & 0xFFFF).astype(np.float64)
    return (k * 3.0 - 65536.0) * scale / 65536.0


def cube_places(x: Values, y: Values, z: Values) -> tuple[NDArray[np.int64], Values, Values]:
    """The face of each direction and the place on it, from 0 to 1 (the guide's table)."""
    faces, us, vs = [], [], []
    for at in zip(x, y, z, strict=True):
        axis = int(np.argmax(np.abs(at)))
        a, b, c = at
        face = 2 * axis + int(at[axis] < 0)
        s, t = [(-c, -b), (c, -b), (a, c), (a, -c), (a, -b), (-a, -b)][face]
        faces.append(face)
        us.append((s / abs(at[axis]) + 1) / 2)
        vs.append((t / abs(at[axis]) + 1) / 2)
    return np.array(faces), np.array(us), np.array(vs)


def index(i: NDArray[np.int64], count: int, mode: str) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Texel numbers inside the axis, and which were outside under the border mode."""
    outside = (i < 0) | (i >= count)
    if mode == "wrap":
        return i % count, np.zeros_like(outside)
    if mode == "mirror":
        return np.where((i // count) % 2 == 0, i % count, count - 1 - i % count), np.zeros_like(outside)
    return np.clip(i, 0, count - 1), outside & (mode == "border")


def quantized_border(kind: str, bits: int, unit: bool) -> Values:
    if not unit:
        return BORDER
    steps = 2 ** (bits - (kind == "s")) - 1
    return np.round(np.clip(BORDER, -1.0 if kind == "s" else 0.0, 1.0) * steps) / steps


def sampled(shape: str, kind: str, bits: int, channels: int, mode: str, linear: bool, normalized: bool, unit: bool,
            srgb: bool, salt: int, rules: Rules) -> Values:  # fmt: skip
    """One case of the program's table, thread by thread: (THREADS, channels)."""
    depth, height, width = EXTENTS[shape]
    texels = stored(kind, bits, depth * height * width * channels).reshape(depth, height, width, channels)
    values = texels.astype(np.float64)
    border = quantized_border(kind, bits, unit)[:channels]
    if unit:
        values = values / (2 ** (bits - (kind == "s")) - 1)
        values = np.maximum(values, -1.0) if rules.limits_early else values
    elif kind != "f":
        border = BORDER.astype(np.float32).view(np.uint32)[:channels].astype(texels.dtype).astype(np.float64)
    if not rules.has_border:
        border = np.zeros(channels)
    if srgb:
        rgb = values[..., :3]
        values[..., :3] = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    thread = np.arange(THREADS)
    if shape == "fetch":
        at = thread - 8
        inside = (at >= 0) & (at < width)
        return np.where(inside[:, None], values[0, 0, np.clip(at, 0, width - 1)], 0.0)
    is_cube = shape.startswith("Cubemap")
    scale = (1.0, 1.0, 1.0) if normalized or is_cube else (float(width), float(height), float(depth))
    x, y, z = (coordinates(axis, salt, scale[axis]) for axis in range(3))
    layer = np.zeros(THREADS, np.int64)
    if shape in ("1DLayered", "2DLayered"):
        asked = thread % 5 - 1
        layer = np.minimum(asked % 2**32, depth - 1) if rules.wraps_layers else np.clip(asked, 0, depth - 1)
    if is_cube:
        layer, x, y = cube_places(x, y, z)
        layer = layer + 6 * (thread % 2) * (shape == "CubemapLayered")
    if not normalized and not is_cube and mode in ("wrap", "mirror"):
        mode = "clamp"
    count = AXES.get(shape, 2)
    places = [(x, width), (y, height), (z, depth)][:count]
    if normalized or is_cube:
        places = [(at * size, size) for at, size in places]
    gathers = shape == "2Dgather"
    firsts, fractions = [], []
    for at, _ in places:
        if not linear and rules.rounds_points:
            at = np.floor(at) if normalized else np.floor(at * 256 + 0.5) / 256
        if linear or gathers:
            steps = np.floor((at - 0.5) * 256 + 0.5).astype(np.int64)
            firsts.append(steps // 256)
            fractions.append(steps % 256)
        else:
            firsts.append(np.floor(at).astype(np.int64))
            fractions.append(np.zeros(THREADS, np.int64))

    def corner(which: int) -> Values:
        parts = [index(firsts[d] + (which >> d & 1), places[d][1], mode) for d in range(count)]
        rows = parts[1][0] if count > 1 else 0
        slices = parts[2][0] if count > 2 else layer
        outside = np.any([part[1] for part in parts], axis=0)
        return np.where(outside[:, None], border, values[slices, rows, parts[0][0]])

    if gathers:
        picked = [corner(which)[thread, thread % 4] for which in (2, 3, 1, 0)]
        return np.stack(picked, axis=1)
    total = np.zeros((THREADS, channels))
    weights = corner_weights if rules.rounds_products else exact_weights
    for which, weight in enumerate(weights(fractions) if linear else [np.ones(THREADS)]):
        total += weight[:, None] * corner(which)
    if unit:
        total = np.maximum(total, -1.0)
    is_half = kind == "f" and bits == 16 and rules.rounds_halves
    return total.astype(np.float16).astype(np.float64) if is_half else total


def exact_weights(fractions: list[NDArray[np.int64]]) -> list[Values]:
    """The weights of the corners, x fastest, as products of fractions of 1/256."""
    found = [np.ones(len(fractions[0]))]
    for fraction in reversed(fractions):
        found = [side / 256 * weight for weight in found for side in (256 - fraction, fraction)]
    return found


def corner_weights(fractions: list[NDArray[np.int64]]) -> list[Values]:
    """The weights of the corners, x fastest: the last corner's is rounded to 1/256, the others follow from the sums."""
    if len(fractions) == 1:
        (a,) = fractions
        return [(256 - a) / 256, a / 256]
    a, b, *more = fractions
    both = rounded(a * b)
    if not more:
        return [(256 - a - b + both) / 256, (a - both) / 256, (b - both) / 256, both / 256]
    (c,) = more
    across, along = rounded(a * c), rounded(b * c)
    deep = rounded(across * b)
    upper = [c - across - along + deep, across - deep, along - deep, deep]
    flat = [256 - a - b + both, a - both, b - both, both]
    return [(one - other) / 256 for one, other in zip(flat, upper, strict=True)] + [one / 256 for one in upper]


def rounded(product: NDArray[np.int64]) -> NDArray[np.int64]:
    return (product + 128) // 256


def surface(shape: str, mode: str) -> Values:
    """What the surface kernel reads before it writes ("zero", "clamp"), or the array afterwards ("after")."""
    depth, height, width = EXTENTS[shape]
    texels = stored("f", 32, depth * height * width).astype(np.float64).reshape(depth, height, width)
    t = np.arange(THREADS)
    layers = {"3D": t % 7 - 1, "1DLayered": t % 3, "2DLayered": t % 3, "Cubemap": t % 6, "CubemapLayered": t % 12}
    has_rows = shape not in ("1D", "1DLayered")
    if mode == "after":
        fixed = {"3D": 2, "2DLayered": 1, "Cubemap": 4, "CubemapLayered": 10}
        for one in range(THREADS):
            x = one % 16 - 2 + (one // 16 * 16 if shape == "1D" else 0)
            y = one // 16 if has_rows else 0
            z = one // 16 % 3 if shape == "1DLayered" else fixed.get(shape, 0)
            if 0 <= x < width and y < height:
                texels[z, y, x] = one + 0.5
        return texels.reshape(-1)
    x, y = t % 16 - 2, t // 8 - 1 if has_rows else np.zeros(THREADS, np.int64)
    z = layers.get(shape, np.zeros(THREADS, np.int64))
    inside = (x >= 0) & (x < width) & (y >= 0) & (y < height) & (z >= 0) & (z < depth)
    read = texels[np.clip(z, 0, depth - 1), np.clip(y, 0, height - 1), np.clip(x, 0, width - 1)]
    return read if mode == "clamp" else np.where(inside, read, 0.0)


def expected(name: str, rules: Rules = CUDA) -> tuple[Values, str]:
    """The model's values for a case, and how its words are to be read: "f" or an integer type's letter."""
    shape, form, *rest = name.split()
    if shape.startswith("surface-"):
        mode = "zero" if rest[0] == "clamp" and not rules.has_border else rest[0]  # HIP has no boundary mode
        return surface(shape.removeprefix("surface-"), mode), "f"
    kind, bits, channels = form[0], int(re.findall(r"\d+", form)[0]), int(form[-1])
    mode, filtering, normalized, read, srgb, salt = rest
    values = sampled(shape, kind, bits, channels, mode, filtering == "linear", normalized == "normalized",
                     read == "unit" and kind != "f", srgb == "srgb", int(salt), rules)  # fmt: skip
    return values.reshape(-1), "f" if kind == "f" or read == "unit" else kind


def kind_of(name: str, of_nvidia: bool = False) -> str:
    """Which tolerance holds for a case. NVIDIA's hardware rounds in more places than the port's software."""
    if " linear " in name and name.startswith(("Cubemap", "3D") if of_nvidia else "Cubemap"):
        return "step"
    if of_nvidia and " linear " in name and " f16" in name:
        return "half"
    return "srgb" if " srgb " in name else "plain"


def tolerance(name: str, of_nvidia: bool = False) -> float:
    """How far a value of a case may be from the model."""
    return TOLERANCES[kind_of(name, of_nvidia)]


def differences(output: str, rules: Rules = CUDA) -> list[tuple[float, str, int]]:
    """The largest difference of each case, its name, and the thread."""
    found = []
    for line in output.splitlines():
        name, mark, words = line.partition(" :")
        if not mark:
            continue
        model, kind = expected(name, rules)
        raw = np.array([int(word, 16) for word in words.split()], dtype=np.uint32)
        given = raw.view(np.float32) if kind == "f" else raw.view(np.int32) if kind == "s" else raw
        if given.size != model.size:
            raise SystemExit(f"{name}: {given.size} values, the model has {model.size}")
        apart = np.abs(given.astype(np.float64) - model)
        apart[~np.isfinite(apart)] = np.inf
        worst = int(np.argmax(apart))
        found.append((float(apart[worst]), name, worst * THREADS // model.size))
    return found


def run(command: list[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(command)} failed:\n{done.stdout[-2000:]}{done.stderr[-4000:]}")
    return done.stdout


def on_nvidia() -> str:
    with tempfile.TemporaryDirectory() as folder:
        program = f"{folder}/cases"
        run(["nvcc", "-std=c++17", "-arch=native", str(SOURCE), "-o", program])
        return run([program])


def emulated(gpu: str, define: str) -> str:
    return run([sys.executable, "-m", "kernel_pytorch", "emulate", str(SOURCE), "--gpu", gpu, "-D", define])


def judge_image_units(output: str) -> int:
    """How AMD's units as emulated agree with the model of them, and where that differs from CUDA's."""
    refused = [line.partition(" ! ")[::2] for line in output.splitlines() if " ! " in line]
    for name, code in refused:
        print(f"{name}: refused ({code})")
    found = differences(output, AMD)
    apart = [one for one in found if one[0] > tolerance(one[1])]
    why = {one[1]: next((text for start, text in EXPLAINED.items() if one[1].startswith(start)), "") for one in apart}
    wrong = [one for one in apart if not why[one[1]]]
    for difference, name, thread in apart:
        print(f"{name}: differs by {difference:g} in thread {thread}{why[name] and ': ' + why[name]}")
    cuda = [one for one in differences(output) if one[0] > tolerance(one[1])]
    for difference, name, thread in cuda:
        print(f"{name}: {difference:g} from CUDA's model in thread {thread}")
    print(f"{len(found)} cases, {len(apart)} differ from the model of AMD's units, {len(wrong)} of them without a "
          f"reason, {len(refused)} refused; {len(found) - len(cuda)} agree with CUDA's model, "
          f"{len(cuda)} do not")  # fmt: skip
    return 1 if wrong else 0


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Texture fetches against a model in NumPy.")
    parser.add_argument("--nvidia", action="store_true", help="build with nvcc and run on this machine's GPU")
    parser.add_argument("--gpu", default="mi300x", help="the GPU to emulate (default: mi300x)")
    parser.add_argument(
        "--software", action="store_true", help="a port's own textures also where there are image units"
    )
    parser.add_argument("--values", type=Path, help="a file with the program's output")
    parser.add_argument("--save", type=Path, help="write the program's output there")
    args = parser.parse_args(argv)
    by_units = not args.nvidia and not args.software and not args.gpu.startswith("mi")
    define = "LIST_REFUSED" if by_units else "KPT_SOFTWARE_TEXTURES"
    read: Callable[[], str] = on_nvidia if args.nvidia else lambda: emulated(args.gpu, define)
    output = args.values.read_text() if args.values else read()
    if args.save:
        args.save.write_text(output)
    if by_units:
        return judge_image_units(output)
    found = differences(output)
    if not found:
        sys.exit("the program printed no case")
    known = [one for one in found if args.nvidia and one[1].startswith(LEFT_OUT)]
    judged = [one for one in found if one not in known]
    wrong = [one for one in judged if one[0] > tolerance(one[1], args.nvidia)]
    for apart, name, thread in (*wrong, *known):
        note = " (known: see LEFT_OUT)" if (apart, name, thread) in known else ""
        print(f"{name}: differs by {apart:g} in thread {thread}{note}")
    print(f"{len(found)} cases, {len(wrong)} differ, {len(known)} known to differ")
    for kind, limit in TOLERANCES.items():
        alike = [one for one in judged if kind_of(one[1], args.nvidia) == kind]
        if alike:
            print(f"largest difference, {kind}: {max(alike)[0]:g} (allowed {limit:g}; {max(alike)[1]})")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
