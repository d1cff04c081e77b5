"""Builds from source, runs, and compares with machine code where that was asked for."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from kernel_pytorch.core.errors import UsageError

if TYPE_CHECKING:
    from kernel_pytorch.emulate.run import Outcome, Settings
    from kernel_pytorch.emulate.source.build import SourceProgram
    from kernel_pytorch.emulate.source.lockstep import LockstepVerdict

_SUFFIXES = (".cu", ".hip", ".cpp", ".cc", ".cxx")
# Lines are exact and accesses are still where the user wrote them; -O on the command line says otherwise.
_OPTIMIZATION = "1"


@dataclass(frozen=True)
class SourceRun:
    """The run from source, the runs as machine code, what differs and what that means."""

    outcome: Outcome
    machine: tuple[Outcome, ...] = ()
    differences: dict[str, list[str]] = field(default_factory=dict)
    verdicts: tuple[LockstepVerdict, ...] = ()

    @property
    def ok(self) -> bool:
        return self.outcome.ok and all(one.ok for one in self.machine) and not any(self.differences.values())


def _check_arguments(args: argparse.Namespace) -> None:
    """What has no meaning from source is an error, not a silence."""
    refused = {"--profile": args.profile, "--whole-pages": args.whole_pages, "-l": args.libraries}
    for name, given in (*refused.items(), ("--gpu", args.gpu is not None)):
        if given:
            raise UsageError(f"{name} has no meaning with --source; --compare names GPUs to compare with")
    if args.untranslated and not args.compare:
        raise UsageError("--untranslated has no meaning with --source alone: the source is never translated")
    for path in args.files:
        if path.suffix.lower() not in _SUFFIXES:
            raise UsageError(f"{path}: --source needs sources, such as .cu or .hip")


def run_from_source(
    args: argparse.Namespace,
    settings: Settings,
    scratch: Path,
    say: Callable[[str], None],
    on_machines: Callable[[], Sequence[Outcome]] | None,
) -> SourceRun:
    """`on_machines` builds and runs the machine code that --compare names."""
    from kernel_pytorch.emulate.source.build import SourceOptions, build_source
    from kernel_pytorch.emulate.source.run import NAME, run_source

    _check_arguments(args)
    say("building from source for this CPU")
    options = SourceOptions(
        tuple(args.include_dirs), tuple(args.defines), args.std,
        args.optimization if args.optimization is not None else _OPTIMIZATION,
    )  # fmt: skip
    program = build_source(args.files, scratch / "program-source", options)
    say(f"running {NAME}, threads in the order of seed {args.seed}")
    echo = not (args.json or args.compare)
    outcome = run_source(program, args.arguments, settings, args.seed, echo=echo)
    if on_machines is None:
        return SourceRun(outcome)
    return _compared(program, args, settings, outcome, on_machines())


def _compared(
    program: SourceProgram, args: argparse.Namespace, settings: Settings, outcome: Outcome, machine: Sequence[Outcome]
) -> SourceRun:
    from kernel_pytorch.emulate.run_differences import differences
    from kernel_pytorch.emulate.source.lockstep import verdict
    from kernel_pytorch.emulate.source.run import run_source

    closer: Outcome | None = None
    found: dict[str, list[str]] = {}
    verdicts = []
    for other in machine:
        # Device addresses, times and unwritten memory differ anyway: a second run in another order shows which lines.
        apart = differences(outcome, other)
        if apart and closer is None:
            closer = run_source(program, args.arguments, replace(settings, checked=True, races=True), args.seed + 1)
        if closer is not None:
            apart = differences(outcome, other, closer)
        found[other.gpu] = [str(one) for one in apart]
        verdicts.append(verdict(outcome, other, closer, any(one.what in ("exit", "output") for one in apart)))
    return SourceRun(outcome, tuple(machine), found, tuple(verdicts))


def print_verdicts(args: argparse.Namespace, result: SourceRun) -> None:
    """What source and machine code say together, for a person."""
    for verdict in result.verdicts if not args.json else ():
        print(verdict.text)
        for fault in verdict.places:
            print(f"    {fault.place}: {fault.kind}: {fault.detail}")
