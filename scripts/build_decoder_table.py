#!/usr/bin/env python3
"""Make toolchain/machine_code/data/opcodes.csv by asking LLVM's disassembler about every opcode of every format.

    python scripts/build_decoder_table.py LLVM_MC [--target gfx942,gfx1100] [--check 40] [--show 20]

The layout of the formats is ours (toolchain/machine_code/formats.py). For each opcode the fields get register numbers
that no other field has, so that the text shows which operand comes from which field and how many registers it has;
then one field at a time is changed to find modifiers, constants and halves (decoder_opcode.py). What was learned is
checked: `--check` N random encodings of each opcode must give LLVM's text (decoder_check.py). Opcodes that differ are
counted and, with `--show`, printed.
Made with LLVM 22 (Apache-2.0 with LLVM exceptions); the table holds facts about encodings, no code of LLVM's.
"""

from __future__ import annotations

import argparse
import csv
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))

from decoder_check import Different, check
from decoder_target import Rows, learn_target

from kernel_pytorch.toolchain.machine_code.table import DATA, Row, decodable_targets

#: Rows that stay although texts differ: bits of messages that hardware has no use for; LLVM writes `|v1, vcc_lo|` for
#: the absolute value of a v_cndmask's second source; modifiers of buffer_store_lds_dword are in another order.
EXPLAINED = re.compile("s_sendmsg|v_cndmask_b32_dpp|buffer_store_lds_dword")

#: Format, opcode and row, with the targets that have it.
Merged = dict[tuple[str, int, Row], list[str]]


def show(rows: Rows, problems: Sequence[str], different: Different, limit: int) -> None:
    """Print what was not learned and, of each format, some rows whose texts differ."""
    for problem in problems[:limit]:
        print("  not learned:", problem)
    by_form = Counter(key[0] for key in different)
    if by_form:
        print("  rows that differ:", dict(by_form))
    shown = Counter[str]()
    for key, examples in different.items():
        if shown[key[0]] < limit:
            shown[key[0]] += 1
            code, theirs, ours = examples[0]
            print(f"  {key[0]} {key[1]} [{code}] x{len(examples)}")
            print(f"    llvm {theirs}\n    ours {ours}\n    {rows.get(key, '')}")


def read_others(path: Path, wanted: Sequence[str], merged: Merged) -> None:
    """Add the rows that the table has of targets which are not made anew."""
    if not path.is_file():
        return
    with path.open(encoding="utf-8", newline="") as stream:
        for targets, form, opcode, mnemonic, operands, modifiers in csv.reader(stream):
            row = Row(mnemonic, tuple(operands.split("|")) if operands else (), tuple(modifiers.split()))
            merged[form, int(opcode), row] += [one for one in targets.split() if one not in wanted]


def write(path: Path, merged: Merged) -> None:
    """Write the table, in the order of formats, opcodes and targets, so that a change of one target is a small one."""
    lines = []
    for (form, opcode, row), targets in merged.items():
        if targets:
            ordered = sorted((len(one), one) for one in targets)
            cells = (row.mnemonic, "|".join(row.operands), " ".join(row.modifiers))
            lines.append((form, opcode, ordered, cells))
    with path.open("w", encoding="utf-8", newline="") as stream:
        out = csv.writer(stream, lineterminator="\n")
        for form, opcode, ordered, cells in sorted(lines):
            out.writerow([" ".join(one for _, one in ordered), form, opcode, *cells])


def main() -> int:
    """Learn, check, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("llvm_mc", type=Path)
    parser.add_argument("--target", default=",".join(decodable_targets()))
    parser.add_argument("--check", type=int, default=40)
    parser.add_argument("--show", type=int, default=0, help="print this many differences of each target")
    parser.add_argument("--out", type=Path, default=DATA, help="rows that it has of other targets stay")
    args = parser.parse_args()
    merged: Merged = defaultdict(list)
    status = 0
    wanted = args.target.split(",")
    for target in wanted:
        rows, problems = learn_target(args.llvm_mc, target)
        compared, different = check(args.llvm_mc, target, rows, args.check)
        count = sum(len(one) for one in different.values())
        print(f"{target}: {len(rows)} rows, {compared} encodings compared, {count} differ in {len(different)} rows, "
              f"{len(problems)} not learned", flush=True)  # fmt: skip
        show(rows, problems, different, args.show)
        status |= bool(different or problems)
        for (form, opcode), row in rows.items():
            # What is not understood exactly is refused, never guessed.
            if (form, opcode) in different and not EXPLAINED.match(row.mnemonic):
                continue
            merged[form, opcode, row].append(target)
    read_others(args.out, wanted, merged)
    write(args.out, merged)
    return status


if __name__ == "__main__":
    sys.exit(main())
