"""What torch.compile would run on a GPU you do not have: captured with fake tensors, compiled for it, read, estimated.

  kpt inspect module:function --arch gfx942,gfx1100,sm_90     kernels, registers, LDS, spills, expected times, diff
  kpt inspect module:function --arch gfx942 --run             and execute them on the emulated GPU, against eager
  kpt inspect FILE.py|FOLDER --triton --arch gfx942           the @triton.jit kernels of a repository

The function returns (model, inputs), as for `kpt bench`. No weights are needed and no GPU. Times are estimates."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from kernel_pytorch.core.errors import UsageError

SUMMARY = "what torch.compile would run on a GPU you do not have, compiled for it"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Defines the options."""
    parser.add_argument("subject", metavar="TARGET|PATH", help="module:function, file.py:function, or a path")
    parser.add_argument(
        "--arch", default="gfx942", metavar="LIST", help="targets or GPU names, comma-separated (default gfx942)"
    )
    parser.add_argument("--run", action="store_true", help="execute the AMD kernels on the emulator and compare")
    parser.add_argument("--triton", action="store_true", help="find and compile the @triton.jit kernels under a path")
    parser.add_argument("--spec", type=Path, metavar="FILE", help="with --triton: types and constants (JSON)")
    parser.add_argument(
        "--configs", choices=("all", "first"), default="all", help="configurations to compile per kernel (default all)"
    )
    parser.add_argument("--top", type=int, default=40, metavar="N", help="rows per table (default 40)")
    parser.add_argument("--html", type=Path, metavar="FILE", help="also write the report as one HTML page")
    parser.add_argument("--json", action="store_true", help="everything as one JSON object")


def run(args: argparse.Namespace) -> int:
    """Runs the verb."""
    names = [name.strip() for name in args.arch.split(",") if name.strip()]
    if not names:
        raise UsageError("--arch names no target: gfx942, for instance")
    if args.triton:
        return _repository(args, names)
    from kernel_pytorch.core.findings import to_json
    from kernel_pytorch.perf.inspect.inspection import inspect_subject

    found = inspect_subject(args.subject, names, args.run, args.configs, _tell)
    if args.html:
        from kernel_pytorch.report.inspect_html import write_inspection

        write_inspection(found, args.html)
    if args.json:
        print(to_json(found))
    else:
        from kernel_pytorch.report.inspect_text import inspection_text

        print(inspection_text(found, args.top))
    wrong = any(view.failure or view.flags or (view.run and not view.run.matches) for view in found.views)
    return 1 if wrong else 0


def _repository(args: argparse.Namespace, names: list[str]) -> int:
    from kernel_pytorch.core.findings import to_json
    from kernel_pytorch.perf.inspect.repository import inspect_repository

    if args.run or args.html:
        raise UsageError("--triton goes with neither --run nor --html")
    found = inspect_repository(Path(args.subject), names, args.spec, _tell, args.configs)
    if args.json:
        print(to_json(found))
    else:
        from kernel_pytorch.report.inspect_repository_text import repository_text

        print(repository_text(found, args.top))
    return 1 if any(kernel.failure for kernel in found.kernels) else 0


def _tell(text: str) -> None:
    print(f"inspecting {text}", file=sys.stderr)
