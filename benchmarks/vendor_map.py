#!/usr/bin/env python3
"""Our table of names beside the one of AMD's hipify-perl, name by name.

    git clone https://github.com/ROCm/HIPIFY
    python benchmarks/vendor_map.py HIPIFY/bin/hipify-perl --hip .rocm/usr/include

--hip are include folders of ROCm: a name of theirs counts only where these headers declare it. Every difference that is
left must have its reason in our table (the note of the row); those without one are listed, and the exit code is 1.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "scripts"))

from build_name_table import HIP_HEADERS, merged
from header_declarations import Declarations, read_headers

from kernel_pytorch.port.names.table import find_name

SUBSTITUTION = re.compile(r'^\s*subst\("(\w+)", "(\w+)", "\w+"\);', re.MULTILINE)
# The names of torch's own old classes are torch.utils.hipify's business; __CUDACC__ is a rule's (KP221).
ELSEWHERE = re.compile(r"CUDAContext|REGISTER_CUDA_|cuda_stream|__CUDACC__|CUB_NAMESPACE_|_CubLog|__CUB_ALIGN_BYTES")


def main() -> int:
    """Print the counts and what differs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("hipify_perl", type=Path)
    parser.add_argument("--hip", action="append", required=True, type=Path)
    args = parser.parse_args()
    declared = merged([read_headers(folder, HIP_HEADERS) for folder in args.hip])
    theirs = _their_map(args.hipify_perl.read_text(encoding="utf-8"))
    counts: Counter[str] = Counter()
    unexplained = []
    for cuda, hip in sorted(theirs.items()):
        verdict, is_explained = _compared(cuda, hip, declared)
        counts[verdict] += 1
        if not is_explained:
            unexplained.append(f"{cuda}: theirs {hip}, {verdict}")
    for verdict, count in counts.most_common():
        print(f"{count:6} {verdict}")
    print(f"{len(unexplained)} differences without a reason in the table")
    print("\n".join(unexplained))
    return 1 if unexplained else 0


def _their_map(script: str) -> dict[str, str]:
    """HIP's names alone: the part for ROCm's own libraries (rocSubstitutions) is an option of that script."""
    begin, end = script.index("sub rocSubstitutions"), script.index("sub simpleSubstitutions")
    return {cuda: hip for cuda, hip in SUBSTITUTION.findall(script[:begin] + script[end:]) if cuda != hip}


def _compared(cuda: str, hip: str, declared: Declarations) -> tuple[str, bool]:
    row = find_name(cuda.encode())
    if row is not None and row.hip == hip:
        return "same", True
    if hip not in declared.by_name:
        return "theirs is in no header of this ROCm", True
    if row is None:
        return "ours has no row", bool(ELSEWHERE.search(cuda))
    return f"ours is {'another name' if row.hip else 'reported as missing'}", bool(row.note)


if __name__ == "__main__":
    sys.exit(main())
