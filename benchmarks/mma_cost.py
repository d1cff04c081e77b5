"""What one mma.sync or ldmatrix of the original costs in machine instructions on AMD, from built code.

    python benchmarks/mma_cost.py                        gfx942, gfx950, gfx1100 and gfx1201
    python benchmarks/mma_cost.py --arch gfx90a --json
    python benchmarks/mma_cost.py --arch gfx1201 -D KPT_MMA_WMMA
    python benchmarks/mma_cost.py --arch gfx942 --blocks  f16 by 4x4x4 MFMA (mma_blocks.h) instead; emulated too

A kernel with five of them less one with one, divided by four: what all share (lane numbers, loads) falls out. Both
warps of a 64-lane wave are in the call; the few lines for a wave that is not whole are left out of the count. "native"
is the number of matrix instructions that the same products take in AMD's own layout, where nothing has to move between
lanes.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections import Counter
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from kernel_pytorch.core.hardware import target as target_named  # noqa: E402
from kernel_pytorch.port.cxx.source import cxx_file  # noqa: E402
from kernel_pytorch.port.hipify.file import HipifyOptions, hipify_file  # noqa: E402
from kernel_pytorch.toolchain.compile import CompileOptions  # noqa: E402
from kernel_pytorch.toolchain.find import find_toolchain  # noqa: E402
from kernel_pytorch.toolchain.program import build_device_code_text  # noqa: E402
from tests.port.mma.mma_forms import (  # noqa: E402
    LANES,
    MODES,
    WARPS,
    Form,
    difference,
    draw,
    kernel,
    unpacked,
)

TARGETS = ("gfx942", "gfx950", "gfx1100", "gfx1201")
FORMS = (
    Form(16, 16, "f16", "f16", "f32"), Form(16, 16, "f16", "f16", "f16"), Form(16, 8, "f16", "f16", "f32"),
    Form(16, 16, "bf16", "bf16", "f32"), Form(16, 8, "tf32", "tf32", "f32"), Form(16, 32, "s8", "s8", "s32"),
    Form(8, 16, "s8", "s8", "s32"), Form(16, 64, "s4", "s4", "s32"), Form(16, 32, "e4m3", "e4m3", "f32"),
    Form(8, 4, "f64", "f64", "f64"),
)  # fmt: skip
# Multiply-adds of one matrix instruction per wave, by format: 16x16x16, 16x16x32 or 16x16x4.
NATIVE = {"f16": 4096, "bf16": 4096, "s8": 8192, "tf32": 1024, "f64": 1024}
WHOLE_WAVE = "__builtin_amdgcn_ballot_w64(true) == ~0ull"
SHORT, LONG = 1, 5


def product_kernel(form: Form, count: int, name: str) -> str:
    """`count` products into one D, each with factors of its own."""
    a, b, d = form.registers
    wide = form.a == "f64"
    word, kind = ("double", "d") if wide else ("unsigned", "r")
    sums, total = {"f32": ("float", "f"), "f64": ("double", "d")}.get(form.d, ("unsigned", "r"))
    each = a + b
    lines = [f'extern "C" __global__ void {name}(const {word}* in, {sums}* out) {{', f"  {sums} d[{d}];"]
    lines += [f"  for (int i = 0; i < {d}; ++i) d[i] = out[threadIdx.x * {d} + i];"]
    groups, at = [], 0
    for size in (d, a, b):
        groups.append("{" + ", ".join(f"%{at + i}" for i in range(size)) + "}")
        at += size
    for number in range(count):
        lines.append(f"  {{ const {word}* row = in + threadIdx.x * {each * LONG} + {number * each};")
        outputs = ", ".join(f'"+{total}"(d[{i}])' for i in range(d))
        inputs = ", ".join(f'"{kind}"(row[{i}])' for i in range(each))
        lines.append(f'  asm volatile("{form.name} {", ".join(groups)}, {groups[0]};" : {outputs} : {inputs}); }}')
    lines.append(f"  for (int i = 0; i < {d}; ++i) out[threadIdx.x * {d} + i] = d[i];")
    return "\n".join([*lines, "}"])


def load_kernel(trans: str, count: int, name: str) -> str:
    """`count` ldmatrix.x4."""
    lines = [f'extern "C" __global__ void {name}(const uint4* in, unsigned* out) {{', "  __shared__ uint4 rows[640];"]
    lines += ["  for (int i = threadIdx.x; i < 640; i += 64) rows[i] = in[i];", "  __syncthreads();"]
    lines += ["  unsigned at = __cvta_generic_to_shared(rows + threadIdx.x), r[4];"]
    registers = ", ".join(f'"=r"(r[{i}])' for i in range(4))
    for number in range(count):
        lines.append(
            f'  asm volatile("ldmatrix.sync.aligned.m8n8.x4{trans}.shared.b16 {{%0, %1, %2, %3}}, [%4];" : {registers}'
            f' : "r"(at + {1024 * number}));'
        )
        lines.append(f"  for (int i = 0; i < 4; ++i) out[threadIdx.x + 64 * ({4 * number} + i)] = r[i];")
    return "\n".join([*lines, "}"])


def instructions(assembly: str, kernel: str) -> Counter[str]:
    """The instructions of a kernel by what they do. Global memory, waiting and ending are the loop's own business."""
    start = assembly.index(f"\n{kernel}:")
    body = assembly[start : assembly.index("\n.Lfunc_end", start)]
    found: Counter[str] = Counter()
    for word in re.findall(r"^\t([a-z]\w+)", body, re.MULTILINE):
        if re.match(r"global_|flat_|s_load|s_wait|s_nop|s_delay|s_end|s_clause|s_barrier|s_code|s_set", word):
            continue
        kind = (
            "matrix" if re.match(r"v_(mfma|wmma|swmmac)", word)
            else "multiply" if re.match(r"v_(dot|fma|pk_fma|dual_fma|dual_dot|mad)", word)
            else "LDS pipe" if word.startswith("ds_")
            else "vector" if word.startswith("v_")
            else "scalar"
        )  # fmt: skip
        found[kind] += 1
    return found


def by_blocks(text: str) -> str:
    """Ported text whose whole waves multiply by 4x4x4 MFMA."""
    call = "kpt_mma_by_matrix_unit<Dot, Blocks>(d, a, b);"
    assert text.count(call) == 1
    after = "template <typename Dot, int Rows, int Blocks> struct kpt_mma_unit<Dot, Rows, Blocks, true> {"
    at = text.index(after)
    blocks = (ROOT / "benchmarks" / "mma_blocks.h").read_text()
    return text[:at] + blocks + text[at:].replace(call, "kpt_mma_by_blocks<Dot, Blocks>(d, a, b);")


def check_blocks(target: str) -> list[str]:
    """What is wrong with the products by blocks, emulated with both warps in the call and with one."""
    from kernel_pytorch.core.hardware import gpus
    from kernel_pytorch.emulate.device import EmulatedDevice
    from kernel_pytorch.emulate.launch import device_code

    wrong = []
    with EmulatedDevice(next(gpu for gpu in gpus() if gpu.target.name == target)) as device:
        for number, form in enumerate(FORMS[:2]):
            text = hipify_file(cxx_file("a.cu", kernel(form, number).encode()), None, HipifyOptions()).after.decode()
            code = device_code(by_blocks(text), device.gpu)
            run = device.load(code.code_object, f"mma{number}", code.assembly)
            for exact in (True, False):
                drawn, results = draw(form, number, exact), []
                for first, second in MODES:
                    out = np.zeros((WARPS * LANES, form.registers[2]), np.int64)
                    run.launch(1, len(out), drawn.slots.astype(np.int64), out, np.int32(first), np.int32(second))
                    results.append(out)
                allowed = 0.0 if exact else form.k * 2.0**-23
                wrong.append(difference(form, drawn, unpacked(form, np.stack(results)), allowed))
    return [one for one in wrong if one]


def costs(target: str, defines: tuple[str, ...] = (), blocks: bool = False) -> list[dict[str, object]]:
    """A row for each form."""
    names: dict[str, Form | None] = {form.name: form for form in (FORMS[:2] if blocks else FORMS)}
    if not blocks:
        names |= {f"ldmatrix.x4{trans}": None for trans in ("", ".trans")}
    parts = []
    for number, (name, form) in enumerate(names.items()):
        for count in (SHORT, LONG):
            label = f"cost_{number}_{count}"
            trans = ".trans" if name.endswith("trans") else ""
            parts.append(product_kernel(form, count, label) if form else load_kernel(trans, count, label))
    text = hipify_file(cxx_file("cost.cu", "\n".join(parts).encode()), None, HipifyOptions()).after.decode()
    assert WHOLE_WAVE in text
    text = by_blocks(text) if blocks else text
    options = CompileOptions(defines=defines)
    built = build_device_code_text(text.replace(WHOLE_WAVE, "true"), target, find_toolchain(), options)
    assert built.assembly is not None
    warps = target_named(target).wave_size // 32
    rows: list[dict[str, object]] = []
    for number, (name, form) in enumerate(names.items()):
        short, long = (instructions(built.assembly, f"cost_{number}_{count}") for count in (SHORT, LONG))
        each = {kind: (long[kind] - short[kind]) / (LONG - SHORT) / warps for kind in sorted(long)}
        native = form.m * 8 * form.k / NATIVE[_native_kind(form)] if form else None
        rows.append({"target": target, "name": name, "per_mma": each, "all": sum(each.values()), "native": native})
    return rows


def _native_kind(form: Form) -> str:
    return {"s4": "s8", "e4m3": "s8"}.get(form.a, form.a)


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--arch", default=",".join(TARGETS), help="targets, comma-separated")
    parser.add_argument("-D", dest="defines", action="append", default=[], help="a macro, such as KPT_MMA_WMMA")
    parser.add_argument("--blocks", action="store_true", help="f16 by MFMA of sixteen 4x4x4 blocks; CDNA only")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args(argv)
    rows = [row for target in args.arch.split(",") for row in costs(target, tuple(args.defines), args.blocks)]
    if args.blocks:
        for target in args.arch.split(","):
            print(f"{target}: {'; '.join(check_blocks(target)) or 'equal to the model, emulated'}", file=sys.stderr)
    if args.json:
        print(json.dumps(rows, indent=1))
        return 0
    kinds = ("matrix", "multiply", "LDS pipe", "vector", "scalar")
    print("| target | original | all | " + " | ".join(kinds) + " | native |\n|" + "---|" * (len(kinds) + 4))
    for row in rows:
        each = row["per_mma"]
        assert isinstance(each, dict)
        native = f"{row['native']:g}" if row["native"] is not None else ""
        cells = " | ".join(f"{each.get(kind, 0):g}" for kind in kinds)
        name = str(row["name"]).replace("mma.sync.aligned.", "").replace(".row.col", "")
        print(f"| {row['target']} | {name} | {row['all']:.1f} | {cells} | {native} |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
