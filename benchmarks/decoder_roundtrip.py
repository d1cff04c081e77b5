#!/usr/bin/env python3
"""Our decoder of AMD machine code against llvm-objdump, instruction by instruction, over real code objects.

    python benchmarks/decoder_roundtrip.py FILE_OR_FOLDER ... [--target gfx942,gfx1100] [--most-mb 200] [--show 10]
    python benchmarks/decoder_roundtrip.py FOLDER --json out.json --seconds 400     again and again until it is through

Every file is searched for AMD code objects (bundles, fat binaries, .hsaco, .co). Each code object of a wanted target
goes through llvm-objdump, and each encoding it names through our decoder; the texts must be the same, but for the
comments that llvm-objdump writes into operands. What it cannot read itself (`.long`, `v_illegal`: padding) is counted
apart. `--most-mb` ends each target after that many megabytes of machine code; files are taken in a fixed order that
mixes folders, so that a limit cuts all sources alike. The outcome file is added to: code objects in it are not read
again.

Packages with such code objects that can be had: PyPI's cupy-rocm-7-0, bitsandbytes, jax-rocm7-pjrt; Debian's
librocblas5, libhipblaslt1, libhipsparselt0, librocrand1, libggml0-backend-hip, librocwmma-tests (`apt-get download`
and `dpkg -x`; nothing is installed).
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from kernel_pytorch.toolchain.code_object import CodeObjectError, read_code_object
from kernel_pytorch.toolchain.disassemble import find_objdump
from kernel_pytorch.toolchain.elf import ElfError, ElfFile
from kernel_pytorch.toolchain.machine_code.decode import Decoder, is_known
from kernel_pytorch.toolchain.machine_code.operands import EncodingError
from kernel_pytorch.toolchain.machine_code.table import decodable_targets, names_of, rows_of
from kernel_pytorch.toolchain.offload_bundle import BundleError, device_images

COMMENT = re.compile(r"/\*.*?\*/")
SUFFIXES = (".so", ".co", ".hsaco", ".o", ".hipfb", "")


@dataclass
class Count:
    """What was seen of one target."""

    objects: int = 0
    code_bytes: int = 0
    instructions: int = 0
    different: int = 0
    refused: int = 0
    unreadable: int = 0
    judged: int = 0
    decode_s: float = 0.0
    mnemonics: Counter[str] = field(default_factory=Counter)
    sources: Counter[str] = field(default_factory=Counter)  # bytes of machine code, by file
    examples: dict[str, tuple[str, str, str]] = field(default_factory=dict)
    done: list[str] = field(default_factory=list)  # the hashes of the code objects


def code_objects(paths: list[Path]) -> Iterator[tuple[Path, bytes, str]]:
    """Every AMD code object in the files with its hash, each content once."""
    files: list[Path] = []
    for path in paths:
        files += (
            sorted(one for one in path.rglob("*") if one.is_file() and not one.is_symlink())
            if path.is_dir()
            else [path]
        )
    # A hash of the name mixes the folders, the same way in each run.
    files.sort(key=lambda one: hashlib.sha256(one.name.encode()).digest())
    seen: set[str] = set()
    for path in files:
        if not (path.suffix in SUFFIXES or ".so." in path.name) or path.stat().st_size < 256:
            continue
        try:
            images = device_images(path.read_bytes())
        except BundleError:
            continue
        for image in images:
            digest = hashlib.sha256(image.content).hexdigest()
            if digest not in seen:
                seen.add(digest)
                yield path, image.content, digest


def lines_of(content: bytes, objdump: Path) -> Counter[tuple[str, str]]:
    """The instructions of one code object as llvm-objdump tells them: text and encoding, and how often."""
    with tempfile.NamedTemporaryFile(suffix=".hsaco") as file:
        file.write(content)
        file.flush()
        process = subprocess.Popen(
            [str(objdump), "--disassemble", "--section=.text", file.name], stdout=subprocess.PIPE, text=True
        )
        assert process.stdout is not None
        parts = (line.partition("// ") for line in process.stdout if line[0] == "\t")
        # Behind the address; a branch has its target as a name in the end.
        seen = Counter((text, tail[14:].partition(" <")[0]) for text, _, tail in parts if tail)
        if process.wait() != 0:
            raise SystemExit(f"{objdump} ended with {process.returncode}")
    return seen


def judge(target: str, seen: Counter[tuple[str, str]], count: Count, show: int) -> None:
    """What was seen in one code object, each distinct text and encoding once."""
    decoder = Decoder(target, rows_of(target), names_of(target))
    count.judged += len(seen)
    for (text, words), times in seen.items():
        theirs = " ".join(COMMENT.sub("", text).split())
        if theirs.startswith((".long", ".byte", "<unknown>", "...", "v_illegal")):
            count.unreadable += times
            continue
        count.instructions += times
        code = b"".join(int(word, 16).to_bytes(4, "little") for word in words.split())
        started = time.perf_counter()
        try:
            one = decoder.instruction(code)
            ours = one.text if one.size == len(code) else f"{one.text} of {one.size} bytes"
        except EncodingError as error:
            ours = f"refused: {error}"
            count.refused += times
        count.decode_s += time.perf_counter() - started
        mnemonic = theirs.partition(" ")[0]
        count.mnemonics[mnemonic] += times
        # Hand-written code has labels: then llvm-objdump writes a label's name for the distance.
        is_branch = re.match(r"s_(c?branch|call)", mnemonic) and ours.partition(" ")[0] == mnemonic
        if ours != theirs and not is_branch:
            count.different += times
            if len(count.examples) < show and mnemonic not in count.examples:
                count.examples[mnemonic] = (words.strip(), theirs, ours)


def read_outcome(path: Path | None) -> dict[str, Count]:
    """What earlier runs found, by target."""
    if path is None or not path.exists():
        return {}
    kept = json.loads(path.read_text())
    return {
        target: Count(**{**one, "mnemonics": Counter(one["mnemonics"]), "sources": Counter(one["sources"])})
        for target, one in kept.items()
    }


def main() -> int:
    """Compares, and prints a row for each target."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paths", type=Path, nargs="+")
    parser.add_argument("--target", default=",".join(decodable_targets()))
    parser.add_argument("--most-mb", type=float, default=1e9, help="of machine code, for each target")
    parser.add_argument("--show", type=int, default=10, help="examples of differences of each target")
    parser.add_argument("--seconds", type=float, default=1e9, help="begin no code object after this time")
    parser.add_argument("--json", type=Path, help="the outcome file: it is added to")
    parser.add_argument("--verbose", action="store_true")
    args = parser.parse_args()
    wanted = set(args.target.split(","))
    counts = read_outcome(args.json)
    done = {digest for one in counts.values() for digest in one.done}
    ends = time.monotonic() + args.seconds
    for path, content, digest in code_objects(args.paths):
        if time.monotonic() > ends:
            print("stopped: --seconds is over", file=sys.stderr)
            break
        try:
            target = read_code_object(content).target
            text = ElfFile(content).section(".text")
        except (CodeObjectError, ElfError):
            continue
        if target not in wanted or not is_known(target) or text is None or digest in done:
            continue
        count = counts.setdefault(target, Count())
        if count.code_bytes > args.most_mb * 1e6:
            continue
        judge(target, lines_of(content, find_objdump(target)), count, args.show)
        count.objects += 1
        count.code_bytes += text.size
        count.sources[path.name] += text.size
        count.done.append(digest)
        if args.verbose:
            print(f"{path.name} {target}: {text.size} bytes", file=sys.stderr)
    if args.json:
        args.json.write_text(json.dumps({target: vars(one) for target, one in counts.items()}, indent=1))
    columns = ("target", "code objects", "machine code, MB", "instructions", "mnemonics", "different",
               "of them refused", "not code", "distinct", "decoded/s")  # fmt: skip
    print(f"| {' | '.join(columns)} |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for target, one in sorted(counts.items()):
        rate = one.judged / one.decode_s if one.decode_s else 0
        print(
            f"| {target} | {one.objects} | {one.code_bytes / 1e6:.1f} | {one.instructions} | {len(one.mnemonics)} | "
            f"{one.different} | {one.refused} | {one.unreadable} | {one.judged} | {rate:.0f} |"
        )
        for words, theirs, ours in one.examples.values():
            print(f"    {words}\n      llvm {theirs}\n      ours {ours}")
    return 1 if any(one.different for one in counts.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
