#!/usr/bin/env python3
"""Debian's test packages of AMD's libraries and of ggml, unmodified, on an emulated GPU: cases run, passed, skipped.

The packages are unpacked, not installed (libc6, libstdc++6 and libgcc-s1 too: the programs want the C library they were
built with), from sid and experimental:

    apt-get download librocrand1 librocrand1-tests libhipcub-tests librocprim-tests librocthrust-tests \\
        libggml0 libggml0-backend-hip libc6 libstdc++6 libgcc-s1
    for one in *.deb; do dpkg -x $one FOLDER; done
    python benchmarks/debian_tests.py FOLDER --gpu mi300x,rx7900xtx --match rocrand --json out.json [--minutes 30]

Of a program's cases one in EVERY is taken (Google Test's own shards: GTEST_TOTAL_SHARDS), so that the sample is spread
over it. A program is given `--limit` seconds, and `--cpu` seconds of CPU time, the translation of its kernels included.
Cases that it did not reach in them are counted as not run, and the one under way as not ended; neither is ever counted
as passed. rocRAND is the vendor's own library with its kernels emulated (`--libraries real:`), hipCUB, rocPRIM and
rocThrust are kernels inside the programs; ggml takes hipBLAS from our stand-in. The outcome file is added to as it
goes: programs that are in it are not run again, unless `--again` names them.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from dataclasses import dataclass
from pathlib import Path

LIBRARIES = "usr/lib/x86_64-linux-gnu"
BACKENDS = f"{LIBRARIES}/ggml/backends0"
# Debian's ggml has no code for gfx942: gfx90a takes its place.
WITHOUT_CODE = {("ggml", "mi300x"): "mi250x"}
GTEST = re.compile(r"^\[ *(RUN|OK|FAILED|SKIPPED) *\] ([^\s,]+)")
# `ADD(type=f32,...): OK`, with colours that are left out before.
GGML = re.compile(r"^\s*([A-Z0-9_]+\(.*\)):\s.*?(OK|FAIL|not supported[^\n]*)\s*$")
# rocThrust's programs have Thrust's own frame, which prints counts alone and has no shards.
TOTALS = re.compile(r"^Totals: (\d+) failures, (\d+) known failures, (\d+) errors, and (\d+) passes", re.M)
# ... and a mark for each case that ended.
MARKS = re.compile(r"^Running \d+ unit tests\.\n([.FEK]*)", re.M)
COLOUR = re.compile(r"\x1b\[[0-9;]*m")


@dataclass(frozen=True)
class Program:
    """A test program: its suite, its file below the folder, which cases, and one in how many of them."""

    suite: str
    path: str
    chosen: str = "*"
    every: int = 1

    @property
    def name(self) -> str:
        return Path(self.path).name + ("" if self.chosen == "*" else f" {self.chosen}")


def _rocm(suite: str, package: str, prefix: str, names: dict[str, int]) -> list[Program]:
    return [Program(suite, f"usr/libexec/rocm/{package}/{prefix}{name}", every=n) for name, n in names.items()]


PROGRAMS = (
    *_rocm("rocRAND", "librocrand1-tests", "test_", {
        "rocrand_basic": 1, "cpp_utils": 1, "rocrand_linkage": 1, "rocrand_generator_type": 4,
        "rocrand_config_dispatch": 1, "uniform_distribution": 2, "normal_distribution": 2,
        "log_normal_distribution": 2, "rocrand_discrete": 8, "rocrand_generate": 16,
        "rocrand_generate_uniform": 16, "rocrand_cpp_basic": 4, "rocrand_hipgraphs": 4,
        "rocrand_kernel_philox4x32_10": 4, "rocrand_kernel_xorwow": 8, "rocrand_kernel_sobol32": 8,
        "rocrand_kernel_threefry2x32_20": 4, "rocrand_host": 16,
    }),
    *_rocm("hipCUB", "libhipcub-tests", "test_hipcub_", {
        "util_ptx": 2, "utility": 1, "grid": 1, "thread": 4, "thread_operators": 1, "iterators": 4, "vector": 1,
        "warp_reduce": 16, "warp_scan": 16, "block_reduce": 32, "block_scan": 32, "block_discontinuity": 32,
        "block_exchange": 32, "block_shuffle": 16, "warp_exchange": 16, "device_reduce": 16, "device_select": 16,
        "device_adjacent_difference": 16,
    }),
    *_rocm("rocPRIM", "librocprim-tests", "test_", {
        "config_dispatch": 1, "intrinsics": 8, "thread": 8, "thread_algos": 8, "warp_reduce": 32, "warp_scan": 32,
        "block_reduce": 32, "block_scan": 64, "zip_iterator": 2, "counting_iterator": 2, "constant_iterator": 2,
        "transform_iterator": 2, "reverse_iterator": 2, "discard_iterator": 2, "arg_index_iterator": 2,
        "predicate_iterator": 2, "texture_cache_iterator": 2, "tuple": 1, "bit_cast": 1, "linkage": 1,
        "utils": 4, "device_reduce": 16, "device_transform": 16,
    }),
    *_rocm("rocThrust", "librocthrust-tests", "test_thrust_", {
        "address_stability": 1, "advance": 1, "alignment": 1, "allocator_aware_policies": 1, "async_for_each": 1,
        "async_copy": 1, "adjacent_difference": 1, "functional": 1, "pair": 1, "tuple": 1, "fill": 1, "sequence": 1,
        "gather": 1, "scatter": 1, "reduce": 1,
        "scan": 1, "count": 1, "copy": 1, "transform": 1, "generate": 1, "tabulate": 1, "equal": 1, "swap_ranges": 1,
        "inner_product": 1, "vector": 1, "unique": 1, "partition": 1, "sort": 1,
    }),
    *(Program("ggml", "usr/libexec/x86_64-linux-gnu/ggml/test-backend-ops", chosen) for chosen in (
        "ADD -p ^type=f32,ne=.10,5,4,[13].", "SCALE", "SUM_ROWS", "NORM", "RMS_NORM", "SOFT_MAX -p ne=.16,2,32",
        "ARGMAX", "CUMSUM", "GET_ROWS -p type=(f32|q4_0|q8_0)", "GELU -p type=f32", "SILU", "CONCAT",
        "ROPE -p type=f32,ne_a=.128,32", "CPY -p type_src=f32.*ne=.256,2", "ARGSORT -p ne=.16,10", "POOL_2D -p .*k0=1",
        "MUL_MAT -p type_a=(f32|q4_0|q8_0|q4_K),type_b=f32,m=16,n=[18],k=256,bs=.1,1",
    )),
)  # fmt: skip


def command_of(
    one: Program, folder: Path, gpu: str, real: Path, options: list[str]
) -> tuple[list[str], Path, dict[str, str]]:
    """The words that run a program with Debian's own loader on the emulated GPU, where, and with which variables."""
    loader = folder / "usr/lib64/ld-linux-x86-64.so.2"
    libraries = f'exec {loader} --library-path "$LD_LIBRARY_PATH:{folder / LIBRARIES}" "$@"'
    emulate = [sys.executable, "-m", "kernel_pytorch", "emulate", "--gpu", gpu, *options, "--libraries"]
    program = str(folder / one.path)
    shell = ["sh", "-c", libraries, "sh", program]
    if one.suite == "ggml":
        # It looks for its backends in the current folder; -o takes the operator, -p a pattern of parameters.
        operator, _, pattern = one.chosen.partition(" -p ")
        words = ["test", "-b", "ROCm0", "-o", operator, *(["-p", pattern] if pattern else [])]
        return [*emulate[:-1], "--", *shell, *words], folder / BACKENDS, {}
    shards = {"GTEST_TOTAL_SHARDS": str(one.every), "GTEST_SHARD_INDEX": "0"} if one.every > 1 else {}
    words = [] if one.suite == "rocThrust" else [f"--gtest_filter={one.chosen}"]
    return [*emulate, f"real:{real}", "--", *shell, *words], real, shards


def real_libraries(folder: Path, into: Path) -> Path:
    """A folder with the vendor's rocRAND alone: beside Debian's C library no program of this machine would start."""
    for file in (folder / LIBRARIES).glob("librocrand.so*"):
        (into / file.name).symlink_to(file)
    return into


def outcomes(one: Program, text: str) -> dict[str, str]:
    """What became of each case, from what the program printed: passed, failed, skipped, or not ended."""
    found: dict[str, str] = {}
    if one.suite == "rocThrust" and (totals := TOTALS.search(text)):
        words = ("failed", "skipped", "failed", "passed")
        kinds = [word for word, count in zip(words, totals.groups(), strict=True) for _ in range(int(count))]
        return {f"case {number}": kind for number, kind in enumerate(kinds, 1)}
    if one.suite == "rocThrust" and (marks := MARKS.search(text)):
        kinds = [{".": "passed", "K": "skipped"}.get(mark, "failed") for mark in marks[1]]
        return {f"case {number}": kind for number, kind in enumerate([*kinds, "not ended"], 1)}
    for line in COLOUR.sub("", text).splitlines():
        if one.suite == "ggml":
            if match := GGML.match(line):
                found[match[1]] = {"OK": "passed", "FAIL": "failed"}.get(match[2], "skipped")
        elif match := GTEST.match(line):
            word = {"RUN": "not ended", "OK": "passed", "FAILED": "failed", "SKIPPED": "skipped"}[match[1]]
            if word != "not ended" or match[2] not in found:
                found[match[2]] = word
    return found


def cpu_seconds(root: int) -> float:
    """CPU time of a process and all below it, and of those that they waited for."""
    parents, ticks = {}, {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text(errors="replace").rpartition(")")[2].split()
        except OSError:
            continue  # it ended meanwhile
        parents[int(stat.parent.name)] = int(fields[1])
        ticks[int(stat.parent.name)] = sum(map(int, fields[11:15]))
    below = {root}
    for _ in range(8):
        below |= {one for one, parent in parents.items() if parent in below}
    return sum(ticks.get(one, 0) for one in below) / os.sysconf("SC_CLK_TCK")


def wait(child: subprocess.Popen[bytes], limit: float, cpu: float) -> int | None:
    """The exit status, or None where a limit ended it."""
    until = time.monotonic() + limit
    while time.monotonic() < until and cpu_seconds(child.pid) < cpu:
        try:
            return child.wait(timeout=1)
        except subprocess.TimeoutExpired:
            continue
    child.terminate()
    child.wait()
    return None


def run(one: Program, folder: Path, gpu: str, limit: float, cpu: float, options: list[str]) -> dict[str, object]:
    """Runs one program until it ends or its time is over."""
    with tempfile.TemporaryDirectory() as name, tempfile.TemporaryFile("w+", errors="replace") as log:
        words, place, variables = command_of(one, folder, gpu, real_libraries(folder, Path(name)), options)
        environment = {**os.environ, **variables}
        child = subprocess.Popen(words, cwd=place, env=environment, stdout=log, stderr=log)
        status = wait(child, limit, cpu)
        log.seek(0)
        text = log.read()
    found = outcomes(one, text)
    wanted = re.search(r"^(?:\[=+\] )?Running (\d+) (?:unit )?tests?", text, re.M)
    not_run = max(0, int(wanted[1]) - len(found)) if wanted else 0
    bad = [case for case, outcome in found.items() if outcome in ("failed", "not ended")]
    about = "" if status == 0 and not bad else text[-4000:]
    return {"status": status, "cases": found, "not run": not_run, "about": about}


def table(known: dict[str, dict[str, dict[str, object]]]) -> int:
    """Prints the counts by suite and GPU, then what is not well; 1 if a case failed."""
    print("| suite | GPU | programs | cases run | passed | failed | skipped | not ended | not run |")
    print("|---|---|---|---|---|---|---|---|---|")
    any_failed = 0
    for gpu, programs in known.items():
        counts: dict[str, Counter[str]] = defaultdict(Counter)
        for one in programs.values():
            count = counts[str(one["suite"])]
            count["programs"] += 1
            count["not run"] += int(str(one["not run"]))
            cases = one["cases"]
            assert isinstance(cases, dict)
            count.update(cases.values())
        for suite, count in counts.items():
            columns = [count[key] for key in ("passed", "failed", "skipped", "not ended")]
            cells = [suite, gpu, count["programs"], sum(columns), *columns, count["not run"]]
            print("| " + " | ".join(map(str, cells)) + " |")
            any_failed += count["failed"]
    for gpu, programs in known.items():
        for name, one in programs.items():
            cases = one["cases"]
            assert isinstance(cases, dict)
            bad = [f"{outcome} {case}" for case, outcome in cases.items() if outcome in ("failed", "not ended")]
            if bad or (one["status"] not in (0, None) and not cases):
                print(f"\n{gpu}: {name}: exit {one['status']}\n  " + "\n  ".join(bad[:12]), file=sys.stderr)
    return 1 if any_failed else 0


def main() -> int:
    """Runs what is not in the outcome file, prints the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="where the packages were unpacked")
    parser.add_argument("--gpu", default="mi300x,rx7900xtx")
    parser.add_argument("--match", default="", help="only suites and programs that match this regular expression")
    parser.add_argument("--again", help="run programs that match this once more, and no others")
    parser.add_argument("--limit", type=float, default=600, help="seconds for each program")
    parser.add_argument("--cpu", type=float, default=float("inf"), help="CPU seconds for each program")
    parser.add_argument("--minutes", type=float, default=60, help="no program is begun after this time")
    parser.add_argument("--quick", action="store_true", help="kernels without optimisation: most run for a moment")
    parser.add_argument("--json", type=Path, required=True)
    args = parser.parse_args()
    folder = args.folder.resolve()
    until = time.time() + 60 * args.minutes
    known = json.loads(args.json.read_text()) if args.json.is_file() else {}
    for one in PROGRAMS:
        for gpu in (WITHOUT_CODE.get((one.suite, gpu), gpu) for gpu in args.gpu.split(",")):
            key = f"{one.suite}: {one.name}"
            done = known.setdefault(gpu, {})
            is_chosen = re.search(args.again, key, re.I) if args.again else key not in done
            if not is_chosen or not re.search(args.match, key, re.I) or time.time() > until:
                continue
            if not (folder / one.path).is_file():
                continue
            done[key] = {"suite": one.suite, **run(one, folder, gpu, args.limit, args.cpu, ["--quick"] * args.quick)}
            args.json.write_text(json.dumps(known, indent=1))
            print(gpu, key, dict(Counter(done[key]["cases"].values())), file=sys.stderr, flush=True)
    return table(known)


if __name__ == "__main__":
    sys.exit(main())
