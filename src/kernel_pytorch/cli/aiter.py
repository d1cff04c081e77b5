"""Which GEMM shapes of a model aiter has tuned kernels for, and the tuner's run for the others (AMD).

    kpt aiter model.py:make                                       on the AMD GPU of this machine
    kpt aiter model.py:make --arch gfx942 --compute-units 304     what an MI300X's table has, without one
    kpt aiter model.py:make --aiter DIR --run                     and tune what is missing (minutes per shape)

If a shape is not in its tuning table, aiter's gemm_a16w16 calls F.linear and does not say so: nothing is gained.
This lists the shapes of all linear layers in one call of TARGET (module:function or file.py:function that returns
(model, inputs)), says which the table has, and writes the others to --out for aiter's tuner. The tuner takes bfloat16
and float16: layers in other types are listed as "not for aiter". Exit 1 if shapes are missing.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

SUMMARY = "which GEMM shapes of a model AMD's aiter has tuned kernels for; runs its tuner"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of the verb."""
    parser.add_argument("target", metavar="TARGET", help="gives (model, inputs)")
    parser.add_argument(
        "--out",
        "--folder",
        type=Path,
        metavar="DIR",
        default=Path("aiter-tuning"),
        help="folder for the tuner's files (default aiter-tuning)",
    )
    parser.add_argument(
        "--arch", "--gfx", metavar="TARGET", help="look up this target, such as gfx942 (default: the GPU here)"
    )
    parser.add_argument("--compute-units", type=int, metavar="N", help="with --arch: 304 for an MI300X")
    parser.add_argument("--aiter", type=Path, metavar="DIR", help="aiter's sources, which hold the tuner")
    parser.add_argument("--run", action="store_true", help="run the tuner")
    parser.add_argument("--json", action="store_true", help="the shapes and the tuner's command as JSON on stdout")


def run(args: argparse.Namespace) -> int:
    """Exit 0 if every shape is tuned, 1 if some are missing, 2 for usage errors."""
    from kernel_pytorch.core.entry_point import load_subject
    from kernel_pytorch.core.errors import UsageError
    from kernel_pytorch.models.inputs import Inputs
    from kernel_pytorch.perf.aiter import tuning

    target, units = _device(args)
    subject = load_subject(args.target)
    if not hasattr(subject.function, "modules"):
        raise UsageError(f"{args.target}: returns no torch.nn.Module, so there are no linear layers to list")
    shapes = tuning.linear_shapes(subject.function, Inputs(subject.args, subject.kwargs))
    files = tuning.table_files()
    table = tuning.tuned_shapes(files, target, units)
    others = [one for one in shapes if not tuning.is_for_tuner(one)]
    served = [one for one in shapes if tuning.is_tuned(one, table) or tuning.is_skinny(one, units)]
    missing = [one for one in shapes if one not in others and one not in served]
    command: list[str] = []
    if missing:
        tuning.write_untuned(missing, args.out / tuning.UNTUNED)
        if args.aiter is not None:
            command = tuning.tuner_command(args.aiter, args.out, sys.executable)
        elif args.run:
            raise UsageError("--run needs --aiter DIR, the folder of aiter's sources, which hold the tuner")
    if args.json:
        listed = [{**vars(one), "tuned": one in served, "for_tuner": one not in others} for one in shapes]
        print(json.dumps({"gfx": target, "compute_units": units, "shapes": listed, "command": command}, indent=1))
    else:
        for one in shapes:
            state = "missing" if one in missing else "not for aiter" if one in others else "tuned  "
            print(f"{state}  {one.in_words()}  {one.dtype}")
    if not missing:
        return 0
    print(tuning.diagnosis(missing, files), file=sys.stderr)
    print(f"shapes for the tuner: {args.out / tuning.UNTUNED}", file=sys.stderr)
    if args.run:
        from kernel_pytorch.core.process import run_in_terminal

        return 0 if run_in_terminal(command) == 0 else 2
    shown = " ".join(command) or "python3 AITER/csrc/gemm_a16w16/gemm_a16w16_tune.py (give --aiter AITER for the whole)"
    print(f"tune:  {shown}", file=sys.stderr)
    print(f"use:   export {tuning.TABLE_VARIABLE}={(args.out / tuning.TUNED).resolve()}", file=sys.stderr)
    return 1


def _device(args: argparse.Namespace) -> tuple[str, int]:
    from kernel_pytorch.core.errors import UsageError

    if args.arch:
        if not args.compute_units:
            raise UsageError("--arch needs --compute-units: aiter's tables are by both (304 for an MI300X)")
        return str(args.arch), int(args.compute_units)
    import torch

    from kernel_pytorch.core.platform import is_rocm
    from kernel_pytorch.perf.aiter.installed import device_row

    if not is_rocm(torch) or not torch.cuda.is_available():
        raise UsageError(
            "no AMD GPU here: give --arch gfx942 --compute-units 304, for example, to ask for another machine's"
        )
    return device_row(torch.cuda.current_device())
