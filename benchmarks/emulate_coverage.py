#!/usr/bin/env python3
"""Which instructions of an AMD target the emulator's table lacks, out of all that LLVM's assembler knows.

    python benchmarks/emulate_coverage.py LLVM_MC LIBLLVM_SO [--target gfx942,gfx1100] [--list]

Mnemonics are read from the assembler's own table inside libLLVM (length-prefixed names); the assembler then says which
of them a target has: a line with nothing but the mnemonic fails for its operands, or because the target lacks it.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "src"))

from kernel_pytorch.emulate.isa.table import find  # noqa: E402

TARGETS = ("gfx90a", "gfx942", "gfx950", "gfx1030", "gfx1100", "gfx1201")
PREFIXES = (
    "s_",
    "v_",
    "ds_",
    "global_",
    "flat_",
    "scratch_",
    "buffer_",
    "tbuffer_",
    "image_",
    "exp",
    "lds_",
    "export",
    "tensor_",
    "cluster_",
)
ENCODING = re.compile(r"_(e32|e64|dpp|sdwa|e64_dpp|dpp8|e64_dpp8)$")
# What a class is for, in the order it is looked for.
CLASSES = (
    ("graphics: images, exports, parameters", r"image_|exp$|export|v_interp|lds_|ds_(param|direct)|s_.*attr"),
    ("graphics: typed buffers and formats", r"tbuffer_|buffer_(load|store)_(format|d16_format|d16_hi_format|lds_f)"),
    ("geometry and ray tracing: ordered counts, tree traversal", r"ds_(ordered|gws|sub_gs|add_gs|bvh)|bvh"),
    (
        "traps, debugging, performance counters",
        r"s_(rfe|trap|sethalt|cbranch_cdbg|set_gpr_idx|ttrace|dump|icache|dcache|incperf|decperf|setkill|sleep|sendmsg|"
        r"version|code_end|priv|alloc|monitor|prefetch|bar)",
    ),
    ("matrix (second spellings, and a prefix)", r"v_.*(mfma|wmma|smfmac|swmmac|accvgpr)"),
    ("memory: scalar", r"s_(load|store|buffer|scratch|atomic|atc|gl1|memtime|memrealtime)"),
    ("memory: vector", r"global_|flat_|scratch_|buffer_|tensor_|cluster_"),
    ("memory: LDS", r"ds_"),
    ("scalar", r"s_"),
    ("vector", r"v_"),
)


def mnemonics(library: Path) -> list[str]:
    """Every name in the assembler's tables that looks like one of an AMD instruction."""
    data = library.read_bytes()
    found = set()
    for match in re.finditer(
        rb"(?<=[\x03-\x3c])(?:s|v|ds|global|flat|scratch|buffer|tbuffer|image|exp|lds|tensor|cluster)[a-z0-9_]*", data
    ):
        text = match.group()
        length = data[match.start() - 1]
        # The next name's length byte may be a digit and look like part of this one.
        if len(text) >= length and (len(text) == length or data[match.start() + length] < 0x3D):
            name = text[:length].decode()
            if name.startswith(PREFIXES):
                found.add(ENCODING.sub("", name))
    return sorted(found)


def known_by(assembler: Path, target: str, names: list[str]) -> set[str]:
    command = [str(assembler), "-triple=amdgcn-amd-amdhsa", f"-mcpu={target}", "-"]
    done = subprocess.run(command, input="\n".join(names) + "\n", capture_output=True, text=True, check=False)
    refused = {
        int(match[1])
        for match in re.finditer(r"<stdin>:(\d+):\d+: error: (.*)", done.stderr)
        if re.search("invalid instruction|not supported on this GPU|unrecognized instruction|not a valid", match[2])
    }
    return {name for number, name in enumerate(names, 1) if number not in refused}


def is_in_table(name: str, target: str) -> bool:
    # Both halves of a v_dual pair are looked up by themselves.
    plain = f"v_{name.removeprefix('v_dual_')}" if name.startswith("v_dual_") else name
    return find(plain, target) is not None


def class_of(name: str) -> str:
    return next((title for title, pattern in CLASSES if re.match(pattern, name)), "other")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("assembler", type=Path)
    parser.add_argument("library", type=Path)
    parser.add_argument("--target", default=",".join(TARGETS))
    parser.add_argument("--list", action="store_true", help="name what is missing")
    arguments = parser.parse_args()
    names = mnemonics(arguments.library)
    targets = arguments.target.split(",")
    having = {target: known_by(arguments.assembler, target, names) for target in targets}
    missing = {target: sorted(n for n in found if not is_in_table(n, target)) for target, found in having.items()}
    print(f"{len(names)} mnemonics in {arguments.library.name}\n")
    print(f"| | {' | '.join(targets)} |\n|---|{'---|' * len(targets)}")
    print(f"| known to the assembler | {' | '.join(str(len(having[target])) for target in targets)} |")
    print(f"| in the table | {' | '.join(str(len(having[t]) - len(missing[t])) for t in targets)} |")
    counts = {target: Counter(class_of(name) for name in found) for target, found in missing.items()}
    for title in [*(title for title, _ in CLASSES), "other"]:
        if any(count[title] for count in counts.values()):
            print(f"| missing: {title} | {' | '.join(str(counts[target][title]) for target in targets)} |")
    if arguments.list:
        every = sorted({name for found in missing.values() for name in found})
        for title in [*(title for title, _ in CLASSES), "other"]:
            print(f"\n## {title}")
            for name in every:
                if class_of(name) == title:
                    print(f"{name}: {' '.join(target for target in targets if name in missing[target])}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
