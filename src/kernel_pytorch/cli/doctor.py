"""Is this machine fit for ROCm, and what has to be fixed?

    kpt doctor                       what is red or yellow; exit 1 if anything is red
    kpt doctor --fix                 the commands that would repair it
    kpt doctor --env --gpu mi300x    variables for that GPU, to source

Looks at torch, the GPUs, the driver, the environment, caches and packages. Changes nothing: --fix prints
commands, --env prints variables. Exit 1 if anything is red.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from typing import TYPE_CHECKING

from kernel_pytorch.core.errors import UsageError

if TYPE_CHECKING:
    from kernel_pytorch.core.devices import DeviceInfo
    from kernel_pytorch.doctor.shell_block import BlockTarget

SUMMARY = "is this machine fit for ROCm, and what has to be fixed?"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    output = parser.add_mutually_exclusive_group()
    output.add_argument("--json", action="store_true", help="everything as one JSON object")
    output.add_argument("--fix", action="store_true", help="print the commands that would repair it (runs none)")
    output.add_argument("--env", action="store_true", help="print a shell block to source for this GPU")
    parser.add_argument("-v", "--verbose", action="store_true", help="show what is fine, too")
    parser.add_argument("--quick", action="store_true", help="do not start torch in a process of its own")
    parser.add_argument("--gpu", metavar="NAME", help="with --env: for this GPU (mi300x, gfx1100)")
    parser.add_argument("--python", metavar="PATH", help="look at this Python's packages instead of our own")


def run(args: argparse.Namespace) -> int:
    from kernel_pytorch.doctor import report
    from kernel_pytorch.doctor.machine import examine
    from kernel_pytorch.doctor.run import run_checks

    if args.gpu and not args.env:
        raise UsageError("--gpu goes with --env: kpt doctor --env --gpu mi300x")
    machine = examine(with_torch=not (args.quick or args.env), python=args.python)
    if args.env:
        from kernel_pytorch.doctor.shell_block import shell_block

        print(shell_block(machine, _block_target(args.gpu, machine.amd_devices)), end="")
        return 0
    results = list(run_checks(machine))
    if args.json:
        print(report.as_json(machine, results))
    elif args.fix:
        print("\n".join(report.fix_lines(results)))
    elif sys.stdout.isatty() and _has_rich():
        report.print_rich(machine, results, verbose=args.verbose)
    else:
        width = shutil.get_terminal_size((100, 24)).columns
        print(report.as_text(machine, results, verbose=args.verbose, width=width), end="")
    return report.exit_status(results)


def _has_rich() -> bool:
    import importlib.util

    return importlib.util.find_spec("rich") is not None


def _block_target(wanted: str | None, devices: tuple[DeviceInfo, ...]) -> BlockTarget | None:
    """The GPU asked for, or the first of this machine's that is not part of the processor."""
    from kernel_pytorch.core.hardware import base_target, gpu_by_alias, target
    from kernel_pytorch.doctor.shell_block import BlockTarget

    if wanted:
        name = base_target(wanted)
        found = target(name) if name.startswith(("gfx", "sm_")) else gpu_by_alias(wanted).target
        if found.vendor != "amd":
            raise UsageError(f"--gpu {wanted}: not an AMD GPU")
        return BlockTarget(found.name, wanted)
    chosen = next((device for device in devices if not device.is_integrated), devices[0] if devices else None)
    return BlockTarget(chosen.target, chosen.name) if chosen else None
