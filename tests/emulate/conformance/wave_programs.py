"""Programs of the rows that see the whole wave: matrices and exchanges between lanes."""

from __future__ import annotations

import random
import re

import numpy as np

from kernel_pytorch.emulate.isa.row import Row

from .programs import Program

A, B, C, D = 0, 8, 16, 64  # first registers


def registers(file: str, first: int, count: int) -> str:
    return f"{file}[{first}:{first + count - 1}]" if count > 1 else f"{file}{first}"


def count_of(kind: str) -> int:
    return int(kind.removeprefix("+")[1:])


def matrix_program(row: Row, target: str, wave: int) -> list[Program]:
    """One program per form: results overlap, so they cannot share one."""
    if row.families == ("gfx1250",):
        return deep_matrix_program(row, target, wave)
    d, sources = count_of(row.results[0]), [count_of(kind) for kind in row.sources]
    a, b, c = (registers("v", first, n) for first, n in zip((A, B, C), sources[:3], strict=True))
    out = registers("v", D, d)
    sparse = row.results[0].startswith("+") and "mac" in row.name
    texts = [f"{row.name} {out}, {a}, {b}, {c}"]
    if "f8f6f4" in row.name:
        texts = [
            f"{row.name} {out}, {registers('v', A, 8)}, {registers('v', B, 8)}, {c}",
            f"{row.name} {out}, {registers('v', A, 4)}, {registers('v', B, 6)}, {c} cbsz:4 blgp:2",
        ]
        if "scale" in row.name:
            texts = [text.replace(f", {c}", f", {c}, v40, v41", 1) for text in texts]
            texts = [f"{texts[0]} op_sel:[1,0,0] op_sel_hi:[0,1,0]", f"{texts[1]} op_sel_hi:[0,0,0]"]
    elif another_name(row.name, target):
        pass
    elif row.name.startswith("v_mfma"):
        wide = "f64" in row.name
        texts.append(f"{row.name} {registers('a', D, d)}, {a}, {b}, {registers('a', C, d)}")
        texts.append(f"{row.name} {out}, {a}, {b}, 1.0")
        if wide:
            texts.append(f"{row.name} {out}, {a}, {b}, {c} neg:[1,0,1]")
        else:
            several = "4x4" in row.name or "_2b_" in row.name or "_4b_" in row.name
            texts.append(f"{row.name} {out}, {a}, {b}, {c} {'cbsz:1 abid:1 ' if several else ''}blgp:{2 + d % 5}")
    elif sparse:
        wide_index = "16b" in row.name or ("128" in row.name and "i8" in row.name)
        if "swmmac" in row.name and "16x16x64" not in row.name:
            texts.append(f"{row.name} {out}, {a}, {b}, {c} index_key:1")
        elif "smfmac" in row.name and not wide_index and sources[0] == 2:
            texts.append(f"{row.name} {out}, {a}, {b}, {c} abid:1")
    else:
        if "iu" in row.name:
            texts.append(f"{row.name} {out}, {a}, {b}, {c} neg_lo:[1,1,0]")
            texts.append(f"{row.name} {out}, {a}, {b}, {c} neg_lo:[1,0,0] clamp")
        elif "fp8" not in row.name and "bf8" not in row.name:
            texts.append(f"{row.name} {out}, {a}, {b}, {c} neg_lo:[1,0,1] neg_hi:[0,1,0]")
            if row.name.startswith(("v_wmma_f16", "v_wmma_bf16")) and target.startswith("gfx11"):
                texts.append(f"{row.name} {out}, {a}, {b}, {c} op_sel:[0,0,1]")
    return [Program(row.name, target, wave, [text], {}) for text in texts]


DEEP = (0, 16, 32, 48, 50)  # gfx1250's sources of up to 16 registers, and the scales


def deep_matrix_program(row: Row, target: str, wave: int) -> list[Program]:
    counts = [count_of(kind) for kind in row.sources]

    def text(*given: int, modifiers: str = "") -> str:
        widths = [*given, *counts[len(given) :]]
        sources = [registers("v", first, n) for first, n in zip(DEEP, widths, strict=False)]
        out = registers("v", D, count_of(row.results[0]))
        return f"{row.name} {out}, {', '.join(sources)} {modifiers}".rstrip()

    if "iu8" in row.name:
        texts = [text(), text(modifiers="neg_lo:[1,0,0] clamp"), text(modifiers="neg_lo:[0,1,0]")]
    elif "f8f6f4" in row.name:
        scales = " matrix_a_scale:MATRIX_SCALE_ROW1" if "scale" in row.name else ""
        formats = "matrix_a_fmt:MATRIX_FMT_{} matrix_b_fmt:MATRIX_FMT_{}"
        texts = [
            text(modifiers=formats.format("BF8", "FP8")),
            text(8, 16, modifiers=formats.format("FP4", "BF8") + scales),
            text(8, 8, modifiers=formats.format("FP4", "FP4") + scales.replace("_a_", "_b_")),
        ]
    else:
        texts = [text(), text(modifiers="neg_lo:[0,0,1] neg_hi:[0,0,1]")]
    return [Program(row.name, target, wave, [one], {}) for one in texts]


def another_name(name: str, target: str) -> bool:
    """Whether this is gfx90a's name of a shape that the target has under its own name too: one form will do."""
    return target != "gfx90a" and re.search(r"x\d+(f|bf|i)\d", name) is not None


def moderate(rng: np.random.Generator, shape: tuple[int, int], kind: str) -> np.ndarray:
    """Register contents that make sums worth comparing: numbers of like size and now and then a special one."""
    if kind == "f16":
        numbers = rng.normal(0, 4, (*shape, 2)).astype(np.float16).view(np.uint16)
        special = np.array([0x0001, 0x83FF, 0x7BFF, 0x0000, 0x8000, 0x7C00, 0x7E00], dtype=np.uint16)
    elif kind == "bf16":
        numbers = (rng.normal(0, 4, (*shape, 2)).astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
        special = np.array([0x0001, 0x807F, 0x7F7F, 0x0000, 0x8000, 0x7F80, 0x7FC0], dtype=np.uint16)
    elif kind == "f32":
        numbers = rng.normal(0, 4, shape).astype(np.float32).view(np.uint32)
        special = np.array([1, 0x807FFFFF, 0x7F7FFFFF, 0, 0x80000000, 0x7F800000, 0x7FC00000], dtype=np.uint32)
    elif kind == "f64":
        pairs = rng.normal(0, 4, (shape[0] // 2, shape[1])).view(np.uint64)
        out = np.empty(shape, dtype=np.uint32)
        out[0::2], out[1::2] = pairs & 0xFFFFFFFF, pairs >> 32
        return out
    else:
        return rng.integers(0, 1 << 32, shape, dtype=np.uint32)
    odd = rng.random(numbers.shape) < 0.002
    numbers = np.where(odd, rng.choice(special, numbers.shape), numbers)
    return numbers if numbers.dtype == np.uint32 else numbers.view(np.uint32).reshape(shape)


def element_kind(name: str) -> tuple[str, str]:
    """Types of the sources and of the accumulator, for filling."""
    tail = name.removesuffix("_1k")
    source = next((k for k in ("bf16", "f16", "f64") if tail.endswith(k)), "")
    if not source:
        source = "f32" if tail.endswith("f32") else "bits"
    accumulator = next(part for part in name.split("_")[2:] if not part.startswith("scale"))
    accumulator = "f32" if accumulator == "bf16f32" else accumulator
    return source, accumulator if accumulator in ("f16", "bf16", "f32", "f64") else "bits"


def prepare_matrix(name: str, rng: random.Random, wave: int):  # type: ignore[no-untyped-def]
    """Fills the source registers of a start for this instruction."""
    bits = np.random.default_rng(rng.getrandbits(32))
    source, accumulator = element_kind(name)

    def fill(start) -> None:  # type: ignore[no-untyped-def]
        deep = re.search(r"x(4_f32|32_b?f16|64_|128_)", name) and "v_wmma" in name
        if deep:
            start.v[: DEEP[2]] = moderate(bits, (DEEP[2], wave), source)
            start.v[DEEP[2] : DEEP[3]] = moderate(bits, (16, wave), accumulator)
            start.v[48:52] = bits.integers(120, 134, (4, wave, 4), dtype=np.uint8).view(np.uint32)[:, :, 0]
            return
        start.v[A:C] = moderate(bits, (C - A, wave), source)
        if "mac" not in name:
            start.v[C : C + 32] = moderate(bits, (32, wave), accumulator)
            start.a[C : C + 32] = moderate(bits, (32, wave), accumulator)
        start.v[D : D + 32] = moderate(bits, (32, wave), accumulator)
        if "scale" in name:  # E8M0 bytes near 127, or products would vanish
            start.v[40:42] = bits.integers(120, 134, (2, wave, 4), dtype=np.uint8).view(np.uint32)[:, :, 0]

    return fill


def exchange_programs(target: str, wave: int) -> list[Program]:
    """readlane, permlane, ds_permute, ds_swizzle ... in the forms compilers write."""
    gfx9 = target.startswith("gfx9")
    lines = [
        "v_readfirstlane_b32 s70, v0",
        "v_readlane_b32 s71, v0, 5",
        "v_readlane_b32 s72, v0, s40",
        "v_writelane_b32 v32, s41, 7",
        "v_writelane_b32 v33, 12, s40",
        "v_swap_b32 v34, v35",
    ]
    lines += [
        "ds_bpermute_b32 v36, v4, v0",
        "ds_bpermute_b32 v37, v4, v0 offset:12",
        "ds_permute_b32 v38, v4, v0",
        "ds_permute_b32 v39, v4, v0 offset:8",
    ]
    for i, offset in enumerate(
        (
            "swizzle(QUAD_PERM,3,1,0,2)",
            "0x041F",
            "0x8055",
            "0x7c1f",
            "0x03e0",
            "0xc0a3",
            "0xc545",
            "0xe003",
            "0xe01f",
            "swizzle(SWAP,16)",
            "swizzle(REVERSE,8)",
            "swizzle(BROADCAST,8,3)",
            'swizzle(BITMASK_PERM,"01pip")',
        )
    ):
        lines.append(f"ds_swizzle_b32 v{40 + i}, v0 offset:{offset}")
    if target == "gfx950":
        lines += [
            "ds_read_b64_tr_b16 v[58:59], v7",
            "ds_read_b64_tr_b8 v[60:61], v7 offset:16",
            "ds_read_b64_tr_b4 v[62:63], v7",
            "ds_read_b96_tr_b6 v[64:66], v7",
        ]
        lines += ["v_permlane16_swap_b32 v54, v55", "v_permlane32_swap_b32 v56, v57"]
    if not gfx9:
        lines += [
            "v_permlane16_b32 v54, v0, s40, s41",
            "v_permlanex16_b32 v55, v0, s42, s43",
            "v_permlane16_b32 v56, v0, s40, s43 op_sel:[1,0]",
            "v_permlanex16_b32 v57, v0, s41, s42 op_sel:[1,1]",
            "v_permlane16_b32 v58, v0, s44, s45 op_sel:[0,1]",
        ]
    if not gfx9 and target != "gfx1030":
        lines += ["v_permlane64_b32 v59, v0"]
    if target == "gfx1250":
        lines += ["ds_load_tr16_b128 v[64:67], v7 offset:32", "ds_load_tr8_b64 v[68:69], v7"]
        for small, narrow in (("fp8", 2), ("bf8", 2), ("fp4", 1)):
            for wide, n in (("f32", 8), ("f16", 4), ("bf16", 4)):
                few, many = registers("v", 80, narrow), registers("v", 16, n)
                lines.append(f"v_cvt_scalef32_pk8_{small}_{wide} {few}, {many}, {'2.0' if n == 8 else 's40'}")
                few, many = registers("v", 16, narrow), registers("v", 80, n)
                lines.append(f"v_cvt_scale_pk8_{wide}_{small} {many}, {few}, {'0x81' if n == 8 else 's40'}")
    if target.startswith("gfx12"):
        lines += ["ds_bpermute_fi_b32 v62, v4, v0 offset:4"]
        lines += ["v_permlane16_var_b32 v60, v0, v4", "v_permlanex16_var_b32 v61, v0, v4 op_sel:[1,0]"]
    return [Program(line.split()[0], target, wave, [line], {0: "u32", 1: "u32"}) for line in lines]
