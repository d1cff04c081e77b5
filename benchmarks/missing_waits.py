"""Missing waits, measured: what `--check waits` says of compiler output, and of the same code with one wait deleted.

    python benchmarks/missing_waits.py tests/toolchain/kernels --target gfx90a,gfx942,gfx950,gfx1030,gfx1100,gfx1201
    python benchmarks/missing_waits.py HeCBench/src --match a-c --keep texts      the assembly is kept and found again
    python benchmarks/missing_waits.py FOLDER_OF_ASSEMBLY

Every kernel of compiler output must give no finding. Then each wait is deleted by itself. Whether that one mattered is
decided by a second, separate model: walks through the mutated code at random, in which every access stays in a queue
until a wait forces it out. A deletion that a walk catches must be found; and the path in every finding is walked too
and must be caught on it. Deletions that neither catches are waits that another one makes superfluous, or that order
global memory between waves, which no register shows.
"""

from __future__ import annotations

import argparse
import itertools
import json
import random
import re
import sys
import time
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from kernel_pytorch.core.errors import UsageError
from kernel_pytorch.emulate.assembly.compiler_text import read_compiler_text
from kernel_pytorch.emulate.assembly.instruction import AssemblyError, Function, Label
from kernel_pytorch.emulate.codegen.flow import Flow, lay_out, reachable
from kernel_pytorch.emulate.isa.table import family, find
from kernel_pytorch.emulate.waits.missing import Step, missing_waits, steps_of
from kernel_pytorch.toolchain.compile import CompileFailed, CompileOptions, compile_device
from kernel_pytorch.toolchain.find import find_toolchain

TARGETS = "gfx90a,gfx942,gfx950,gfx1030,gfx1100,gfx1201"
WALKS, WALK_STEPS = 40, 3000


@dataclass
class Tally:
    """Counts for one target."""

    kernels: int = 0
    instructions: int = 0
    not_read: int = 0
    false_findings: list[str] = field(default_factory=list)
    deleted: int = 0
    mattered: int = 0  # a walk of the second model caught it
    found: int = 0
    missed: list[str] = field(default_factory=list)
    found_only: int = 0  # found, not caught by random walks; its path was walked and caught
    unconfirmed: list[str] = field(default_factory=list)
    nothing: int = 0
    seconds: float = 0.0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paths", nargs="+", type=Path, help=".hip files, .s files, or folders of them")
    parser.add_argument("--target", default=TARGETS)
    parser.add_argument("--match", default="a-z", help="first letters of file or folder names, such as a-c")
    parser.add_argument("--keep", type=Path, help="a folder for the assembly: a second call compiles nothing")
    parser.add_argument("--deletions", type=int, default=40, help="at most this many waits of one kernel (40)")
    parser.add_argument("--most", type=int, default=6000, help="kernels of more instructions are not mutated (6000)")
    parser.add_argument("--seconds", type=float, default=1e9, help="begin nothing new after this time")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    tallies: dict[str, Tally] = {}
    started = time.monotonic()
    for name, target, text in texts(args):
        if time.monotonic() - started > args.seconds:
            print("stopped: --seconds is over", file=sys.stderr)
            break
        one_text(name, target, text, tallies.setdefault(target, Tally()), args)
    show(tallies)
    if args.json:
        args.json.write_text(json.dumps({target: vars(tally) for target, tally in tallies.items()}, indent=2))
    bad = any(t.false_findings or t.missed or t.unconfirmed for t in tallies.values())
    return 1 if bad else 0


def texts(args: argparse.Namespace) -> Iterator[tuple[str, str, str]]:
    """Name, target and assembly of everything that was asked for."""
    targets = args.target.split(",")
    for path in args.paths:
        files = [path] if path.is_file() else sorted(path.rglob("*"))
        for file in files:
            first = file.relative_to(path).parts[0] if file != path else file.name
            if file.suffix != ".s" and not re.match(f"[{args.match}]", first):
                continue
            if file.suffix == ".s":
                text = file.read_text(errors="replace")
                named = re.search(r"amdgcn-amd-amdhsa-*(gfx\w+)", text) or re.search(r"amdhsa--(gfx\w+)", text)
                if named and named[1] in targets:
                    yield file.name, named[1], text
            elif file.suffix == ".hip" or (file.suffix == ".cu" and "-hip" in str(file.parent)):
                for target in targets:
                    text_or_none = compiled(file, target, args.keep)
                    if text_or_none is not None:
                        yield str(file), target, text_or_none


def compiled(source: Path, target: str, keep: Path | None) -> str | None:
    """The compiler's assembly of the device side, or None where the file does not compile."""
    kept = keep / f"{source.parent.name}-{source.name}-{target}.s" if keep else None
    if kept is not None and kept.is_file():
        return kept.read_text() or None
    options = CompileOptions(include_dirs=(source.parent, source.parent / "include"), extra=("-gline-tables-only",))
    try:
        text = compile_device(source, target, find_toolchain(), options, "assembly").decode("utf-8", "replace")
    except (CompileFailed, UsageError):
        text = ""
    if kept is not None:
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_text(text)
    return text or None


def one_text(name: str, target: str, text: str, tally: Tally, args: argparse.Namespace) -> None:
    try:
        listing = read_compiler_text(text)
    except AssemblyError:
        tally.not_read += 1
        return
    kernels = set(re.findall(r"^\s*\.amdhsa_kernel\s+(\S+)", text, re.M))
    wave = 64 if family(target) == "gfx9" else 32
    for number, symbol in enumerate(sorted(kernels & set(listing.functions))):
        functions = reachable(listing.functions[symbol], listing, kernels, set())
        flow = flow_of(functions)
        steps = steps_for(flow, target, wave)
        if steps is None:
            tally.not_read += 1
            continue
        tally.kernels += 1
        tally.instructions += len(flow.instructions)
        before = time.process_time()
        findings = missing_waits(flow, steps)
        tally.seconds += time.process_time() - before
        for one in findings:
            use, access = (flow.instructions[at].text for at in (one.use, one.access))
            tally.false_findings.append(f"{name}: {symbol}: {one.what} {one.how} by `{use}` after `{access}`")
        if len(flow.instructions) <= args.most:
            mutate(f"{name}: {symbol}", flow, steps, functions, (target, wave), tally, args, random.Random(number))


def flow_of(functions: Sequence[Function]) -> Flow:
    addresses, at = {}, 0
    for function in functions:
        addresses[function.name] = at
        at += 4 * len(function.instructions) + 4
    return lay_out(tuple(functions), addresses)


def steps_for(flow: Flow, target: str, wave: int) -> list[Step] | None:
    """The steps of a flow, or None where the table lacks an instruction."""
    parts = []
    for instruction in flow.instructions:
        pair = [instruction] if instruction.dual is None else [instruction, instruction.dual]
        rows = [(one, find(one.mnemonic, target)) for one in pair]
        if any(row is None for _, row in rows):
            return None
        parts.append([(one, row) for one, row in rows if row is not None])
    return steps_of(parts, int(family(target)[3:]), wave)


def mutate(
    name: str,
    flow: Flow,
    steps: list[Step],
    functions: Sequence[Function],
    where: tuple[str, int],
    tally: Tally,
    args: argparse.Namespace,
    dice: random.Random,
) -> None:
    """Delete waits one by one."""
    waits = [at for at, step in enumerate(steps) if step.waits]
    dice.shuffle(waits)
    empty = {at: {} for at in waits}
    for at in waits[: args.deletions]:
        mutated = list(steps)
        mutated[at] = replace(steps[at], waits=empty[at])
        findings = missing_waits(flow, mutated)
        caught = next((True for _ in range(WALKS) if walk(flow, mutated, dice)), False)
        tally.deleted += 1
        label = f"{name}: `{flow.instructions[at].text}` at {at}"
        if caught:
            tally.mattered += 1
            if findings:
                tally.found += 1
            else:
                tally.missed.append(label)
        elif findings:
            tally.found_only += 1
        else:
            tally.nothing += 1
        for one in findings[:3]:
            if not along(flow, mutated, one.path):
                tally.unconfirmed.append(f"{label}: {one.what} {one.how} at {one.use}")


class Queues:
    """The second model: per counter the accesses under way, oldest first. Those without order leave first or last."""

    def __init__(self, steps: Sequence[Step], unordered_first: bool) -> None:
        self.steps = steps
        self.unordered_first = unordered_first
        self.queues: dict[str, deque[tuple[int, str]]] = {}

    def pass_one(self, at: int) -> bool:
        """Go over one instruction; True where it uses what is still under way."""
        step = self.steps[at]
        for counter, limit in step.waits.items():
            self._drain(counter, limit)
        busy = self._uses_what_is_under_way(step)
        for event in step.events:
            self.queues.setdefault(event.counter, deque()).append((at, event.order))
        return busy

    def _drain(self, counter: str, limit: int) -> None:
        """Only `limit` stay, the oldest leave."""
        queue = self.queues.get(counter, deque())
        while len(queue) > limit:
            preferred = [item for item in queue if bool(item[1]) != self.unordered_first]
            queue.remove(preferred[0] if preferred else queue[0])

    def _uses_what_is_under_way(self, step: Step) -> bool:
        for queue in self.queues.values():
            for access, order in queue:
                other = self.steps[access]
                if step.use.reads & other.use.writes:
                    return True
                in_turn = order and any(e.order == order for e in step.events)
                if step.use.writes & other.use.writes and not in_turn:
                    return True
                if step.barrier and other.writes_lds:
                    return True
        return False


def nexts(flow: Flow, at: int) -> list[int]:
    """The instructions that may follow, read from the text anew."""
    one = flow.instructions[at]
    name = one.mnemonic
    if name.startswith("s_endpgm"):
        return []
    if name.startswith(("s_setpc", "s_swappc", "s_set_pc", "s_swap_pc")):
        return sorted(flow.entries.values())
    found = [] if name.startswith(("s_branch", "s_call")) else [at + 1]
    if name.startswith(("s_branch", "s_cbranch", "s_call")) and isinstance(one.operands[-1], Label):
        found.append(flow.labels[one.operands[-1].name])
    return [to for to in found if to < len(flow.instructions)]


def walk(flow: Flow, steps: Sequence[Step], dice: random.Random) -> bool:
    """One walk from the kernel's start."""
    queues = Queues(steps, dice.random() < 0.5)
    at = 0
    for _ in range(WALK_STEPS):
        if queues.pass_one(at):
            return True
        following = nexts(flow, at)
        if not following:
            return False
        at = dice.choice(following)
    return False


def along(flow: Flow, steps: Sequence[Step], path: Sequence[int]) -> bool:
    """Whether the path of a finding is a way through the code that ends at a use of what is under way."""
    if any(to not in nexts(flow, at) for at, to in itertools.pairwise(path)):
        return False
    for unordered_first in (False, True):
        queues = Queues(steps, unordered_first)
        for at in path[:-1]:
            queues.pass_one(at)
        if queues.pass_one(path[-1]):
            return True
    return False


def show(tallies: dict[str, Tally]) -> None:
    print(
        "| target | kernels | instructions | findings | waits deleted | mattered | found | by path only | no effect |"
    )
    print("|---|---|---|---|---|---|---|---|---|")
    for target, t in sorted(tallies.items()):
        print(
            f"| {target} | {t.kernels} | {t.instructions} | {len(t.false_findings)} | {t.deleted} | {t.mattered} "
            f"| {t.found} | {t.found_only} | {t.nothing} |"
        )
    for target, t in sorted(tallies.items()):
        if t.not_read:
            print(f"{target}: {t.not_read} kernels or files were not read")
        for kind, lines in (("finding", t.false_findings), ("missed", t.missed), ("not confirmed", t.unconfirmed)):
            for line, count in list(Counter(lines).items())[:20]:
                print(f"{target}: {kind}: {line}" + (f" ({count} times)" if count > 1 else ""))


if __name__ == "__main__":
    sys.exit(main())
