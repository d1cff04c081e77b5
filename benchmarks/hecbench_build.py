#!/usr/bin/env python3
"""How many of HeCBench's HIP programs build: device code for one target, and a check of the host side.

    git clone https://github.com/zjin-lcf/HeCBench && python benchmarks/hecbench_build.py HeCBench --match a-m

Flags and sources come from each program's own Makefile (`make -n`). A program passes when the device pass of every HIP
source gives a linked code object and the host pass checks. Nothing of HeCBench is kept here.
"""

from __future__ import annotations

import argparse
import collections
import json
import os
import re
import shlex
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path

from kernel_pytorch.toolchain.compile import CompileFailed, CompileOptions, check_host, compile_device
from kernel_pytorch.toolchain.diagnostics import errors
from kernel_pytorch.toolchain.find import HEADERS, KINDS, Toolchain, find_toolchain
from kernel_pytorch.toolchain.other_passes import link_device

HIP_SOURCES = (".cu", ".hip", ".cpp", ".cc", ".cxx")
VENDOR = re.compile(
    r"#\s*include\s*[<\"]((?:hipblas|hipblaslt|hipcub|cub|hipfft|hiprand|hipsolver|hipsparse|rocblas|rocfft|rocprim|rocrand|"
    r"rocsolver|rocsparse|rocthrust|thrust|rocwmma|miopen|rccl|hiptensor|ck)(?:[/.][^>\"]*))[>\"]"
)
VENDOR_LINK = re.compile(r"-l(?:hipblas|hipblaslt|hipfft|hiprand|hipsolver|hipsparse|roc\w+|MIOpen|rccl)\b")


@dataclass(frozen=True)
class Unit:
    """One source of a program with the flags its Makefile gives it."""

    directory: Path
    source: Path
    flags: tuple[str, ...]


@dataclass(frozen=True)
class Outcome:
    """What became of one program."""

    program: str
    status: str  # "pass" or "fail"
    vendor: str  # the vendor library header it includes, or ""
    units: int
    stage: str  # "makefile", "device", "link", "host" or ""
    cause: str  # class of the first error
    first_error: str
    seconds: float


def main() -> int:
    """Builds every matching program and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("path", type=Path, help="a checkout of HeCBench")
    parser.add_argument("--toolchain", choices=KINDS)
    parser.add_argument("--headers", choices=HEADERS)
    parser.add_argument("--cxx", choices=("system", "zig"))
    parser.add_argument("--arch", default="gfx942")
    parser.add_argument("--match", default="a-z", help="first letters, such as a-m")
    parser.add_argument("--only", nargs="*", help="programs by name, without -hip")
    parser.add_argument("--every", type=int, default=1, help="take one program of so many")
    parser.add_argument("--include", type=Path, action="append", default=[], help="third-party headers (boost, MPI)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--json", type=Path, help="write all outcomes here")
    args = parser.parse_args()

    toolchain = find_toolchain(args.toolchain, headers=args.headers, cxx=args.cxx)
    print(f"toolchain: {toolchain.reason}", *toolchain.notes, sep="\n  ", file=sys.stderr)
    programs = select(args.path, args.match, args.only)[:: args.every]
    if not programs:
        parser.error(f"no *-hip folder below {args.path / 'src'} matches {args.match}")
    with ThreadPoolExecutor(args.jobs) as pool:
        outcomes = []
        for outcome in pool.map(lambda folder: build(folder, args.arch, toolchain, args.include), programs):
            outcomes.append(outcome)
            print(f"{len(outcomes):4}/{len(programs)} {outcome.status} {outcome.program}", file=sys.stderr)
    report(outcomes)
    if args.json:
        payload = {
            "toolchain": toolchain.reason,
            "version": toolchain.version,
            "headers": toolchain.headers,
            "arch": args.arch,
            "outcomes": [asdict(outcome) for outcome in outcomes],
        }
        args.json.write_text(json.dumps(payload, indent=1) + "\n")
    return 0


def select(checkout: Path, letters: str, only: list[str] | None) -> list[Path]:
    """The *-hip folders whose names start with one of the letters, or those named."""
    folders = sorted(path for path in (checkout / "src").glob("*-hip") if path.is_dir())
    if only:
        return [path for path in folders if path.name.removesuffix("-hip") in only]
    wanted = re.compile(f"[{letters}]", re.IGNORECASE)
    return [path for path in folders if wanted.match(path.name)]


def build(folder: Path, arch: str, toolchain: Toolchain, third_party: list[Path]) -> Outcome:
    """Both passes of every HIP source of one program."""
    started = time.monotonic()
    units, plan = dry_run(folder)
    vendor = vendor_header(folder, [unit.source for unit in units], plan)

    def outcome(status: str, stage: str = "", cause: str = "", first: str = "") -> Outcome:
        seconds = round(time.monotonic() - started, 2)
        return Outcome(folder.name, status, vendor, len(units), stage, cause, first, seconds)

    if not units:
        cause = "a torch extension (setup.py)" if "python" in plan else "no HIP source in the output of make -n"
        return outcome("fail", "makefile", cause)
    separate = any("-fgpu-rdc" in unit.flags for unit in units)
    objects: list[bytes] = []
    stage = "device"
    try:
        for unit in units:
            options = options_of(unit, third_party)
            stage = "device"
            built = compile_device(unit.source, arch, toolchain, options, "object" if separate else "code-object")
            objects.append(built)
            stage = "host"
            check_host(unit.source, toolchain, options, arch)
        stage = "link"
        if separate:
            link_device(objects, toolchain)
    except CompileFailed as failure:
        first = (errors(failure.messages) or failure.messages)[0]
        shown = str(first).replace(f"{folder.parent}/", "")
        return outcome("fail", stage, classify(first.text, first.code), shown)
    return outcome("pass")


def dry_run(folder: Path) -> tuple[list[Unit], str]:
    """The HIP compilations a program's Makefile would do, and everything `make -n` said."""
    command = ["make", "-n", "-B", "-k", "-w", "-C", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False, timeout=60)
    text = done.stdout.replace("\\\n", " ")
    directories = [folder]
    units: dict[Path, Unit] = {}
    for line in text.splitlines():
        entering = re.match(r"make(?:\[\d+\])?: Entering directory '(.+)'", line)
        if entering:
            directories.append(Path(entering.group(1)))
        elif re.match(r"make(?:\[\d+\])?: Leaving directory", line):
            directories.pop()
        elif re.search(r"\bhipcc\b", line):
            for unit in compilations(line, directories[-1]):
                units.setdefault(unit.source, unit)
    return list(units.values()), done.stdout + done.stderr


def compilations(line: str, directory: Path) -> list[Unit]:
    """The HIP sources on one hipcc command line."""
    try:
        words = shlex.split(line)
    except ValueError:
        return []
    if "hipcc" not in [Path(word).name for word in words]:
        return []
    start = next(index for index, word in enumerate(words) if Path(word).name == "hipcc")
    if start and words[start - 1] == "cd":
        return []
    flags: list[str] = []
    sources: list[Path] = []
    arguments = words[start + 1 :]
    # hipcc takes a .c file as HIP only when told to.
    suffixes = (*HIP_SOURCES, ".c") if "hip" in arguments[1:] and "-x" in arguments else HIP_SOURCES
    rest = iter(arguments)
    for word in rest:
        if word in ("-o", "-x", "-L", "-l", "-arch", "--offload-arch", "-Xcompiler"):
            next(rest, None)
        elif word in ("-I", "-D", "-isystem", "-include", "-U"):
            flags += [word, next(rest, "")]
        elif word in ("&&", ";", "||", "|"):
            break
        elif word.startswith(("-D", "-I", "-U", "-std=", "-f", "-m", "-isystem")):
            flags.append(word)
        elif word.endswith(suffixes) and not word.startswith("-"):
            sources += sorted(directory.glob(word)) if "*" in word else [directory / word]
    return [Unit(directory, path, tuple(flags)) for path in sources if path.is_file()]


def options_of(unit: Unit, third_party: list[Path]) -> CompileOptions:
    """The Makefile's flags, with directories made absolute: we do not compile in the program's folder."""
    standard = "c++17"
    extra: list[str] = []
    words = iter(unit.flags)
    for word in words:
        if word.startswith("-std="):
            standard = word.removeprefix("-std=")
        elif word in ("-I", "-isystem"):
            extra += [word, os.path.join(unit.directory, next(words))]  # noqa: PTH118
        elif word.startswith("-I"):
            extra.append("-I" + os.path.join(unit.directory, word[2:]))  # noqa: PTH118
        else:
            extra.append(word)
    for directory in third_party:
        extra += ["-idirafter", str(directory)]
    return CompileOptions(std=standard, extra=("-w", *extra), timeout_s=300)


def vendor_header(folder: Path, sources: list[Path], plan: str) -> str:
    """A vendor library header that the program's own files include, or the library its Makefile links."""
    for path in (*sources, *sorted(folder.rglob("*"))):
        if path.suffix in (*HIP_SOURCES, ".h", ".hpp", ".cuh", ".hxx", ".inl") and path.is_file():
            found = VENDOR.search(path.read_text(errors="replace"))
            if found:
                return found.group(1)
    linked = VENDOR_LINK.search(plan)
    return linked.group(0) if linked else ""


def classify(text: str, code: str) -> str:
    """The error without the names in it, so that equal causes count together."""
    missing = re.search(r"'([^']+)' file not found", text)
    if missing:
        return f"{code} missing header {missing.group(1)}".strip()
    plain = re.sub(r"'[^']*'", "'...'", text)
    return f"{code} {plain[:100]}".strip()


def report(outcomes: list[Outcome]) -> None:
    """The table: totals, then failures by class."""
    free = [outcome for outcome in outcomes if not outcome.vendor]
    for label, rows in (("all", outcomes), ("without vendor libraries", free)):
        passed = sum(outcome.status == "pass" for outcome in rows)
        print(f"{label}: {passed} of {len(rows)} pass ({100 * passed / max(1, len(rows)):.1f} %)")
    classes: dict[str, list[Outcome]] = collections.defaultdict(list)
    for outcome in outcomes:
        if outcome.status == "fail":
            classes[f"{outcome.stage}: {outcome.cause}"].append(outcome)
    for cause, rows in sorted(classes.items(), key=lambda item: -len(item[1])):
        names = ", ".join(outcome.program.removesuffix("-hip") + ("*" if outcome.vendor else "") for outcome in rows)
        print(f"{len(rows):4}  {cause}\n      {names}\n      {rows[0].first_error[:220]}")
    print("(* includes a vendor library)")


if __name__ == "__main__":
    sys.exit(main())
