"""Rewrites mnemonics.txt: `python -m emulate.conformance.list_mnemonics LLVM_MC`, from the tests directory."""

from __future__ import annotations

import re
import subprocess
import sys
import textwrap
from collections import defaultdict
from pathlib import Path

from kernel_pytorch.emulate.isa.table import rows

from .mnemonics import WAVE32, WAVE64


def supported(assembler: str, target: str, names: list[str]) -> set[str]:
    """A line with nothing but the mnemonic fails either for its operands or because the target lacks it."""
    command = [assembler, "-triple=amdgcn-amd-amdhsa", f"-mcpu={target}", "-"]
    done = subprocess.run(command, input="\n".join(names) + "\n", capture_output=True, text=True, check=False)
    refused = {
        int(match[1])
        for match in re.finditer(r"<stdin>:(\d+):\d+: error: (.*)", done.stderr)
        if "invalid instruction" in match[2] or "not supported on this GPU" in match[2]
    }
    return {name for number, name in enumerate(names, 1) if number not in refused}


def main(assembler: str) -> None:
    names = sorted(name for name, found in rows().items() if found[0].kind != "control" or "movrel" in name)
    having = {target: supported(assembler, target, names) for target in sorted((*WAVE64, *WAVE32))}
    groups = defaultdict(list)
    for name in names:
        groups[" ".join(target for target, found in having.items() if name in found)].append(name)
    lines = ["# Which of the table's mnemonics the assembler (LLVM 22) takes for which target; see list_mnemonics.py."]
    for targets in sorted(groups):
        lines += [f"[{targets or 'none'}]", *textwrap.wrap(" ".join(groups[targets]), 118)]
    (Path(__file__).parent / "mnemonics.txt").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
