"""Programs of the memory rows: LDS, global, flat, private, buffer and scalar memory."""

from __future__ import annotations

import re

import numpy as np

from kernel_pytorch.emulate.isa.row import Row

from .programs import Program, generation

ADDRESS, DATA, SECOND, RESULT = 0, 8, 12, 32
RECORDS = 2048 - 40  # of the buffer: the last lanes fall outside
BASE, OFFSET = 40, 44  # scalar registers


def words_of(name: str) -> int:
    """Registers of data a lane moves."""
    if "cmpswap" in name:
        return 4 if name.endswith(("x2", "64")) else 2
    for ending, count in (
        ("x16", 16),
        ("x8", 8),
        ("x4", 4),
        ("x3", 3),
        ("x2", 2),
        ("b512", 16),
        ("b256", 8),
        ("b128", 4),
        ("b96", 3),
        ("b64", 2),
        ("u64", 2),
        ("i64", 2),
        ("f64", 2),
    ):
        if name.endswith(ending):
            return count
    return 1


def vector(first: int, count: int) -> str:
    return f"v[{first}:{first + count - 1}]" if count > 1 else f"v{first}"


def scalar(first: int, count: int) -> str:
    return f"s[{first}:{first + count - 1}]" if count > 1 else f"s{first}"


def lds_lines(name: str) -> list[str]:
    n = words_of(name)
    out, data, second = vector(RESULT, n), vector(DATA, n), vector(SECOND, n)
    address = f"v{ADDRESS}"
    if re.search(r"read2|load_2addr", name):
        step = "offset0:1 offset1:3" if "st" not in name.split("_b")[0].replace("store", "") else "offset0:0 offset1:1"
        return [f"{name} {vector(RESULT, 2 * n)}, {address} {step}"]
    if re.search(r"wrxchg2|storexchg_2addr", name):
        far = "st64" in name or "stride64" in name
        apart = f"offset0:0 offset1:{8 // n}" if far else "offset0:1 offset1:0"
        return [f"{name} {vector(RESULT, 2 * n)}, {address}, {data}, {second} {apart}"]
    if name in ("ds_append", "ds_consume"):
        return [f"{name} v{RESULT}", f"{name} v{RESULT + 1} offset:12", f"{name} v{RESULT + 2}"]
    if "addtid" in name:
        own = f"v{DATA}" if "write" in name or "store" in name else out
        return [f"{name} {own}", f"{name} {own.replace(str(RESULT), str(RESULT + 1))} offset:1024"]
    if re.search(r"write2|store_2addr", name):
        far = "st64" in name or "stride64" in name
        # Far enough apart that no two lanes write the same place.
        apart = f"offset0:0 offset1:{8 // n}" if far else "offset0:1 offset1:0"
        return [f"{name} {address}, {data}, {second} {apart}"]
    if name.startswith(("ds_read", "ds_load")):
        return [f"{name} {out}, {address}", f"{name} {vector(RESULT + 4, n)}, {address} offset:64"]
    if name.startswith(("ds_write", "ds_store_")):
        return [f"{name} {address}, {data} offset:16"]
    two = f", {second}" if re.search(r"cmpst|mskor|wrap", name) else ""
    if "_rtn_" in name:
        return [f"{name} {out}, {address}, {data}{two} offset:8"]
    return [f"{name} {address}, {data}{two} offset:8"]


def returning(target: str) -> str:
    return {9: "sc0" if target in ("gfx942", "gfx950") else "glc", 12: "th:TH_ATOMIC_RETURN"}.get(
        generation(target), "glc"
    )


def vector_lines(name: str, target: str) -> list[str]:
    """global_ and flat_"""
    n = words_of(name)
    flat = name.startswith("flat")
    far, near = "v[0:1]", "v2"
    off = "" if flat else ", off"
    if "load_lds" in name:
        return [f"{name} {far}, off offset:16"]
    if "_async_" in name:
        places = [f"v4, {one}" if "_load_" in name else f"{one}, v4" for one in (far, near, "v5")]
        base = f"s[{BASE}:{BASE + 1}]"
        forms = ("off offset:16", base, f"{base} scale_offset")
        return [f"{name} {place}, {form}" for place, form in zip(places, forms, strict=True)]
    if "addtid" in name:
        own = RESULT if "load" in name else DATA
        return [f"{name} v{own}, s[{BASE}:{BASE + 1}]", f"{name} v{own + 1}, s[{BASE}:{BASE + 1}] offset:512"]
    result = n // 2 if "cmpswap" in name else n
    if "atomic" in name:
        lines = [
            f"{name} {far}, {vector(DATA, n)}{off}",
            f"{name} {vector(RESULT, result)}, {far}, {vector(DATA, n)}{off} offset:8 {returning(target)}",
        ]
        if not flat:
            lines.append(f"{name} {near}, {vector(DATA, n)}, s[{BASE}:{BASE + 1}] offset:16")
        return lines
    if "_load_" in name:
        lines = [f"{name} {vector(RESULT, n)}, {far}{off}", f"{name} {vector(RESULT + 4, n)}, {far}{off} offset:20"]
        if not flat:
            lines.append(f"{name} {vector(RESULT + 8, n)}, {near}, s[{BASE}:{BASE + 1}] offset:12")
        return lines
    lines = [f"{name} {far}, {vector(DATA, n)}{off} offset:4"]
    if not flat:
        lines.append(f"{name} {near}, {vector(DATA, n)}, s[{BASE}:{BASE + 1}]")
    return lines


def buffer_lines(name: str, target: str) -> list[str]:
    n = words_of(name)
    resource = f"s[{BASE + 16}:{BASE + 19}]"
    atomic = "atomic" in name
    first = vector(DATA if atomic or "store" in name else RESULT, n)
    nothing = "0" if generation(target) < 12 else "null"
    lines = [
        f"{name} {first}, v2, {resource}, {nothing} offen",
        f"{name} {first}, v2, {resource}, s{OFFSET} offen offset:16",
    ]
    if atomic:
        lines[1] += f" {returning(target)}"
    elif "load" in name:
        lines[1] = lines[1].replace(first, vector(RESULT + 4, n), 1)
        lines.append(f"{name} {vector(RESULT + 8, n)}, off, {resource}, {nothing} offset:32")
        if target in WORDS_INTO_LDS.get(name, ()):
            lines.append(f"{name} v2, {resource}, {nothing} offen offset:16 lds")
            lines.append(f"{name} off, {resource}, s{OFFSET} lds")
    return lines


_GFX9, _GFX950 = ("gfx90a", "gfx942", "gfx950", "gfx1030"), ("gfx950",)
#: Loads that can go to LDS without a register between, and where.
WORDS_INTO_LDS = dict.fromkeys(
    ("buffer_load_dword", "buffer_load_ubyte", "buffer_load_sbyte", "buffer_load_ushort", "buffer_load_sshort"), _GFX9
) | dict.fromkeys(("buffer_load_dwordx3", "buffer_load_dwordx4"), _GFX950)


def scratch_lines(name: str, target: str) -> list[str]:
    n = words_of(name)
    if "load_lds" in name:
        return [f"{name} v3, off offset:4", f"{name} off, s{OFFSET + 1} offset:64"]
    if "_load_" in name:
        return [f"{name} {vector(RESULT, n)}, v3, off offset:4", f"{name} {vector(RESULT + 4, n)}, off, s{OFFSET + 1}"]
    return [f"{name} v3, {vector(DATA, n)}, off", f"{name} off, {vector(SECOND, n)}, s{OFFSET + 1} offset:64"]


def scalar_lines(name: str, target: str) -> list[str]:
    n = words_of(name)
    out = scalar(64, n)
    resource = f"s[{BASE + 16}:{BASE + 19}]" if "buffer" in name else f"s[{BASE}:{BASE + 1}]"
    lines = [f"{name} {out}, {resource}, 0x10"]
    if "buffer" in name:
        # Past the end of the buffer, for wide ones in part.
        beyond = (RECORDS if generation(target) == 9 else RECORDS // 2) - 8
        lines += [f"{name} {scalar(48, min(n, 8))}, {resource}, {beyond:#x}"] if n <= 8 else []
        lines += [f"{name} {scalar(48, min(n, 8))}, {resource}, {beyond + 64:#x}"] if n <= 8 else []
    if "atomic" in name:
        given = scalar(84, n)
        return [*lines, f"{name} {given}, {resource}, s{OFFSET} glc", f"{name} {given}, {resource}, 0x18 glc"]
    if generation(target) == 9:
        lines.append(f"{name} {scalar(80, n)}, {resource}, s{OFFSET}")
    else:
        lines.append(f"{name} {scalar(80, n)}, {resource}, s{OFFSET} offset:0x8")
    return lines


def memory_program(row: Row, target: str, wave: int) -> Program | None:
    name = row.name
    if row.fact("action") == "clock":
        return None
    lines = {
        "ds": lambda: lds_lines(name), "global": lambda: vector_lines(name, target),
        "flat": lambda: vector_lines(name, target), "buffer": lambda: buffer_lines(name, target),
        "scratch": lambda: scratch_lines(name, target), "s": lambda: scalar_lines(name, target),
        "tensor": lambda: [f"{name} s[48:51], s[64:71]", f"{name} s[52:55], s[72:79]"],
    }[name.split("_")[0]]()  # fmt: skip
    return Program(name, target, wave, lines)


def prepare(start, name: str, wave: int, target: str = "") -> None:  # type: ignore[no-untyped-def]
    """Addresses inside the memory, one place per lane in another order, and scalar bases."""
    base = start.memory.ctypes.data
    floats = next(
        (kind for kind in ("bf16", "f16", "f32", "f64") if kind in name or ("fm" in name and kind == "f32")), ""
    )
    if re.search("cmpst|cmpswap", name):
        fill_with_few(start)
    elif floats and ("atomic" in name or name.startswith("ds")):
        fill_floats(start, floats if "_x2" not in name else "f64")
    order = [(lane * 37 + 5) % wave for lane in range(wave)]
    for lane in range(wave):
        place = order[lane] * 32
        wide = base + 64 + place
        if name.startswith("ds"):
            start.v[ADDRESS, lane] = place if wave == 64 else place * 2
        else:
            start.v[ADDRESS, lane], start.v[ADDRESS + 1, lane] = wide & 0xFFFFFFFF, wide >> 32
        start.v[2, lane] = place
        start.v[4, lane] = place * 2  # in LDS
        if "_async_" in name:
            start.v[2, lane] = place - 64 & 0xFFFFFFFF  # it has a sign
            start.v[5, lane] = order[lane] - 4 & 0xFFFFFFFF
        start.v[3, lane] = (lane % 4) * 16
    for i, word in enumerate((base + 128 & 0xFFFFFFFF, base + 128 >> 32)):
        start.state[BASE + i] = word
    third = 0x00027000 if wave == 64 else 0x31016000
    resource = (base + 256 & 0xFFFFFFFF, base + 256 >> 32, RECORDS if wave == 64 else RECORDS // 2, third)
    if target == "gfx1250":
        whole = base + 256 | RECORDS // 2 << 57
        resource = tuple(whole >> 32 * i & 0xFFFFFFFF for i in range(4))
    for i, word in enumerate(resource):
        start.state[BASE + 16 + i] = word
    start.state[OFFSET], start.state[OFFSET + 1] = 24, 32
    if name.startswith("tensor"):
        # Of 12 by 5 elements of 2 bytes, 9 by 4 are inside; then a row of 16 words, padded after every 8.
        first = tensor_descriptor(64, base + 512, 1, (12, 5), (9, 4), 40)
        second = tensor_descriptor(1024, base + 2048, 2, (32, 0), (27, 0), 0, pad=2)
        start.state[48:52], start.state[64:72] = first[:4], first[4:]
        start.state[52:56], start.state[72:80] = second[:4], second[4:]
    start.state[124] = 64  # M0


def tensor_descriptor(
    lds: int, memory: int, size: int, tile: tuple[int, int], tensor: tuple[int, int], stride: int, pad: int = 0
) -> list[int]:
    """The twelve words: size is the logarithm of an element's, tile and tensor are (width, height)."""
    group1 = size << 16 | (1 << 20 | 2 << 22 | pad - 1 << 25 if pad else 0)
    group1 |= tensor[0] << 48 | tensor[1] << 80 | tile[0] << 112 | tile[1] << 128 | stride << 160
    group0 = 1 | lds << 32 | memory << 64 | 2 << 126
    return [group0 >> 32 * i & 0xFFFFFFFF for i in range(4)] + [group1 >> 32 * i & 0xFFFFFFFF for i in range(8)]


def fill_with_few(start) -> None:  # type: ignore[no-untyped-def]
    """Four values everywhere, so that comparing finds equals: both zeros, one and a NaN."""
    rng = np.random.default_rng(int(start.state[0]))
    few = np.array([0, 0x80000000, 0x3F800000, 0x7FC00000], dtype=np.uint32)
    for content in (start.memory, start.lds):
        content[:] = few[rng.integers(0, 4, len(content) // 4)].view(np.uint8)
    for register in range(DATA, SECOND + 4):
        start.v[register] = few[rng.integers(0, 4, start.v.shape[1])]
    start.state[48:100] = few[rng.integers(0, 4, 52)]


def fill_floats(start, kind: str) -> None:  # type: ignore[no-untyped-def]
    """Numbers instead of random bits: which NaN an atomic leaves is not laid down."""
    rng = np.random.default_rng(int(start.state[0]))

    def words(count: int) -> np.ndarray:
        values = rng.normal(0, 1, count * 2) * 10.0 ** rng.integers(-6, 5, count * 2)
        values[rng.random(len(values)) < 0.1] = 0.0
        if kind == "f16":
            return values.astype(np.float16).view(np.uint32)
        if kind == "bf16":
            return (values.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16).view(np.uint32)
        return values.astype(np.float32).view(np.uint32)[:count] if kind == "f32" else values.view(np.uint32)[:count]

    start.memory[:] = words(len(start.memory) // 4).view(np.uint8)
    start.lds[:] = words(len(start.lds) // 4).view(np.uint8)
    lanes = start.v.shape[1]
    if kind == "f64":
        for first in (DATA, SECOND):
            pairs = words(2 * lanes).reshape(lanes, 2)
            start.v[first], start.v[first + 1] = pairs[:, 0], pairs[:, 1]
    else:
        for register in range(DATA, SECOND + 4):
            start.v[register] = words(lanes)
