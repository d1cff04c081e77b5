"""What Triton's product of experts does along K, counted in its machine code: instructions for each weight of 4 bits.

    git -C ../triton archive v3.5.1 python/triton_kernels | tar -x -C triton_kernels
    pip install --no-deps --target triton351 triton==3.5.1
    PYTHONPATH=triton351:triton_kernels/python/triton_kernels python benchmarks/expert_loops.py

The figures of `perf/expected/table.py` (CONVERTED) and of the rule for steps that do not divide K come from here. The
tiles are those of public traces (16x128x256, 128x128x128, vLLM with gpt-oss-20b) and of ROCm/triton#970 (32x256x128),
each with a K that the steps divide and with one that they do not. No GPU is needed; nothing runs on one.
"""

from __future__ import annotations

import argparse
import re
from collections import Counter

import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from triton_kernels.matmul_ogs_details._matmul_ogs import _matmul_ogs

COLUMNS = 6144
# Rows, columns, steps along K, waves; K.
CASES = [
    (tile, k)
    for tile in ((16, 128, 256, 4), (32, 256, 128, 2), (32, 128, 128, 4), (128, 128, 128, 8))
    for k in (3072, 2944 if tile[2] == 256 else 2976)
]
POINTERS = {
    **dict.fromkeys(("Y", "YPtr", "X", "XPtr"), "*bf16"), **dict.fromkeys(("W", "WPtr", "WMxScale"), "*u8"),
    "B": "*fp32", **dict.fromkeys(("GatherIndx", "ExptHist", "ExptOffs", "ExptOffsSum", "ExptData"), "*i32"),
}  # fmt: skip
ONES = ("stride_y_n", "stride_x_k", "stride_w_k", "stride_w_mx_k")
CONSTANTS = {
    "W_TRANSPOSE": True, "ACTIVATION_FN": None, "activation_fn_args": (), "ACTIVATION_REDUCTION_N": 1,
    "EPILOGUE_FN": None, "epilogue_fn_args": (), "N_EXPTS_TOT": 32, "N_EXPTS_ACT": 4, "MAX_NUM_IMPRECISE_ACC": None,
    "ALLOW_TF32": True, "FLEXPOINT_SATURATE_INF": False, "PER_BATCH_SCALE": False, "GROUP_M": 4, "XCD_SWIZZLE": 8,
    "SWIZZLE_MX_VALUE": None, "SWIZZLE_MX_SCALE": None, "EPILOGUE_SUBTILE": 1, "SPLIT_K": 1, "NUM_SMS": 0,
    "X_TMA_MODE": None, "Y_TMA_MODE": None, "UPCAST_INDICES": False, "SWAP_XW": False, "IS_EPILOGUE_QUANT_MXFP8": False,
}  # fmt: skip


def sizes(k: int) -> dict[str, int]:
    """The numbers that a launch passes: Triton cares which of them are multiples of 16."""
    return {
        "stride_y_k": COLUMNS * 128, "stride_y_z": COLUMNS * 128, "stride_y_m": COLUMNS, "stride_x_z": k * 32,
        "stride_x_m": k, "stride_w_e": COLUMNS * k // 2, "stride_w_n": k // 2, "stride_w_mx_e": COLUMNS * k // 32,
        "stride_w_mx_n": k // 32, "stride_b_e": COLUMNS, "NRows": 32, "N": COLUMNS, "K": k, "num_idxs": 128,
        "batch_size": 1, "grid_m": 38, "grid_n": COLUMNS // 128,
    }  # fmt: skip


def machine_code(arch: str, tile: tuple[int, int, int, int], k: int) -> tuple[str, int]:
    """The assembly, and bytes of LDS."""
    rows, columns, depth, waves = tile
    blocks = {"BLOCK_M": rows, "BLOCK_N": columns, "BLOCK_K": depth, "EVEN_K": k % depth == 0}
    constants = {**CONSTANTS, **blocks, "W_CACHE_MODIFIER": ".cg" if rows <= 32 else None, **dict.fromkeys(ONES, 1)}
    numbers, signature, known, attributes = sizes(k), {}, {}, {}
    for place, name in enumerate(_matmul_ogs.arg_names):
        if name in POINTERS:
            signature[name] = POINTERS[name]
            attributes[(place,)] = [["tt.divisibility", 16], ["tt.pointer_range", 32]]
        elif numbers.get(name, 1) != 1:
            signature[name] = "i32"
            if numbers[name] % 16 == 0:
                attributes[(place,)] = [["tt.divisibility", 16]]
        else:
            signature[name], known[(place,)] = "constexpr", constants.get(name, numbers.get(name))
    options = {"num_warps": waves, "num_stages": 2, "matrix_instr_nonkdim": 16, "kpack": 1}
    source = ASTSource(_matmul_ogs, signature, known, attributes)
    built = triton.compile(source, target=GPUTarget("hip", arch, 64), options=options)
    return built.asm["amdgcn"], built.metadata.shared


def loop(assembly: str) -> list[str]:
    """The lines of the shortest loop with matrix instructions in it."""
    lines, labels, found = assembly.splitlines(), {}, []
    for number, line in enumerate(lines):
        label = re.match(r"(\.LBB\w+):", line)
        jump = re.search(r"s_c?branch\S*\s+(\.LBB\w+)", line)
        if label:
            labels[label[1]] = number
        elif jump and jump[1] in labels:
            body = lines[labels[jump[1]] : number + 1]
            if any("mfma" in one for one in body) and (not found or len(body) < len(found)):
                found = body
    return found


def covered(body: list[str]) -> float:
    """The share of the loop's instructions between its last load and the next wait for all loads."""
    instructions = [line for line in body if re.match(r"\s+[a-z]", line)]
    last = max(i for i, line in enumerate(instructions) if re.search("(global|buffer)_load", line))
    around = instructions[last:] + instructions[:last]
    waits = (i for i, line in enumerate(around) if re.search(r"vmcnt\(0\)", line))
    return next(waits, len(around)) / len(around)


def main() -> int:
    """Print a line for each tile and K."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--arch", default="gfx942")
    args = parser.parse_args()
    print(f"{args.arch}, Triton {triton.__version__}; instructions for each weight, without those of the matrix units")
    for tile, k in CASES:
        assembly, lds = machine_code(args.arch, tile, k)
        body = loop(assembly)
        names = Counter(one[1] for one in (re.match(r"\s+([a-z]\w+)", line) for line in body) if one)
        weights = tile[1] * tile[2] / (tile[3] * 64)
        each = sum(count for name, count in names.items() if "mfma" not in name) / weights
        loads = ", ".join(f"{count} {name}" for name, count in names.items() if re.match("(global|buffer)_load", name))
        print(f"{'x'.join(map(str, tile[:3]))}, {tile[3]} waves, K {k}: {each:.2f}, LDS {lds}, ", end="")
        print(f"{covered(body):.0%} of the step while loads run; {loads}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
