"""Starts the ranks of test_distributed.py: torch is imported here once, and every rank is a fork of this process.

    python -m tests.backends.rank_server

A line of JSON on stdin starts a program or waits for one, and a line on stdout answers it. A rank is a process like
any other from there on: an exception that nobody catches goes through sys.excepthook, and the interpreter ends.
"""

from __future__ import annotations

import faulthandler
import json
import os
import runpy
import sys
from pathlib import Path

# What the ranks would import; optimizers import torch._dynamo in their first step.
import torch._dynamo
import torch.distributed.fsdp  # noqa: F401

import kernel_pytorch.backends.amd  # noqa: F401


def serve() -> dict[str, object] | None:
    """Answer requests; in a rank, return what it is to run."""
    for line in sys.stdin:
        request = json.loads(line)
        if "wait" in request:
            answer = os.waitstatus_to_exitcode(os.waitpid(request["wait"], 0)[1])
        else:
            answer = os.fork()
            if answer == 0:
                return request
        print(answer, flush=True)
    return None


def become(request: dict) -> str:
    """Take on the arguments, the variables and the files of a program; returns its path."""
    nothing = os.open(os.devnull, os.O_RDONLY)
    for number, source in enumerate(
        (nothing, *(os.open(name, os.O_WRONLY | os.O_CREAT) for name in request["output"]))
    ):
        os.dup2(source, number)
    os.environ.update(request["variables"])
    sys.argv = request["arguments"]
    sys.path.insert(0, str(Path(sys.argv[0]).parent))
    return sys.argv[0]


if __name__ == "__main__":
    faulthandler.enable()  # a rank that hangs is aborted, and says where it was
    program = serve()
    if program is not None:
        runpy.run_path(become(program), run_name="__main__")
