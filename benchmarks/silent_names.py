#!/usr/bin/env python3
"""Does a public name of CUDA's headers pass a translation in silence?

    python benchmarks/silent_names.py --cuda DIR [--cuda DIR ...] --hip .rocm/usr/include

--cuda are include folders unpacked from PyPI's nvidia-* packages (scripts/build_name_table.py says which), --hip those
of ROCm. A public name is one that a header of CUDA itself, not of CCCL, declares and that has no underscore in front,
but for the device functions that begin with two. Each is written into a small CUDA file and translated. It is answered
where it changes, where a finding is about it or about the #include of the one header that has it, or where ROCm
declares it under the same name (asked of the headers, then of the compiler). The others pass in silence: they are
listed with their header, and the exit code is 1.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "scripts"))

from build_name_table import HIP_HEADERS, merged
from header_declarations import read_headers

from kernel_pytorch.port.cxx.compiled_on_rocm import VERSION_MACROS
from kernel_pytorch.port.cxx.source import cxx_file
from kernel_pytorch.port.hipify.file import hipify_file
from kernel_pytorch.port.names.table import header_rows
from kernel_pytorch.port.tables import read_table
from kernel_pytorch.toolchain.compile import CompileFailed, CompileOptions
from kernel_pytorch.toolchain.diagnostics import errors
from kernel_pytorch.toolchain.find import find_toolchain
from kernel_pytorch.toolchain.other_passes import check_device

# What is CUDA's own: not the C++ libraries that come along, nor the compiler's inner headers.
HEADERS = ["*.h"]
INNER_HEADERS = frozenset({"cuda_pipeline_helpers.h", "fatbinary_section.h"})
INNER = re.compile(
    r"_?_|.*(?:_H_*|_HPP_*|_INCLUDED_?|_H__)$|NV(?:TX)?_(?:IMPL|INLINE|LINK|NOINLINE|NAMESPACE)|EXCLUDE_FROM_RTC$"
    r"|.*(?:_base|_impl|_helper|_getter)$|internal_|multi_warp_|scratch_|verify_"
)
DEVICE_FUNCTION = re.compile(r"__(?!nv_|cuda_|static_|dv$|multi_|single_|block_)[a-z][a-z0-9]*(?:_[a-z0-9]+)*$")
# cuRAND's headers for the device hold its generators' insides; what it documents has its prefix.
OF_CURAND = re.compile(r"_?curand|CURAND")
# Names that every project may have for itself: a class or member of C++ that only means something behind its namespace
# (`surface<...>` is KP246's, the pipeline's members KP235's), two words of CUDA 1, and three enumerators of versions.
EVERYDAY = frozenset({
    "all", "any", "surface", "pipeline", "segment", "commit", "commit_and_wait", "wait_prior", "arrive_on",
    "memcpy_async", "MAJOR_VERSION", "MINOR_VERSION", "PATCH_LEVEL",
})  # fmt: skip


def main() -> int:
    """Print how many names there are, and those that nobody speaks about."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cuda", action="append", required=True, type=Path)
    parser.add_argument("--hip", action="append", required=True, type=Path)
    args = parser.parse_args()
    same = set(merged([read_headers(folder, HIP_HEADERS) for folder in args.hip]).by_name)
    guards = {row["cuda"] for row in read_table("header_guards.csv")}
    where: dict[str, str] = {}
    for folder in args.cuda:
        for header in sorted(path for pattern in HEADERS for path in folder.glob(pattern)):
            for name in read_headers(folder, [header.name]).by_name:
                if is_public(name, header.name):
                    where.setdefault(name, header.name)
    verdicts = {name: answer(name, header, same, guards) for name, header in where.items()}
    known = compiled({name for name, verdict in verdicts.items() if verdict == "silent"})
    verdicts.update((name, "HIP's own name") for name in known)
    counts = Counter(verdicts.values())
    silent = sorted(f"{where[name]}: {name}" for name, verdict in verdicts.items() if verdict == "silent")
    print(f"{len(where)} public names: " + ", ".join(f"{count} {verdict}" for verdict, count in counts.most_common()))
    print("\n".join(silent))
    return 1 if silent else 0


def is_public(name: str, header: str) -> bool:
    """Whether people write a name: no guard of a header, no inner helper, no everyday word."""
    if name in EVERYDAY or header in INNER_HEADERS or (header.startswith("curand") and not OF_CURAND.match(name)):
        return False
    return not INNER.match(name) or bool(DEVICE_FUNCTION.match(name))


def answer(name: str, header: str, same: set[str], guards: set[str]) -> str:
    """What a translation says of one name."""
    if name in guards or name.encode() in VERSION_MACROS:
        return "left to a rule"
    shown = f"cooperative_groups::{name}" if header == "cooperative_groups.h" else name
    if name == "block_tile_memory":
        shown = "__shared__ cooperative_groups::block_tile_memory<128> memory; f"
    # FFTW's names are cuFFTW's only where its header is.
    first = "#include <cufftw.h>\n" if header == "cufftw.h" else ""
    source = f"{first}__global__ void kernel_of_test() {{ {shown}(a, b); }}\nint host_of_test = {shown};\n".encode()
    made = hipify_file(cxx_file("test.cu", source))
    code = made.after.rsplit(b"kernel_of_test", 1)[1]
    if name.encode() not in set(re.findall(rb"\w+", code)) or b"KPT_SHIM_" in made.after:
        return "translated"
    if made.findings:
        return "reported"
    if name in same:
        return "HIP's own name"
    row = header_rows().get(header)
    return "reported at its #include" if row is not None and not row.hip else "silent"


def compiled(names: set[str]) -> set[str]:
    """Those of the names that HIP's headers give a .hip file, whatever the reader of headers makes of their macros."""
    order = sorted(names)
    return {name for first in range(0, len(order), AT_ONCE) for name in _declared(order[first : first + AT_ONCE])}


def _declared(names: list[str]) -> set[str]:
    missing: set[str] = set()
    with tempfile.TemporaryDirectory(prefix="kpt-names-") as folder:
        source = Path(folder) / "names.hip"
        includes = "".join(f"#include <{header}>\n" for header in PROBED)
        uses = (f"#ifndef {name}\nusing ::{name};\n#else\n\n#endif\n" for name in names)
        source.write_text(includes + "namespace probe {\n" + "".join(uses) + "}\n", encoding="utf-8")
        first = len(PROBED) + 2
        try:
            check_device(source, "gfx942", find_toolchain(), CompileOptions(extra=("-w", "-ferror-limit=0")))
        except CompileFailed as failure:
            for one in errors(failure.messages):
                if one.path == str(source) and one.line >= first:
                    missing.add(names[(one.line - first) // USE_LINES])
    return set(names) - missing


AT_ONCE = 50  # a compiler's messages are kept up to a length
PROBED = (
    "hip/hip_runtime.h",
    "hip/hip_fp16.h",
    "hip/hip_bf16.h",
    "hip/hip_cooperative_groups.h",
    "hip/library_types.h",
)
USE_LINES = 5


if __name__ == "__main__":
    sys.exit(main())
