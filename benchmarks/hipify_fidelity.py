#!/usr/bin/env python3
"""Checks on real trees that a translation changes what it means to change, and nothing else.

    python benchmarks/hipify_fidelity.py PATH [PATH ...] [--json out.json]

For every C, C++ and CUDA file below the paths (copy layout, everything switched on):
  names    with the rules off: token by token, by a scanner of this script's own, every difference is a rename of the
           table, a mapped #include, an argument put into HIP_SYMBOL() or a cast, or a line put on top
  literals with the rules on: every comment and string outside the spans that rules replaced is still there, in order
  again    the result of a translation translates to itself
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

from kernel_pytorch.port.cxx.includes import search_folders
from kernel_pytorch.port.cxx.source import CxxFile, cxx_file
from kernel_pytorch.port.cxx.unit import Unit
from kernel_pytorch.port.hipify.file import HipifiedFile, HipifyOptions, hipify_file
from kernel_pytorch.port.hipify.tree import Task, find_sources, is_local_to, tasks_of
from kernel_pytorch.port.names.table import find_name, header_rows

# Written for this check alone: it shares nothing with the translator's lexer.
SCANNER = re.compile(
    rb'(?P<raw>(?:u8|[uUL])?R"(?P<d>[^()\\\s"]{0,16})\([\s\S]*?(?:\)(?P=d)"|\Z))'
    rb"|(?P<comment>//(?:[^\n\\]|\\\r?\n|\\)*|/\*(?:[^*]|\*(?!/))*(?:\*/|\Z))"
    rb'|(?P<string>(?:u8|[uUL])?"(?:[^"\\\n]|\\\r\n|\\[\s\S])*"?)'
    rb"|(?P<number>\.?\d(?:[eEpP][+-]|[\w.]|'\w)*)"
    rb"|(?P<char>(?:u8|[uUL])?'(?:[^'\\\n]|\\\r\n|\\[\s\S])*'?)"
    rb"|(?P<include>(?<=include)[ \t]*<[^>\n]*>)"
    rb"|(?P<word>[A-Za-z_$\x80-\xff][\w$\x80-\xff]*)|(?P<other>\S)"
)
PUT_AROUND = (b"HIP_SYMBOL", b"reinterpret_cast", b"const", b"void", b"*", b"<", b">", b"(", b")")


def scan(data: bytes) -> list[tuple[str, bytes]]:
    return [
        (match.lastgroup or "", match.group().strip()) for match in SCANNER.finditer(data) if match.lastgroup != "d"
    ]


def names_problem(before: bytes, after: bytes) -> str:
    """The first difference that no rename explains, or nothing."""
    old, new = scan(before), scan(after)
    i = j = 0
    while i < len(old) or j < len(new):
        a = old[i] if i < len(old) else ("", b"")
        b = new[j] if j < len(new) else ("", b"")
        if b[1] == b"#" and not same_line(old[i : i + 3], new[j : j + 3]) and (skipped := inserted(new, j, a)) > 1:
            j += skipped
            continue
        if a == b or is_rename(a, b):
            i, j = i + 1, j + 1
            continue
        skipped = inserted(new, j, a) if j < len(new) else 0
        if skipped == 0:
            return f"{a[1][:60]!r} became {b[1][:60]!r}"
        j += skipped
    return ""


def same_line(old: list[tuple[str, bytes]], new: list[tuple[str, bytes]]) -> bool:
    """The first three tokens of a directive agree, renames allowed: no line was put in between."""
    return len(old) == len(new) and all(a == b or is_rename(a, b) for a, b in zip(old, new, strict=True))


def is_rename(a: tuple[str, bytes], b: tuple[str, bytes]) -> bool:
    if a[0] == b[0] == "word":
        name = find_name(a[1])
        return name is not None and name.hip.encode() == b[1]
    if a[0] == b[0] and a[0] in ("include", "string"):
        old, new = a[1].strip(b'<>" \t').decode("latin-1"), b[1].strip(b'<>" \t').decode("latin-1")
        row = header_rows().get(old)
        return (
            (row is not None and row.hip == new)
            or (old.startswith("cub/") and new == "hipcub/hipcub.hpp")
            or (old.startswith("thrust/system/cuda/") and new.startswith("thrust/system/hip/"))
            or (old.endswith(".cu") and new == old.removesuffix(".cu") + ".hip")
        )
    return False


def inserted(new: list[tuple[str, bytes]], j: int, wanted: tuple[str, bytes]) -> int:
    """How many tokens at `j` are an insertion of ours: a line on top, a guarded shim, a wrapper round an argument."""
    if new[j][1] == b"#":
        word = new[j + 1][1] if j + 1 < len(new) else b""
        if (
            word == b"include"
            and j + 2 < len(new)
            and new[j + 2][1] in (b"<hip/hip_runtime.h>", b"<string.h>", b"<time.h>", b"<math.h>")
        ):
            return 3
        if word == b"define" and new[j + 2][1] == b"HIPBLAS_USE_HIP_HALF":
            return 3
        if word == b"ifndef" and new[j + 2][1].startswith(b"KPT_SHIM_"):
            depth = 0
            for end in range(j, len(new) - 1):
                if new[end][1] == b"#":
                    depth += new[end + 1][1].startswith(b"if")
                    depth -= new[end + 1][1] == b"endif"
                    if depth == 0:
                        return end + 2 - j
    return 1 if new[j][1] in PUT_AROUND and new[j] != wanted else 0


def literals_problem(result: HipifiedFile) -> str:
    """Comments and strings outside replaced spans must all be in the result, in order."""
    spans = sorted((edit.span.start, edit.span.end) for found in result.findings for edit in found.edits)
    kept = []
    for match in SCANNER.finditer(result.before):
        if match.lastgroup in ("comment", "string", "raw") and not any(
            s < match.end() and match.start() < e for s, e in spans
        ):
            kept.append((match.lastgroup, match.group()))
    wanted = iter(item for item in scan_exact(result.after) if item[0] in ("comment", "string", "raw"))
    for kind, text in kept:
        for other in wanted:
            if other == (kind, text) or (kind == "string" and is_rename(("string", text), other)):
                break
        else:
            return f"{kind} {text[:60]!r} is gone"
    return ""


def scan_exact(data: bytes) -> list[tuple[str, bytes]]:
    return [(match.lastgroup or "", match.group()) for match in SCANNER.finditer(data)]


def check(task: Task) -> list[tuple[str, int, bool, str, str, str, str]]:
    unit = Unit(tuple(cxx_file(name, (task.root / name).read_bytes()) for name in task.members))
    folders = search_folders(task.root.resolve())
    rows = []
    # Twins of the whole unit, so that the second translation sees what a second run would see.
    first = {
        src.path: hipify_file(src, unit, None, partial(is_local_to, task.root / src.path, folders))
        for src in unit.files
    }
    twins = {path: twin(path, done.after) for path, done in first.items()}
    again = Unit(tuple(twins.values()))
    names_only = HipifyOptions(rules=())
    for src in unit.files:
        if src.path not in task.chosen:
            continue
        result = first[src.path]
        is_local = partial(is_local_to, task.root / src.path, folders)
        plain = hipify_file(src, unit, names_only, is_local)
        problem = "" if b"\0" in src.data else names_problem(src.data, plain.after)
        literal = "" if b"\0" in src.data else literals_problem(result)
        faults = [found.message for found in result.findings if found.code == "KP002"]
        second = hipify_file(twins[src.path], again, None, is_local)
        changed = "" if second.after == result.after else "a second translation changes it"
        rows.append(
            (f"{task.root}/{src.path}", len(src.data), result.changed, problem, literal, changed, "; ".join(faults))
        )
    return rows


def twin(path: str, data: bytes) -> CxxFile:
    return cxx_file(path.removesuffix(".cu") + ".hip" if path.endswith(".cu") else path, data)


def main() -> int:
    """Runs the checks and prints the counts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paths", nargs="+", type=Path)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--limit", type=int, default=None, help="stop after so many files")
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    tasks = [task for path in args.paths for task in tasks_of(path, find_sources(path)[0])]
    if args.limit:
        tasks = tasks[:: max(1, sum(len(task.chosen) for task in tasks) // args.limit)]
    started = time.monotonic()
    counts: Counter[str] = Counter()
    rows = []
    with ProcessPoolExecutor(args.jobs) as pool:
        for done in pool.map(check, tasks, chunksize=4):
            for row in done:
                rows.append(row)
                counts["files"] += 1
                counts["bytes"] += row[1]
                counts["changed"] += row[2]
                for label, problem in zip(("names", "literals", "again", "faults"), row[3:], strict=True):
                    counts[label] += bool(problem)
                    if problem:
                        print(f"{label}: {row[0]}: {problem}", file=sys.stderr)
    print(
        f"{counts['files']} files, {counts['bytes']} bytes, {counts['changed']} changed, "
        f"{time.monotonic() - started:.0f} s: {counts['names']} with a token changed that is no rename, "
        f"{counts['literals']} with a comment or string lost, "
        f"{counts['again']} not stable, {counts['faults']} not analysed in full"
    )
    if args.json:
        args.json.write_text(json.dumps(rows, indent=0) + "\n")
    return 1 if counts["names"] or counts["literals"] or counts["again"] else 0


if __name__ == "__main__":
    sys.exit(main())
