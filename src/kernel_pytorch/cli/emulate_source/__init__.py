"""`kpt emulate --source`: a program from source on the CPU, alone or beside its machine code."""

from __future__ import annotations

import argparse


def add_source_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare --source and what goes with it."""
    group = parser.add_argument_group("from source")
    group.add_argument("--source", action="store_true", help="CUDA's meaning at warp 32, from source, no lockstep")
    group.add_argument("--seed", type=int, default=1, metavar="N", help="the order in which --source runs threads (1)")
