"""Every form of mma.sync, ldmatrix, stmatrix and movmatrix that kpt translates: its PTX, a kernel, and a model of it.

The model is the PTX manual's: which element of which matrix each register of each lane holds, and the exact sum.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
WARPS = 2
LANES = 32

# bits of an element, and how the values of a test are drawn
BITS = {"f16": 16, "bf16": 16, "tf32": 32, "f64": 64, "e4m3": 8, "e5m2": 8, "s8": 8, "u8": 8, "s4": 4, "u4": 4, "b1": 1}
SUM_BITS = {"f16": 16, "f32": 32, "s32": 32, "f64": 64}
CONSTRAINT = {"f16": "r", "f32": "f", "s32": "r", "f64": "d"}


@dataclass(frozen=True)
class Form:
    """One mma.sync: `d` is the type of C and D."""

    m: int
    k: int
    a: str
    b: str
    d: str
    layouts: tuple[str, str] = ("row", "col")
    suffix: str = ""

    @property
    def is_volta(self) -> bool:
        return (self.m, self.k, self.a) == (8, 4, "f16")

    @property
    def name(self) -> str:
        middle = ".satfinite" if self.suffix == "satfinite" else ""
        ends = f".{self.suffix}" if self.suffix.endswith("popc") else ""
        shape = f"m{self.m}n8k{self.k}.{'.'.join(self.layouts)}"
        return f"mma.sync.aligned.{shape}{middle}.{self.d}.{self.a}.{self.b}.{self.d}{ends}"

    @property
    def registers(self) -> tuple[int, int, int]:
        """Registers of A, B and D in a lane. Those of f64 have 64 bits."""
        if self.is_volta:
            return 2, 2, 8 if self.d == "f32" else 4
        width = max(32, BITS[self.a])
        a, b = (rows * self.k * BITS[self.a] // LANES // width for rows in (self.m, 8))
        return a, b, self.m * 8 * SUM_BITS[self.d] // LANES // max(32, SUM_BITS[self.d])


def forms() -> list[Form]:
    """All of them."""
    made = [Form(16, k, "f16", "f16", d) for k in (8, 16) for d in ("f32", "f16")]
    made += [Form(16, k, "bf16", "bf16", "f32") for k in (8, 16)]
    made += [Form(16, k, "tf32", "tf32", "f32") for k in (4, 8)]
    made += [Form(8, 4, "f64", "f64", "f64"), *(Form(16, k, "f64", "f64", "f64") for k in (4, 8, 16))]
    for kinds, shapes in ((("s8", "u8"), ((8, 16), (16, 16), (16, 32))), (("s4", "u4"), ((8, 32), (16, 32), (16, 64)))):
        made += [
            Form(m, k, a, b, "s32", suffix=suffix)
            for m, k in shapes for a in kinds for b in kinds for suffix in ("", "satfinite")
        ]  # fmt: skip
    eight = ("e4m3", "e5m2")
    made += [Form(16, k, a, b, d) for k in (16, 32) for a in eight for b in eight for d in ("f32", "f16")]
    made += [
        Form(m, k, "b1", "b1", "s32", suffix=f"{op}.popc")
        for m, k in ((8, 128), (16, 128), (16, 256)) for op in ("xor", "and")
    ]  # fmt: skip
    made += [
        Form(8, 4, "f16", "f16", d, (a, b)) for d in ("f32", "f16") for a in ("row", "col") for b in ("row", "col")
    ]
    return made


def asm(form: Form) -> str:
    """The statement: registers a0.., b0.., c0.. to d0..."""
    a, b, d = form.registers
    factor, total = CONSTRAINT["f64" if form.a == "f64" else "s32"], CONSTRAINT[form.d]
    at, groups = 0, []
    for count in (d, a, b, d):
        groups.append("{" + ", ".join(f"%{at + i}" for i in range(count)) + "}")
        at += count
    outputs = ", ".join(f'"={total}"(d{i})' for i in range(d))
    counts = (("a", a, factor), ("b", b, factor), ("c", d, total))
    inputs = ", ".join(f'"{kind}"({name}{i})' for name, count, kind in counts for i in range(count))
    return f'asm volatile("{form.name} " "{", ".join(groups)};\\n" : {outputs} : {inputs});'


# Which warps work in a first and in a second pass. At wave 64 both warps are one wave: in (1, 2) they are in different
# calls, and the first one's results wait in registers while the second works.
MODES = ((3, 0), (1, 0), (2, 0), (1, 2), (2, 1))


def kernel(form: Form, number: int) -> str:
    """CUDA: every lane reads its registers from 64-bit slots and writes D to such."""
    a, b, d = form.registers
    types = {
        "r": ("unsigned", "(unsigned)({})"),
        "f": ("float", "__uint_as_float((unsigned)({}))"),
        "d": ("double", "__longlong_as_double({})"),
    }
    factor, total = ("d", "d") if form.a == "f64" else ("r", CONSTRAINT[form.d])
    lines = [f'extern "C" __global__ void mma{number}(const long long* in, long long* out, int first, int second) {{']
    lines.append(f"  const long long* row = in + threadIdx.x * {a + b + d};")
    at = 0
    for name, count, kind in (("a", a, factor), ("b", b, factor), ("c", d, total)):
        cpp, cast = types[kind]
        for i in range(count):
            lines.append(f"  {cpp} {name}{i} = {cast.format(f'row[{at}]')};")
            at += 1
    lines.append(f"  {types[total][0]} {', '.join(f'd{i} = 0' for i in range(d))};")
    lines.append("#pragma unroll 1")
    lines.append("  for (int pass = 0; pass < 2; ++pass)")
    lines.append("    if ((pass ? second : first) >> (threadIdx.x / 32) & 1) {")
    lines.append(f"      {asm(form)}")
    lines.append("    }")
    back = {"r": "(unsigned)d{}", "f": "__float_as_uint(d{})", "d": "__double_as_longlong(d{})"}[total]
    lines += [f"  out[threadIdx.x * {d} + {i}] = {back.format(i)};" for i in range(d)]
    return "\n".join([*lines, "}"])


def places(form: Form, which: str) -> tuple[Array, Array]:
    """(row, column) of the elements of a lane's registers, by lane and element, of matrix A (m x k), B (k x 8) or C."""
    lane = np.arange(LANES)[:, None]
    group, thread = lane // 4, lane % 4
    if form.is_volta:
        return _volta_places(form, which)
    if which == "c":
        element = np.arange(form.m * 8 // LANES)[None, :]
        return group + 8 * (element // 2), 2 * thread + element % 2
    bits = BITS[form.a]
    each = max(1, 32 // bits)
    rows = form.m // 8 if which == "a" else 1
    element = np.arange((form.m if which == "a" else 8) * form.k // LANES)[None, :]
    word = element // each
    line = group + 8 * (word % rows)
    along = word // rows * 4 * each + thread * each + element % each
    return (line, along) if which == "a" else (along, line)


def _volta_places(form: Form, which: str) -> tuple[Array, Array]:
    """Of the 8x8x4 tile of this lane's quad pair."""
    lane = np.arange(LANES)[:, None]
    half = np.where(lane < 16, 0, 4)
    if which == "c":
        element = np.arange(8)[None, :]
        if form.d == "f16":
            return lane % 4 + half + 0 * element, element + 0 * lane
        return (lane & 1) + (element & 2) + half, (element & 4) + (lane & 2) + (element & 1)
    element = np.arange(4)[None, :]
    own, other = lane % 4 + half + 0 * element, element + half
    if which == "a":
        return (own, element + 0 * lane) if form.layouts[0] == "row" else (other, lane % 4 + 0 * element)
    return (lane % 4 + 0 * element, other) if form.layouts[1] == "row" else (element + 0 * lane, own)


def decode(codes: Array, kind: str) -> Array:
    """The values of bit patterns."""
    codes = codes.astype(np.uint64)
    if kind == "f64":
        return codes.view(np.float64)
    if kind in ("f32", "tf32"):
        kept = codes if kind == "f32" else codes & np.uint64(0xFFFFE000)
        return kept.astype(np.uint32).view(np.float32).astype(np.float64)
    if kind == "bf16":
        return (codes << np.uint64(16)).astype(np.uint32).view(np.float32).astype(np.float64)
    if kind == "f16":
        return codes.astype(np.uint16).view(np.float16).astype(np.float64)
    if kind == "e5m2":
        return (codes << np.uint64(8)).astype(np.uint16).view(np.float16).astype(np.float64)
    if kind == "e4m3":
        whole = codes.astype(np.int64)
        exponent, fraction = whole >> 3 & 15, whole & 7
        size = np.where(exponent == 0, fraction * 2.0**-9, (8 + fraction) * 2.0 ** (exponent - 10))
        size = np.where((whole & 127) == 127, np.nan, size)
        return np.where(whole & 128, -size, size)
    width = SUM_BITS.get(kind) or BITS[kind]
    signed = codes.astype(np.int64)
    return np.where(signed >> (width - 1) & 1, signed - (1 << width), signed) if kind.startswith("s") else signed


def _small_codes(kind: str, shape: tuple[int, ...], source: np.random.Generator) -> Array:
    """Whole numbers of which every sum is exact in every type."""
    if kind in ("s8", "u8", "s4", "u4", "b1"):
        return source.integers(0, 1 << BITS[kind], shape, dtype=np.uint64)
    if kind == "s32":
        return source.integers(0, 1 << 32, shape, dtype=np.uint64)
    values = source.integers(-4, 5, shape).astype(np.float64)
    if kind == "f64":
        return values.view(np.uint64)
    single = values.astype(np.float32).view(np.uint32).astype(np.uint64)
    if kind in ("f32", "tf32"):
        return single
    if kind == "bf16":
        return single >> np.uint64(16)
    if kind == "e4m3":
        table = {float(decode(np.array([code]), "e4m3")[0]): code for code in range(256) if code != 128}
        return np.vectorize(lambda value: table[value], otypes=[np.uint64])(values)
    half = values.astype(np.float16).view(np.uint16).astype(np.uint64)
    return half >> np.uint64(8) if kind == "e5m2" else half


def _any_codes(kind: str, sums: str, shape: tuple[int, ...], source: np.random.Generator) -> Array:
    """Finite values of mixed size, subnormal ones too where they weigh something."""
    if kind == "f64":
        return source.normal(size=shape).view(np.uint64)
    if kind in ("f32", "tf32"):
        return source.normal(size=shape).astype(np.float32).view(np.uint32).astype(np.uint64)
    if kind == "bf16":
        return source.normal(size=shape).astype(np.float32).view(np.uint32).astype(np.uint64) >> np.uint64(16)
    if kind == "f16":
        values = source.normal(size=shape) * 2.0 ** source.integers(-16, 2, shape)
        return values.astype(np.float16).view(np.uint16).astype(np.uint64)
    if kind in ("e4m3", "e5m2"):
        # Sums of the largest would leave f16.
        last = (0x58 if sums == "f16" else 0x7F) if kind == "e4m3" else 0x50
        sign = source.integers(0, 2, shape, dtype=np.uint64) << np.uint64(7)
        return source.integers(0, last, shape, dtype=np.uint64) | sign
    return _small_codes(kind, shape, source)


@dataclass(frozen=True)
class Drawn:
    """The inputs of two warps as slots, and what D is: the exact values and how far a result may lie from them."""

    slots: Array
    exact: Array  # mode, lane, element
    scale: Array  # the sum of the products' sizes


def draw(form: Form, seed: int, exact: bool) -> Drawn:
    """Random fragments for both warps, and D for every mode."""
    source = np.random.default_rng(seed)
    kinds = {"a": form.a, "b": form.b, "c": form.d}
    held = {}
    for which, kind in kinds.items():
        shape = (WARPS, *places(form, which)[0].shape)
        held[which] = _small_codes(kind, shape, source) if exact else _any_codes(kind, form.d, shape, source)
    slots = np.concatenate([_packed(held[w], SUM_BITS[form.d] if w == "c" else BITS[form.a]) for w in "abc"], axis=2)
    values = {which: decode(held[which], kinds[which]) for which in "abc"}
    sums, scales = [], []
    for first, second in MODES:
        for warp in range(WARPS):
            works = (first | second) >> warp & 1
            sums.append(_product(form, *(values[which][warp] for which in "abc")) * works)
            sizes = _product(form, *(abs(values[which][warp]) for which in "abc"))
            scales.append(sizes * works)
    lanes = WARPS * LANES
    return Drawn(
        slots.reshape(lanes, -1),
        np.reshape(sums, (len(MODES), lanes, -1)),
        np.reshape(scales, (len(MODES), lanes, -1)),
    )


def _product(form: Form, a: Array, b: Array, c: Array) -> Array:
    """D in the lanes' places."""
    tiles = 4 if form.is_volta else 1
    result = np.zeros_like(c)
    for tile in range(tiles):
        mine = (np.arange(LANES) // 4 % 4 == tile) if form.is_volta else np.ones(LANES, bool)
        matrices = {}
        for which, values, shape in (("a", a, (form.m, form.k)), ("b", b, (form.k, 8)), ("c", c, (form.m, 8))):
            matrix = np.full(
                shape, -1 if form.a == "b1" else np.nan if values.dtype.kind == "f" else 1 << 40, values.dtype
            )
            row, column = places(form, which)
            matrix[row[mine], column[mine]] = values[mine]
            matrices[which] = matrix
        if form.a == "b1":
            joined = np.bitwise_xor if form.suffix.startswith("xor") else np.bitwise_and
            total = joined(matrices["a"][:, :, None], matrices["b"][None]).sum(axis=1) + matrices["c"]
        else:
            total = matrices["a"] @ matrices["b"] + matrices["c"]
        row, column = places(form, "c")
        result[mine] = total[row[mine], column[mine]]
    if form.d == "s32":
        if form.suffix == "satfinite":
            return np.clip(result, -(1 << 31), (1 << 31) - 1)
        return (result + (1 << 31)) % (1 << 32) - (1 << 31)
    return result


def _packed(codes: Array, bits: int) -> Array:
    """Elements to registers, one in each 64-bit slot."""
    each = max(1, 32 // bits)
    grouped = codes.reshape(*codes.shape[:-1], -1, each)
    return np.bitwise_or.reduce(grouped << (np.arange(each, dtype=np.uint64) * np.uint64(bits)), axis=-1)


def unpacked(form: Form, slots: Array) -> Array:
    """The values of D from its slots: mode, lane, element."""
    bits = SUM_BITS[form.d]
    each = max(1, 32 // bits)
    mask = np.uint64((1 << bits) - 1 if bits < 64 else 0xFFFFFFFFFFFFFFFF)
    codes = slots.astype(np.uint64)[..., None] >> (np.arange(each, dtype=np.uint64) * np.uint64(bits)) & mask
    return decode(codes.reshape(*slots.shape[:-1], -1), form.d)


def difference(form: Form, drawn: Drawn, got: Array, relative: float) -> str:
    """The first element that is further from the exact sum than the types allow, or nothing."""
    if form.d == "s32":
        allowed = np.zeros(drawn.exact.shape)
    else:
        allowed = relative * drawn.scale
        if form.d == "f16":
            allowed = allowed + np.maximum(2.0**-11 * abs(drawn.exact), 2.0**-25)
    wrong = ~(abs(got - drawn.exact) <= allowed)
    if not wrong.any():
        return ""
    mode, lane, element = (int(axis[0]) for axis in np.nonzero(wrong))
    return (
        f"{form.name} mode {MODES[mode]} lane {lane} element {element}: {got[mode, lane, element]}, "
        f"exactly {drawn.exact[mode, lane, element]} ({int(wrong.sum())} of {wrong.size} differ)"
    )
