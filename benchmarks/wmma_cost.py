"""What one nvcuda::wmma product of a port costs: machine instructions of mma_sync for each target, from the built code.

python benchmarks/wmma_cost.py                 a table for docs/wmma.md

A kernel that adds three products is compared with one that adds two: the difference is one product. On CDNA a path for
waves that are not whole stands behind a branch at every product; "without" is the code built with
-DKPT_WMMA_WHOLE_WAVES, which has no such path: what a whole wave executes, but for the test.
"""

from __future__ import annotations

import argparse
import re
import sys

from kernel_pytorch.port.cxx.source import cxx_file
from kernel_pytorch.port.hipify.file import HipifyOptions, hipify_file
from kernel_pytorch.toolchain.compile import CompileOptions
from kernel_pytorch.toolchain.find import find_toolchain
from kernel_pytorch.toolchain.program import build_device_code_text

CASES = {
    "half 16x16x16": ("16, 16, 16", "half", "half", "float"),
    "bfloat16 16x16x16": ("16, 16, 16", "__nv_bfloat16", "__nv_bfloat16", "float"),
    "signed char 16x16x16": ("16, 16, 16", "signed char", "signed char", "int"),
    "unsigned char 16x16x16": ("16, 16, 16", "unsigned char", "unsigned char", "int"),
    "half 32x8x16": ("32, 8, 16", "half", "half", "float"),
    "half 16x16x16 into half": ("16, 16, 16", "half", "half", "half"),
    "tf32 16x16x8": ("16, 16, 8", "wmma::precision::tf32", "float", "float"),
    "double 8x8x4": ("8, 8, 4", "double", "double", "double"),
}
TARGETS = ("gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1201")
# Where both paths are built.
_WITH_BRANCH = ("gfx90a", "gfx942", "gfx950")
KERNEL = """\
#include <cuda_bf16.h>
#include <mma.h>
using namespace nvcuda;
extern "C" __global__ void product(const STORED *a, const STORED *b, RESULT *c) {
  wmma::fragment<wmma::matrix_a, SHAPE, TYPE, wmma::row_major> left;
  wmma::fragment<wmma::matrix_b, SHAPE, TYPE, wmma::col_major> right;
  wmma::fragment<wmma::accumulator, SHAPE, RESULT> sum;
  wmma::fill_fragment(sum, RESULT(0));
  wmma::load_matrix_sync(left, a, 16);
  wmma::load_matrix_sync(right, b, 16);
#pragma unroll
  for (int i = 0; i < COUNT; ++i) wmma::mma_sync(sum, left, right, sum);
  wmma::store_matrix_sync(c, sum, 16, wmma::mem_row_major);
}
"""
_MATRIX = re.compile(r"\bv_(?:mfma|wmma)_\w+")
_INSTRUCTION = re.compile(r"^\t(?:v|s|ds|global|flat|buffer|scratch)_\w+", re.MULTILINE)


def counted(target: str, case: str, count: int, only_whole: bool) -> tuple[int, int]:
    """All instructions of the kernel, and those of the matrix unit."""
    shape, kind, stored, result = CASES[case]
    text = KERNEL.replace("SHAPE", shape).replace("TYPE", kind).replace("STORED", stored)
    text = text.replace("RESULT", result).replace("COUNT", str(count))
    options = CompileOptions(defines=("KPT_WMMA_WHOLE_WAVES",) if only_whole else ())
    made = hipify_file(cxx_file("product.cu", text.encode()), None, HipifyOptions()).after.decode()
    built = build_device_code_text(made, target, find_toolchain(), options).assembly or ""
    return len(_INSTRUCTION.findall(built)), len(_MATRIX.findall(built))


def main(argv: list[str] | None = None) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--targets", default=",".join(TARGETS))
    parser.add_argument("--cases", default=",".join(CASES), help="by name, with commas")
    args = parser.parse_args(argv)
    targets = args.targets.split(",")
    print("| product | " + " | ".join(targets) + " |")
    print("|---|" + "---|" * len(targets))
    for case in args.cases.split(","):
        cells = []
        for target in targets:
            (two, two_matrix), (three, three_matrix) = (counted(target, case, count, True) for count in (2, 3))
            matrix = three_matrix - two_matrix
            cell = f"{matrix} + {three - two - matrix}"
            if target in _WITH_BRANCH:
                with_branch = counted(target, case, 3, False)[0] - counted(target, case, 2, False)[0]
                cell += f" ({with_branch})"
            cells.append(cell)
        print(f"| {case} | " + " | ".join(cells) + " |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
