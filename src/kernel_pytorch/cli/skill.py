"""Write skills for coding agents: a SKILL.md and the references it names, which an agent reads when it gets there.

    kpt skill                          both skills into .claude/skills
    kpt skill port --out skills        the porting skill into skills/amd-rocm-porting
    kpt skill --print port             its SKILL.md on standard output; writes nothing

The skills drive `kpt` instead of searching by text. Lists of verbs, codes and hardware come from this version of the
package: write them again after an update (`--force` replaces files that differ).
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

SUMMARY = "write skills for coding agents that drive kpt: port, optimize"
NAMES = ("port", "optimize", "all")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `kpt skill`."""
    parser.add_argument("name", nargs="?", choices=NAMES, default="all", help="which skill (default: all)")
    parser.add_argument(
        "--out", type=Path, default=Path(".claude/skills"), metavar="DIR", help="where to (default: .claude/skills)"
    )
    parser.add_argument("--print", action="store_true", help="print SKILL.md instead of writing files")
    parser.add_argument("--force", action="store_true", help="replace files that are there and differ")
    parser.add_argument("--json", action="store_true", help="the paths that were written, as JSON")


def run(args: argparse.Namespace) -> int:
    """Write or print the skills."""
    from kernel_pytorch.cli.main import verb_summaries
    from kernel_pytorch.report.skill import SKILLS, render, write

    chosen = list(SKILLS) if args.name == "all" else [args.name]
    files = {path: text for skill in chosen for path, text in render(skill, verb_summaries()).items()}
    if args.print:
        for path, text in files.items():
            if path.endswith("SKILL.md"):
                sys.stdout.write(text)
        return 0
    written = write(files, args.out, force=args.force)
    if args.json:
        print(json.dumps({"schema": 1, "written": [str(path) for path in written]}, indent=2))
    else:
        print("\n".join(map(str, written)))
    return 0
