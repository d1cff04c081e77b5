"""A process that loads TARGET under its own environment variables and takes samples when asked. One JSON line each way.

Started by `environment_trial`: many variables act when torch is imported, so only a new process can tell what they do.
"""

from __future__ import annotations

import json
import os
import random
import sys
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

from kernel_pytorch.models.inputs import Inputs
from kernel_pytorch.perf.bench.target import load_target
from kernel_pytorch.perf.ladder.measuring import target_for

SEED = 0


class Worker:
    """The loaded target and its clock."""

    def __init__(self, text: str) -> None:
        import torch

        from kernel_pytorch.models.clock.device import Timer
        from kernel_pytorch.perf.bench.placement import device_for

        random.seed(SEED)
        torch.manual_seed(SEED)
        numpy = sys.modules.get("numpy")
        if numpy is not None:
            numpy.random.seed(SEED)
        target = load_target(text)
        self.model, self.inputs = target.call, Inputs(target.arguments, target.keywords)
        measured = target_for(text, self.model, self.model, self.inputs)
        self.call: Callable[[], Any] = lambda: measured.call(*measured.arguments, **measured.keywords)
        self.timer = Timer(device_for([target]))

    def outputs(self, file: str) -> dict[str, Any]:
        """Save what the model gives on fresh inputs; `fingerprint` tells whether two processes have the same model."""
        import torch

        from kernel_pytorch.models.check.reference import take_reference

        reference = take_reference(self.model, self.inputs)
        rows = [[item.cpu() for item in (*run.outputs, *run.gradients.values())] for run in reference.expected]
        torch.save({"rows": rows, "tolerance": reference.tolerance}, file)
        return {"fingerprint": _fingerprint(self.model)}

    def sample(self, calls: int) -> dict[str, Any]:
        """One sample."""
        return {"ms": self.timer.sample(self.call, calls).main_ms}


def _fingerprint(model: Any) -> str:
    import hashlib

    digest = hashlib.sha256()
    for name, item in model.state_dict().items():
        if hasattr(item, "numel") and item.numel():
            digest.update(f"{name} {tuple(item.shape)} {item.flatten()[:64].double().tolist()}".encode())
    return digest.hexdigest()[:16]


def main() -> int:
    """Answers requests until its input ends."""
    # What the user's code prints must not get between the answers.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    sys.path.insert(0, str(Path.cwd()))
    try:
        worker = Worker(sys.argv[1])
        _answer(answers, {"ready": True})
        for line in sys.stdin:
            request = json.loads(line)
            _answer(answers, getattr(worker, request.pop("do"))(**request))
    except Exception as error:
        out_of_memory = "out of memory" in str(error).lower()
        _answer(answers, {"error": f"{type(error).__name__}: {error}"[:400], "out_of_memory": out_of_memory})
        return 1
    return 0


def _answer(answers: IO[str], answer: dict[str, Any]) -> None:
    answers.write(json.dumps(answer) + "\n")
    answers.flush()


if __name__ == "__main__":
    sys.exit(main())
