"""Short programs that use a row of the table in several forms, one result register per form."""

from __future__ import annotations

from dataclasses import dataclass, field

from kernel_pytorch.emulate.isa.row import FLOATS, HALVES, Row

SOURCES, SCALARS = (0, 4, 8, 12), (40, 44, 48, 52)  # first register of each source
FIRST_RESULT, MASK_SOURCE, FIRST_MASK, FIRST_SCALAR = 32, 60, 62, 76
WIDE = ("f64", "u64", "i64")


@dataclass
class Program:
    """Instructions, and the type each source register is to be filled with."""

    name: str
    target: str
    wave: int
    lines: list[str] = field(default_factory=list)
    kinds: dict[int, str] = field(default_factory=dict)  # source position -> type
    needs: str = ""  # "lds", "memory", "scratch": what else has to be set up


def generation(target: str) -> int:
    return 9 if target[3] == "9" else int(target[3:5])


def vector(register: int, kind: str) -> str:
    return f"v[{register}:{register + 1}]" if kind in WIDE else f"v{register}"


def scalar_pair(register: int, wide: bool) -> str:
    return f"s[{register}:{register + 1}]" if wide else f"s{register}"


class Forms:
    """Adds forms of one instruction to a program."""

    def __init__(self, row: Row, program: Program) -> None:
        self.row, self.program, self.count = row, program, 0
        self.wave64 = program.wave == 64

    def mask(self, register: int) -> str:
        return scalar_pair(register, self.wave64)

    def results(self) -> list[str]:
        names = []
        for kind in self.row.results:
            plain = kind.removeprefix("+")
            if plain == "mask":
                names.append(self.mask(FIRST_MASK + 2 * self.count))
            else:
                wide = plain in WIDE or (self.row.packed and plain == "f32")
                register = FIRST_RESULT + 4 * self.count + 2 * len(names)
                names.append(f"v[{register}:{register + 1}]" if wide else f"v{register}")
        return names

    def source(self, position: int, scalar: bool = False) -> str:
        kind = self.row.sources[position]
        if kind == "mask":
            return self.mask(MASK_SOURCE)
        wide = kind in WIDE or (self.row.packed and kind == "f32")
        if scalar:
            return scalar_pair(SCALARS[position], wide)
        return f"v[{SOURCES[position]}:{SOURCES[position] + 1}]" if wide else f"v{SOURCES[position]}"

    def add(self, sources: list[str], suffix: str = "", modifiers: str = "", results: list[str] | None = None) -> None:
        operands = [*(self.results() if results is None else results), *sources]
        line = f"{self.row.name}{suffix} {', '.join(operands)}"
        self.program.lines.append(f"{line} {modifiers}".rstrip())
        self.count += 1


def lane_program(row: Row, target: str, wave: int) -> Program:
    """All the forms a lane-wise row is used in."""
    program = Program(row.name, target, wave, kinds=dict(enumerate(row.sources)))
    forms = Forms(row, program)
    n = len(row.sources)
    plain = [forms.source(i) for i in range(n)]
    if row.name.startswith("v_div_fmas"):
        plain = plain[:3]  # VCC is implied
    if row.writes_exec:
        results = [forms.mask(FIRST_MASK)] if generation(target) == 9 else []
        forms.add(plain, "_e64", results=results)
        return program
    if not row.sources:  # v_swap
        forms.add([])
        return program
    if row.name.startswith(("v_fmaak", "v_madak")):
        literal = "0x3f9d7000" if not row.name.endswith("f16") else "0x3c55"
        forms.add([*plain[:2], literal])
        return program
    if row.name.startswith(("v_fmamk", "v_madmk")):
        literal = "0x3f9d7000" if not row.name.endswith("f16") else "0x3c55"
        forms.add([plain[0], literal, plain[2]])
        return program
    if row.name.startswith("v_accvgpr"):
        into, out_of = ("a", "v") if "write" in row.name else ("v", "a") if "read" in row.name else ("a", "a")
        forms.add([f"{out_of}3"], results=[f"{into}40"])
        return program
    if row.name.startswith("v_bitop"):
        for table in (0x96, 0xE8, 0x1B):
            forms.add(plain, modifiers=f"bitop3:0x{table:x}")
        return program
    if row.name.endswith("_bf16") and row.name.startswith(("v_pk_", "v_fma_mix")):
        _bfloat_pairs(row, forms, plain)
        return program
    if row.name in ("v_cvt_sr_f16_f32", "v_cvt_sr_bf16_f32"):
        forms.add(plain)
        forms.add(plain, modifiers="op_sel:[0,0,1]")
        return program
    if row.name.startswith("v_cvt_scalef32"):
        for select in ("0,0,0,0", "1,0,0,1", "1,1,1,1"):
            forms.add(plain, modifiers=f"op_sel:[{select}]")
        return program
    forms.add(plain)
    if n > 0 and row.sources[0] != "mask" and not row.name.startswith("v_div_fmas"):
        forms.add([forms.source(0, scalar=True), *plain[1:]])
    _constants(row, forms, plain)
    _signs(row, forms, plain)
    _clamps(row, forms, plain)
    _halves(row, forms, plain, target)
    _packed(row, forms, plain)
    _moves(row, forms, plain, target)
    _overlap(row, forms, plain)
    return program


def _bfloat_pairs(row: Row, forms: Forms, plain: list[str]) -> None:
    """Halves chosen and negated; v_fma_mix has signs of its own."""
    n = len(plain)
    for first, second in (("0,0,0", "1,1,1"), ("1,0,1", "0,1,0")):
        low, high = first[: 2 * n - 1], second[: 2 * n - 1]
        forms.add(plain, modifiers=f"op_sel:[{low}] op_sel_hi:[{high}]")
        if row.name.startswith("v_pk_"):
            forms.add(plain, modifiers=f"neg_lo:[{high}] neg_hi:[{low}]")
        else:
            forms.add([f"-|{plain[0]}|", f"-{plain[1]}", plain[2]], modifiers=f"op_sel:[{low}] op_sel_hi:[{high}]")


def _constants(row: Row, forms: Forms, plain: list[str]) -> None:
    if row.packed or row.sources[0] == "mask" or row.name.startswith(("v_div_", "v_cvt_scale")):
        return
    kind = row.sources[0]
    text = "0.5" if kind in FLOATS else "-5" if kind.startswith("i") else "23"
    forms.add([text, *plain[1:]])
    if kind in ("f32", "u32", "i32"):
        forms.add(["0x40490fdb", *plain[1:]])


def _signs(row: Row, forms: Forms, plain: list[str]) -> None:
    if row.packed or not any(kind in ("f16", "h16", "f32", "f64") for kind in row.sources):
        return
    wraps = ("-|{}|", "-{}", "|{}|")
    signed = [wraps[i].format(text) if i < 3 and row.sources[i] in FLOATS else text for i, text in enumerate(plain)]
    forms.add(signed, "_e64" if row.results == ("mask",) else "")


def _clamps(row: Row, forms: Forms, plain: list[str]) -> None:
    result = row.results[0].removeprefix("+")
    plain_float = result in FLOATS and not row.name.startswith(("v_div_", "v_trig", "v_cvt_f32_bf16"))
    if row.saturated or plain_float:
        forms.add(plain, modifiers="clamp")


def _halves(row: Row, forms: Forms, plain: list[str], target: str) -> None:
    kinds = [row.results[0].removeprefix("+"), *row.sources]
    if row.packed or row.modifiers or not any(kind in HALVES for kind in kinds):
        return
    if generation(target) >= 11:
        texts = [f"{t}.{'hl'[i % 2]}" if row.sources[i] in HALVES else t for i, t in enumerate(plain)]
        results = forms.results()
        if kinds[0] in HALVES:
            results[0] += ".h"
        forms.add(texts, results=results)
    else:
        select = [int(kind in HALVES and i % 2 == 0) for i, kind in enumerate(row.sources)]
        select += [int(kinds[0] in HALVES)] if len(select) < 4 else []
        forms.add(plain, modifiers=f"op_sel:[{','.join(map(str, select))}]")


def _packed(row: Row, forms: Forms, plain: list[str]) -> None:
    n = len(row.sources)
    if not row.packed:
        return
    bits = [str(i % 2) for i in range(n)]
    other = [str((i + 1) % 2) for i in range(n)]
    forms.add(plain, modifiers=f"op_sel:[{','.join(bits)}] op_sel_hi:[{','.join(other)}]")
    if row.sources[0] in FLOATS:
        forms.add(plain, modifiers=f"neg_lo:[{','.join(other)}] neg_hi:[{','.join(bits)}]")


CONTROLS = (
    "quad_perm:[3,0,1,2]", "row_shl:3", "row_shr:1", "row_ror:5", "row_mirror", "row_half_mirror",
)  # fmt: skip
GFX9_CONTROLS = ("wave_shl:1", "wave_rol:1", "wave_shr:1", "wave_ror:1", "row_bcast:15", "row_bcast:31")
GFX10_CONTROLS = ("row_share:7", "row_xmask:5", "dpp8:[7,6,5,4,3,2,1,0]", "dpp8:[1,1,3,0,4,2,6,5]")
MASKS = ("row_mask:0xf bank_mask:0xf", "row_mask:0xa bank_mask:0xf bound_ctrl:1", "row_mask:0xf bank_mask:0x6")


def _moves(row: Row, forms: Forms, plain: list[str], target: str) -> None:
    """DPP and SDWA forms for what VOP1 and VOP2 have."""
    kinds = [k.removeprefix("+") for k in (*row.results, *row.sources)]
    if row.packed or len(row.sources) > 2 or row.modifiers or any(k in WIDE or k == "mask" for k in kinds):
        return
    if row.alone:
        return
    controls = CONTROLS + (GFX9_CONTROLS if generation(target) == 9 else GFX10_CONTROLS)
    seed = sum(map(ord, row.name))
    control = controls[seed % len(controls)]
    forms.add(plain, "_dpp", control if control.startswith("dpp8") else f"{control} {MASKS[seed % 3]}")
    if generation(target) <= 10 and not row.name.startswith(("v_pk_", "v_dot")):
        selects = ("BYTE_0", "BYTE_1", "BYTE_2", "BYTE_3", "WORD_0", "WORD_1", "DWORD")
        unused = ("UNUSED_PAD", "UNUSED_SEXT", "UNUSED_PRESERVE")[seed % 3]
        text = [f"sext({t})" if row.sources[i][0] == "i" and i == 0 else t for i, t in enumerate(plain)]
        # Part of a float is no float any more, and its NaNs could not be told.
        into = ("WORD_0", "WORD_1", "DWORD")[seed % 3] if kinds[0] in HALVES else "DWORD"
        parts = [f"dst_sel:{selects[seed % 7] if kinds[0] not in FLOATS else into} dst_unused:{unused}"]
        parts += [f"src{i}_sel:{selects[(seed // 7 + 3 * i) % 7]}" for i in range(len(plain))]
        forms.add(text, "_sdwa", " ".join(parts))


def _overlap(row: Row, forms: Forms, plain: list[str]) -> None:
    """Last, because it changes a source: the result goes where an operand is."""
    if len(row.results) != 1 or row.results[0].removeprefix("+") == "mask" or row.sources[-1] == "mask":
        return
    last = plain[-1]
    wide_result = row.results[0].removeprefix("+") in WIDE or (row.packed and row.results[0] == "f32")
    register = SOURCES[len(plain) - 1]
    forms.add(plain, results=[f"v[{register}:{register + 1}]" if wide_result else f"v{register}"])
    assert last


def scalar_program(row: Row, target: str, wave: int) -> Program:
    program = Program(row.name, target, wave, kinds=dict(enumerate(row.sources)))
    results = [k.removeprefix("+") for k in row.results]
    texts = [scalar_pair(SCALARS[i], kind in WIDE) for i, kind in enumerate(row.sources)]
    count = 0

    def add(sources: list[str], destination: str = "") -> None:
        nonlocal count
        first = [destination or scalar_pair(FIRST_SCALAR + 2 * count, results[0] in WIDE)] if results else []
        program.lines.append(f"{row.name} {', '.join([*first, *sources])}")
        count += 1

    if row.name.startswith(("s_cmpk", "s_movk", "s_cmovk", "s_addk", "s_mulk")):
        for value in ("0x1234", "0xfff0", "7"):
            add([texts[0], value] if row.name.startswith("s_cmpk") else [value])
            if row.name.startswith("s_cmpk"):
                break
        return program
    if row.name.startswith(("s_fmaak", "s_fmamk")):
        at = 2 if "aak" in row.name else 1
        add([t if i != at else "0x40490fdb" for i, t in enumerate(texts)])
        return program
    add(texts)
    if row.name == "s_cvt_hi_f32_f16":  # of a constant there is no upper half
        return program
    if row.writes_exec or not results:
        return program
    constant = "0.5" if row.sources[0] in ("f32", "f16") else "-7"
    add([constant, *texts[1:]])
    add(["vcc" if row.sources[0] in WIDE else "vcc_lo", *texts[1:]])
    if row.sources[0] in ("u32", "i32", "f32"):
        add(["0xdeadbeef", *texts[1:]])
    if results[0] in ("u64",) and wave == 64:
        add(texts, "exec")
    return program
