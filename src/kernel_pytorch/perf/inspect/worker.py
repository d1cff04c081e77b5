"""The child process of an inspection: reads a request as JSON from standard input, writes the answer to a file.

Everything here is patched for good (torch, Triton, Inductor), which is why it is a process of its own.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
import traceback
from dataclasses import dataclass
from pathlib import Path

from kernel_pytorch.core.children import ended_by_signals
from kernel_pytorch.core.counted import counted
from kernel_pytorch.core.entry_point import TargetFailedError
from kernel_pytorch.core.errors import UsageError
from kernel_pytorch.core.findings import to_json
from kernel_pytorch.core.hardware import gpu_by_alias
from kernel_pytorch.perf.inspect.view import TargetView


@dataclass(frozen=True)
class Request:
    """What the parent asks for."""

    subject: str
    gpu: str  # alias in the hardware table
    run: bool = False
    configurations: str = "all"
    answer: str = ""


def main() -> int:
    """Exit 0 with an answer in the file, 2 with the reason on standard error."""
    request = Request(**json.load(sys.stdin))
    with tempfile.TemporaryDirectory(prefix="kpt-inspect-") as folder:
        _environment(folder)
        try:
            view = inspect_target(request)
        except (UsageError, TargetFailedError) as error:
            print(f"kpt: {error}", file=sys.stderr)
            return 2
        except Exception:
            traceback.print_exc()
            return 1
        Path(request.answer).write_text(to_json(view), encoding="utf-8")
    return 0


def _environment(folder: str) -> None:
    # Results of another target, or of the real GPU of this machine, must not be picked up.
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = folder
    os.environ["TRITON_CACHE_DIR"] = str(Path(folder) / "triton")
    os.environ["TORCHINDUCTOR_FX_GRAPH_CACHE"] = "0"
    os.environ["TORCHINDUCTOR_AUTOGRAD_CACHE"] = "0"
    os.environ["TORCHINDUCTOR_COMPILE_THREADS"] = "1"


def inspect_target(request: Request) -> TargetView:
    """Capture, compile, read, estimate."""
    from kernel_pytorch.perf.inspect import capture, fake_model
    from kernel_pytorch.perf.inspect.attention_choice import choose_attention
    from kernel_pytorch.perf.inspect.describe import describe
    from kernel_pytorch.perf.inspect.stand_in import stand_in
    from kernel_pytorch.perf.inspect.versions import check_names, check_versions

    began = time.perf_counter()
    gpu = gpu_by_alias(request.gpu)
    versions = check_versions()
    real = subject = eager = None
    if request.run:
        import torch

        from kernel_pytorch.core.entry_point import load_subject
        from kernel_pytorch.perf.inspect.emulated_run import eager_result

        torch.manual_seed(0)
        subject = load_subject(request.subject)  # before the GPU seems to be here: the numbers are made on the CPU
        eager = eager_result(subject)
        real = fake_model.RealValues()
    stand_in(gpu)
    check_names()
    choose_attention(gpu)
    import torch._subclasses.fake_tensor as fakes

    mode = fakes.FakeTensorMode(allow_non_fake_inputs=True)
    loaded = subject if subject is not None else fake_model.load_fake(request.subject, mode)
    placed = fake_model.on_device(loaded, mode, real)
    seen = capture.Capture()
    capture.install(seen)
    run, failure = None, None
    try:
        if real is not None and eager is not None:
            from kernel_pytorch.perf.inspect.emulated_run import run_emulated

            run = run_emulated(placed, mode, real, eager, seen, gpu)
        else:
            capture.compile_and_replay(placed, mode)
    except UsageError:
        raise
    except Exception as error:  # Dynamo and Inductor raise many types; the report carries their words
        stopped = f"stopped after {counted(len(seen.launches), 'step')}: " if seen.launches else ""
        failure = stopped + _words(error)
    return describe(seen, gpu, versions, began, request.configurations == "first", failure, run)


def _words(error: BaseException) -> str:
    text = str(error).strip()
    for mark in ("\nSet TORCHDYNAMO_VERBOSE", "\nTarget:", "\n  target:"):
        text = text.split(mark)[0]
    return f"{type(error).__name__}: {text}"[:1500]


if __name__ == "__main__":
    with ended_by_signals():
        sys.exit(main())
