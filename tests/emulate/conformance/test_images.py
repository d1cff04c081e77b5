"""Every image instruction against the model: random images, samplers, coordinates on the targets with image units."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace

import numpy as np
import pytest

from kernel_pytorch.core import hardware
from kernel_pytorch.emulate.codegen.emission import TranslationError
from kernel_pytorch.emulate.isa.table import rows

from .harness import Library, Start
from .image_model import (
    AXES,
    Picture,
    Sampler,
    gathered,
    loaded,
    random_picture,
    random_sampler,
    sampled,
    selected,
)
from .operands import exec_patterns
from .programs import Program

TARGETS = {"gfx908": 64, "gfx90a": 64, "gfx1030": 32, "gfx1100": 32, "gfx1201": 32}
#: What stands before and behind the coordinates: gradients (two for each axis), a bias; a level.
BEFORE = {"_d": "gradients", "_d_g16": "gradients", "_b": "bias"}
SAMPLES = (
    "image_sample",
    "image_sample_lz",
    "image_sample_l",
    "image_sample_d",
    "image_sample_d_g16",
    "image_sample_b",
)
GATHERS = ("image_gather4", "image_gather4_lz", "image_gather4_l", "image_gather4_b")
PLAIN = ("image_load", "image_load_mip", "image_store", "image_store_mip")
CHANNELS = ("x", "xy", "xyz", "xyzw")
TYPED = tuple(f"buffer_{what}_format_{channels}" for what in ("load", "store") for channels in CHANNELS)
#: Every row that this file tests; test_coverage.py holds that there is no other without a model of its own.
TESTED = {*PLAIN, *SAMPLES, *GATHERS, *TYPED, "image_get_resinfo"}
#: On gfx90a the assembler knows no more of them; gradients of 16 bits by name came with gfx10.
WITHOUT = {"gfx90a": {*SAMPLES[1:], *GATHERS}, "gfx908": {"image_sample_d_g16"}}
DATA, ADDRESS, RESOURCE, SAMPLER = 32, 2, 8, 16


@dataclass
class Case:
    """One instruction with the registers that it is to be run on."""

    program: Program
    picture: Picture
    sampler: Sampler
    name: str
    mask: int
    a16: bool
    d16: bool
    g16: bool
    unorm: bool


def case_of(rng: random.Random, target: str, name: str, shape: str) -> Case:
    generation = int(hardware.target(target).version[0])
    picture = random_picture(rng, generation, shape, writable="store" in name)
    a16, d16 = rng.random() < 0.25, rng.random() < 0.25 and picture.numbers != "srgb"
    g16 = name.endswith("_g16") or (a16 and generation == 9)
    unorm = (name in PLAIN and generation < 12) or (rng.random() < 0.2 and generation < 12)
    mask = rng.choice((1, 2, 4, 8)) if "gather4" in name else rng.randrange(1, 16)
    count = 4 if "gather4" in name else mask.bit_count()
    registers = (count + 1) // 2 if d16 else count
    components = AXES[shape] + shape.endswith("ARRAY") + name.endswith(("_l", "_mip"))
    words = (components + 1) // 2 if a16 else components
    if name.endswith(("_d", "_g16")):
        words += (AXES[shape] + 1) // 2 * 2 if g16 else 2 * AXES[shape]
    words += name.endswith("_b")
    data = f"v[{DATA}:{DATA + registers - 1}]" if registers > 1 else f"v{DATA}"
    listed = [f"v{ADDRESS + at}" for at in range(words)]
    together = f"v[{ADDRESS}:{ADDRESS + words - 1}]"
    address = listed[0] if words == 1 else together
    if words > 1 and (generation == 12 or (generation > 9 and rng.random() < 0.5)):
        address = f"[{', '.join(listed)}]"
        if words > 4 and generation > 10:
            address = f"[{', '.join(listed[:3])}, v[{ADDRESS + 3}:{ADDRESS + words - 1}]]"
    scalars = f"s[{RESOURCE}:{RESOURCE + 7}]" + ("" if name in PLAIN else f", s[{SAMPLER}:{SAMPLER + 3}]")
    flags = [word for word, on in (("unorm", unorm), ("a16", a16), ("d16", d16)) if on]
    if generation == 9:
        flags += ["da"] if shape.endswith("ARRAY") else []
    else:
        flags.insert(0, f"dim:SQ_RSRC_IMG_{shape}")
    line = f"{name} {data}, {address}, {scalars} dmask:{mask:#x} {' '.join(flags)}"
    return Case(
        Program(name, target, TARGETS[target], [line]), picture, random_sampler(rng), name, mask, a16, d16, g16, unorm
    )


def cases(target: str) -> list[Case]:
    rng = random.Random(target)
    found = []
    for name in (*PLAIN, *SAMPLES, *GATHERS):
        if name in WITHOUT.get(target, ()):
            continue
        for shape in AXES:
            if "gather4" in name and not shape.startswith("2D"):
                continue
            found += [case_of(rng, target, name, shape) for _ in range(6)]
    return found


def halves(values: list[float], a16: bool) -> list[int]:
    """Numbers as bits of 16 or 32."""
    kind, view = (np.float16, np.uint16) if a16 else (np.float32, np.uint32)
    return [int(one) for one in np.array(values, dtype=kind).view(view)]


def packed(bits: list[int], short: bool) -> list[int]:
    if not short:
        return bits
    padded = [*bits, 0] if len(bits) % 2 else bits
    return [low | high << 16 for low, high in zip(padded[::2], padded[1::2], strict=True)]


def place(case: Case, rng: random.Random, start: Start, lane: int) -> tuple[list[float], list[int]]:
    """Coordinates, then layer, then level, in the lane's registers: as floats of a sample, integers of a load."""
    picture, shape = case.picture, case.picture.shape
    axes, is_array = AXES[shape], shape.endswith("ARRAY")
    sizes = (picture.width, picture.height, picture.slices)
    has_level = case.name.endswith(("_l", "_mip"))
    if case.name in PLAIN:
        whole = [rng.randrange(0, sizes[axis] + 2) for axis in range(axes)]
        whole += [rng.randrange(0, picture.slices + 1)] if is_array else []
        whole += [rng.choice((0, 0, 0, 1))] if has_level else []
        if rng.random() < 0.05:
            whole[0] = 0xFFFF if case.a16 else 0xFFFFFFFF
        words = packed(whole, case.a16)
        start.v[ADDRESS : ADDRESS + len(words), lane] = words
        return [], whole
    normalized = not (case.sampler.unnormalized or case.unorm)
    real = []
    for axis in range(axes):
        at = rng.uniform(-1.6, 2.6) * (1 if normalized else sizes[axis])
        at = rng.choice(
            (
                at,
                round(at * 4) / 4,
                round(at) - 0.001,
                rng.choice((0.0, 0.5, -0.5, 1.0, float("nan"), 70000.5, -70000.5)),
            )
        )
        real.append(min(max(at, -60000.0), 60000.0) if case.a16 and at == at else at)
    real += [rng.choice((-1.0, 0.0, 0.5, 1.0, 1.5, 2.49, 7.0))] if is_array else []
    real = [float(one) for one in np.array(real, np.float16 if case.a16 else np.float32)]
    words = []
    if case.name.endswith("_b"):
        words.append(0x7FC00000)
    if case.name.endswith(("_d", "_g16")):
        words += [rng.getrandbits(32) for _ in range((axes + 1) // 2 * 2 if case.g16 else 2 * axes)]
    words += packed(halves([*real, *([3.0] if has_level else [])], case.a16), case.a16)
    start.v[ADDRESS : ADDRESS + len(words), lane] = words
    return real, []


def expected(case: Case, real: list[float], whole: list[int]) -> list[float | int]:
    """The channels that the instruction gives a lane, in order, before they become registers."""
    shape = case.picture.shape
    axes, is_array = AXES[shape], shape.endswith("ARRAY")
    if case.name in PLAIN:
        layer = whole[axes] if is_array else 0
        level = whole[-1] if case.name.endswith("_mip") else 0
        channels = loaded(case.picture, whole[:axes], layer, level)
        return [one for c, one in enumerate(channels) if case.mask >> c & 1]
    sampler = case.sampler
    if case.unorm:
        sampler = replace(sampler, unnormalized=True)
    layer_at = real[axes] if is_array else 0.0
    if "gather4" in case.name:
        return gathered(case.picture, sampler, real[:axes], layer_at, case.mask.bit_length() - 1)
    channels = sampled(case.picture, sampler, real[:axes], layer_at)
    return [one for c, one in enumerate(channels) if case.mask >> c & 1]


def as_bits(case: Case, values: list[float | int], width: int) -> list[int]:
    if case.picture.is_integer:
        return [int(one) & ((1 << width) - 1) for one in values]
    with np.errstate(over="ignore"):
        single = np.array(values, np.float32)
        kind, view = (np.float16, np.uint16) if width == 16 else (np.float32, np.uint32)
        return [int(one) for one in single.astype(kind).view(view)]


def near(case: Case, ours: int, wanted: int, width: int) -> bool:
    """Equal, both NaN, or a step apart where a sum was rounded."""
    if ours == wanted:
        return True
    if case.picture.is_integer:
        return False
    kind, view = (np.float16, np.uint16) if width == 16 else (np.float32, np.uint32)
    a, b = (float(np.array([one], view).view(kind)[0]) for one in (ours, wanted))
    if a != a or b != b:
        return a != a and b != b
    if case.name in PLAIN and case.picture.numbers != "srgb":
        return a == b == 0.0
    # Fractions are floats before they are summed.
    texel = 2.0**-23 if case.picture.numbers in ("unorm", "snorm", "srgb") else 1e-12
    return abs(a - b) <= abs(b) * 2.0 ** (-10 if width == 16 else -23) + texel


def run_case(library: Library, index: int, case: Case, rng: random.Random) -> list[str]:
    full, some = exec_patterns(TARGETS[case.program.target], rng)[:2]
    found: list[str] = []
    for pattern in (full, some):
        start = Start(case.program, rng, pattern, 0, 0xF0)
        picture = case.picture
        offset = rng.choice((0, 48, 4096))  # also where no buffer of a driver's begins
        picture.address = start.memory.ctypes.data + offset
        picture.memory = start.memory[offset:]
        assert offset + picture.size <= start.memory.size
        if picture.numbers == "float" and picture.bits == 16:
            start.memory[:] &= np.tile(np.array([0xFF, 0xBB], np.uint8), start.memory.size // 2)  # no infinities
        if picture.numbers == "float" and picture.bits == 32:
            start.memory[:] = (
                np.random.default_rng(7).normal(0, 4, start.memory.size // 4).astype(np.float32).view(np.uint8)
            )
        # What is stored has no NaNs: what becomes of their bits on the way to halves is not at stake here.
        start.v[DATA : DATA + 4] &= np.uint32(0xBFFFBFFF)
        start.state[RESOURCE : RESOURCE + 8] = picture.words()
        start.state[SAMPLER : SAMPLER + 4] = case.sampler.words(picture.generation)
        lanes = [lane for lane in range(TARGETS[case.program.target]) if pattern >> lane & 1]
        places = {lane: place(case, rng, start, lane) for lane in range(TARGETS[case.program.target])}
        found += (
            stored(library, index, case, start, lanes, places)
            if "store" in case.name
            else read(library, index, case, start, lanes, places)
        )
    return [
        f"{case.program.target} {case.program.lines[0]} [{case.picture}, {case.sampler}]: {line}" for line in found[:2]
    ]


def read(library: Library, index: int, case: Case, start: Start, lanes: list[int], places: dict) -> list[str]:  # type: ignore[type-arg]
    before = start.v.copy()
    library.run(index, start)
    found = []
    width = 16 if case.d16 else 32
    for lane in range(start.v.shape[1]):
        if lane not in lanes:
            if (start.v[:, lane] != before[:, lane]).any():
                found.append(f"lane {lane} is off and was changed")
            continue
        wanted = as_bits(case, expected(case, *places[lane]), width)
        for at, one in enumerate(wanted):
            word = int(start.v[DATA + at // (2 if case.d16 else 1), lane])
            ours = word >> 16 * (at % 2) & 0xFFFF if case.d16 else word
            if not near(case, ours, one, width):
                found.append(f"lane {lane} channel {at} at {places[lane]}: {ours:#x}, model {one:#x}")
    return found


def stored(library: Library, index: int, case: Case, start: Start, lanes: list[int], places: dict) -> list[str]:  # type: ignore[type-arg]
    picture = case.picture
    count = case.mask.bit_count()
    offset = picture.address - start.memory.ctypes.data
    model = start.memory.copy()
    axes, is_array = AXES[picture.shape], picture.shape.endswith("ARRAY")
    for lane in lanes:
        whole = places[lane][1]
        x, y, z = (*whole[:axes], 0, 0)[:3]
        z = whole[axes] if is_array else z
        level = whole[-1] if case.name.endswith("_mip") else 0
        given: list[float | int] = []
        for at in range(count):
            word = int(start.v[DATA + at // (2 if case.d16 else 1), lane])
            bits = word >> 16 * (at % 2) & 0xFFFF if case.d16 else word
            if picture.numbers == "uint":
                given.append(bits)
            elif picture.numbers == "sint":
                width = 16 if case.d16 else 32
                given.append(bits - (1 << width) if bits >> (width - 1) else bits)
            else:
                kind, view = (np.float16, np.uint16) if case.d16 else (np.float32, np.uint32)
                given.append(float(np.array([bits], view).view(kind)[0]))
        channels: list[float | int] = [given[0] if picture.generation == 12 else 0] * 4
        for c, one in zip((c for c in range(4) if case.mask >> c & 1), given, strict=True):
            channels[c] = one
        if not level and x < picture.width and y < picture.height and z < picture.slices:
            with np.errstate(over="ignore"):
                picture.put(model[offset:], x, y, z, channels)
    library.run(index, start)
    different = np.flatnonzero(start.memory != model)
    return (
        [f"byte {int(different[0]) - offset}: {start.memory[different[0]]}, model {model[different[0]]}"]
        if len(different)
        else []
    )


@pytest.mark.parametrize("target", TARGETS)
def test_image_instructions_agree_with_the_model(target: str) -> None:
    known = cases(target)
    library = Library([case.program for case in known])
    found: list[str] = []
    for index, case in enumerate(known):
        found += run_case(library, index, case, random.Random(index))
    assert not found, f"{len(found)} differences:\n" + "\n".join(found[:12])


@pytest.mark.parametrize("target", TARGETS)
def test_the_size_of_an_image(target: str) -> None:
    """Width, height, depth or layers, levels; zeros for a level that is not there."""
    generation = int(hardware.target(target).version[0])
    for shape in AXES:
        picture = random_picture(random.Random(shape), generation, shape)
        dim = "da" * shape.endswith("ARRAY") if generation == 9 else f"dim:SQ_RSRC_IMG_{shape}"
        line = f"image_get_resinfo v[{DATA}:{DATA + 3}], v{ADDRESS}, s[{RESOURCE}:{RESOURCE + 7}] dmask:0xf {dim}"
        program = Program("image_get_resinfo", target, TARGETS[target], [line])
        start = Start(program, random.Random(0), (1 << TARGETS[target]) - 1, 0, 0xF0)
        start.state[RESOURCE : RESOURCE + 8] = picture.words()
        start.v[ADDRESS] = np.arange(TARGETS[target]) % 2
        Library([program]).run(0, start)
        deep = picture.slices if AXES[shape] == 3 or shape.endswith("ARRAY") else 0
        wanted = [picture.width, picture.height if AXES[shape] > 1 else 0, deep, 1]
        assert start.v[DATA : DATA + 4, 0].tolist() == wanted
        assert start.v[DATA : DATA + 4, 1].tolist() == [0, 0, 0, 1]


@pytest.mark.parametrize("target", [*TARGETS, "gfx942"])
def test_typed_buffers_agree_with_the_model(target: str) -> None:
    rng = random.Random(target)
    generation = int(hardware.target(target).version[0])
    wave = TARGETS.get(target, 64)
    shapes = [(name, words) for name in TYPED for words in ("idxen", "offen", "idxen offen", "", "idxen offset:4")]
    programs, pictures = [], []
    for name, words in shapes:
        count = len(name.rpartition("_")[2])
        data = f"v[{DATA}:{DATA + count - 1}]" if count > 1 else f"v{DATA}"
        both = words.startswith("idxen offen")
        address = f"v[{ADDRESS}:{ADDRESS + 1}]" if both else f"v{ADDRESS}" if words else "off"
        programs.append(
            Program(name, target, wave, [f"{name} {data}, {address}, s[{RESOURCE}:{RESOURCE + 3}], s44 {words}"])
        )
        while (picture := random_picture(rng, generation, "1D", writable=True)).numbers == "srgb":
            pass
        pictures.append(picture)
    library = Library(programs)
    for index, ((name, words), picture) in enumerate(zip(shapes, pictures, strict=True)):
        start = Start(programs[index], rng, exec_patterns(wave, rng)[1], 0, 0xF0)
        if picture.numbers == "float":
            ones = (
                np.random.default_rng(3).normal(0, 4, 1 << 12).astype(np.float32 if picture.bits == 32 else np.float16)
            )
            start.memory[: ones.nbytes] = ones.view(np.uint8)
        start.v[DATA : DATA + 4] &= np.uint32(0xBFFFBFFF)
        picture.address, picture.memory = start.memory.ctypes.data, start.memory
        stride = picture.bytes * 2 if "idxen" in words else 0
        records = 13 if stride else 100
        start.state[RESOURCE : RESOURCE + 4] = picture.buffer_words(records, stride)
        start.state[44] = 16
        has_index, has_offset = "idxen" in words, "offen" in words
        start.v[ADDRESS] = np.array([rng.randrange(0, 20) for _ in range(wave)])
        start.v[ADDRESS + has_index] = (
            np.array([rng.choice((0, 4)) for _ in range(wave)]) if has_offset else start.v[ADDRESS + has_index]
        )
        model, before = start.memory.copy(), start.v.copy()
        library_places = []
        for lane in range(wave):
            at = int(before[ADDRESS, lane]) if has_index else 0
            offset = (int(before[ADDRESS + has_index, lane]) if has_offset else 0) + (4 if "offset" in words else 0)
            inside = (
                at < records and offset + picture.bytes <= stride if stride else offset + 16 + picture.bytes <= records
            )
            library_places.append((at * stride + offset + 16) if inside else None)
        mask = [c < len(name.rpartition("_")[2]) for c in range(4)]
        on = int(start.state[128]) | int(start.state[129]) << 32
        if "store" in name:
            for lane in range(wave):
                place_ = library_places[lane]
                if place_ is None or not on >> lane & 1:
                    continue
                given = [int(start.v[DATA + c, lane]) for c in range(sum(mask))]
                numbers: list[float | int] = [as_number(picture, one) for one in given]
                filled = numbers[0] if generation == 12 else 0
                numbers += [filled] * (4 - len(numbers))
                with np.errstate(over="ignore"):
                    picture.put(model[place_:], 0, 0, 0, numbers)
            library.run(index, start)
            assert (start.memory == model).all(), programs[index].lines
            continue
        library.run(index, start)
        for lane in range(wave):
            if not on >> lane & 1:
                continue
            place_ = library_places[lane]
            values: list[float | int] = [0, 0, 0, 0]
            if place_ is not None:
                picture.memory = start.memory[place_:]
                values = selected(picture, picture.texel(0, 0, 0))
            case = Case(programs[index], picture, random_sampler(rng), "image_load", 15, False, False, False, False)
            wanted = as_bits(case, [one for c, one in enumerate(values) if mask[c]], 32)
            ours = [int(start.v[DATA + c, lane]) for c in range(sum(mask))]
            assert all(near(case, a, b, 32) for a, b in zip(ours, wanted, strict=True)), (
                programs[index].lines,
                picture,
            )


def as_number(picture: Picture, bits: int) -> float | int:
    """A register as what a store of this format takes it for."""
    if picture.numbers == "uint":
        return bits
    if picture.numbers == "sint":
        return bits - (1 << 32) if bits >> 31 else bits
    return float(np.array([bits], np.uint32).view(np.float32)[0])


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("image_load v[32:36], v[2:3], s[8:15] dmask:0xf dim:SQ_RSRC_IMG_2D tfe", "whether a page was there"),
        ("image_load v32, v[2:3], s[8:15] dmask:0x1 dim:SQ_RSRC_IMG_2D r128", "descriptors of four words"),
        ("image_load v[32:33], v[2:3], s[8:15] dmask:0xf dim:SQ_RSRC_IMG_2D", "needs 4 registers of data"),
        ("image_load v32, v[2:4], s[8:15] dmask:0x1 dim:SQ_RSRC_IMG_CUBE", "images of SQ_RSRC_IMG_CUBE"),
        ("image_gather4_lz v[32:35], v[2:3], s[8:15], s[16:19] dmask:0x3 dim:SQ_RSRC_IMG_2D", "takes one channel"),
        ("image_sample_lz v32, v[2:3], s[8:15] dmask:0x1 dim:SQ_RSRC_IMG_2D", "not data, coordinates and descriptors"),
        ("image_sample_c_lz v32, v[2:4], s[8:15], s[16:19] dmask:0x1 dim:SQ_RSRC_IMG_2D", "not in the table"),
        ("image_atomic_add v32, v[2:3], s[8:15] dmask:0x1 dim:SQ_RSRC_IMG_2D", "not in the table"),
    ],
)
def test_what_is_not_known_is_refused(line: str, why: str) -> None:
    with pytest.raises((TranslationError, ValueError), match=why):
        Library([Program("refused", "gfx1100", 32, [line])])


WHOLE = Picture(11, "2D", 8, 8, 1, 32, 1, "float", 64, (4, 0, 0, 1))


@pytest.mark.parametrize(
    ("word", "bits", "is_sampler"),
    [
        (3, 1 << 20, False),  # tiled
        (3, 1 << 16, False),  # two levels
        (6, 1 << 21, False),  # compressed
        (1, 0xFF << 20, False),  # no format
        (3, 2 << 3, False),  # a channel from nowhere
        (3, 0xF << 28, False),  # several samples
        (3, 1 << 29, False),  # a cube map
        (2, 1 << 8, False),  # wider than its rows
        (0, 5, True),  # clamped to half of the border
        (0, 1 << 9, True),  # anisotropic
        (2, 1 << 20, True),  # two filters
        (3, 3 << 30, True),  # a border from a table
    ],
)
def test_descriptors_that_mean_something_else_are_faults(word: int, bits: int, is_sampler: bool) -> None:
    line = "image_sample_lz v32, v[2:3], s[8:15], s[16:19] dmask:0x1 dim:SQ_RSRC_IMG_2D"
    program = Program("image_sample_lz", "gfx1100", 32, [line])
    library = Library([program])
    start = Start(program, random.Random(0), (1 << 32) - 1, 0, 0xF0)
    WHOLE.address = start.memory.ctypes.data
    start.state[RESOURCE : RESOURCE + 8] = WHOLE.words()
    start.state[SAMPLER : SAMPLER + 4] = Sampler(("wrap", "wrap", "wrap"), False, False, 0).words(11)
    library.run(0, start)
    start.state[(SAMPLER if is_sampler else RESOURCE) + word] |= np.uint32(bits)
    before = start.v.copy()
    with pytest.raises(AssertionError, match="faults"):
        library.run(0, start)
    assert (start.v == before).all()


def test_every_row_of_images_is_tested() -> None:
    facts = {name: row for name, found in rows().items() for row in found if row.kind == "memory"}
    assert {name for name, row in facts.items() if row.fact("space") == "IMAGE" or row.fact("typed")} == TESTED
