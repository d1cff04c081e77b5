"""Environment variables tried: two processes with the same TARGET, one of them with the variables, sampled in turns."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kernel_pytorch.core.process import end_child, start_child
from kernel_pytorch.core.project_code import require_project_code
from kernel_pytorch.core.python_child import python_module
from kernel_pytorch.models.clock.device import Sample
from kernel_pytorch.models.clock.in_turns import Comparison, compare_in_turns
from kernel_pytorch.models.clock.rounds import Contender
from kernel_pytorch.models.comparison import distance
from kernel_pytorch.perf.ladder.deadline import OutOfTime, time_limit
from kernel_pytorch.perf.ladder.ledger import KEPT, NOT_TRIED, ROLLED_BACK, Attempt
from kernel_pytorch.perf.ladder.rung import FOLDER, EnvironmentRung, Options


class _ChildFailed(Exception):
    """The process could not do what it was asked; the message is its own."""


class _Child:
    def __init__(self, target: str, variables: Mapping[str, str], folder: Path) -> None:
        require_project_code(target)
        self.variables = dict(variables)
        self._errors = tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace")  # noqa: SIM115
        self._process = start_child(
            python_module("kernel_pytorch.perf.ladder.worker", target),
            env={**os.environ, **self.variables},
            stdin=subprocess.PIPE,
            stderr=self._errors,
            text=True,
        )
        self.outputs_file = folder / f"outputs-{self._process.pid}.pt"
        self._fingerprint = ""
        try:
            self._read()
        except BaseException:
            self.close(at_once=True)
            raise

    def ask(self, do: str, **values: Any) -> dict[str, Any]:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps({"do": do, **values}) + "\n")
            self._process.stdin.flush()
        except OSError as error:
            raise _ChildFailed(f"the process ended: {self._last_words()}") from error
        return self._read()

    def _read(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise _ChildFailed(f"the process ended: {self._last_words()}")
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            raise _ChildFailed("ran out of memory" if answer.get("out_of_memory") else str(answer["error"]))
        return answer

    def fingerprint(self) -> str:
        """Of the model; its outputs are then in `outputs_file`."""
        if not self._fingerprint:
            self._fingerprint = str(self.ask("outputs", file=str(self.outputs_file))["fingerprint"])
        return self._fingerprint

    def contender(self, name: str) -> Contender:
        """The child's call, timed by itself."""
        return Contender(name, lambda calls: Sample(float(self.ask("sample", calls=calls)["ms"]), None))

    def _last_words(self) -> str:
        self._errors.seek(0)
        lines = [line.strip() for line in self._errors.read().splitlines() if line.strip()]
        return lines[-1][:300] if lines else "it said nothing"

    def close(self, at_once: bool = False) -> None:
        """End it by closing its input, so that it can write what it writes at exit; by force where that fails."""
        with contextlib.suppress(OSError):
            if self._process.stdin is not None:
                self._process.stdin.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=0 if at_once else 20)
        end_child(self._process)
        self._errors.close()
        self.outputs_file.unlink(missing_ok=True)


class EnvironmentTrials:
    """Tries variables for one TARGET. The process with the kept ones stays, and is the other side of the next trial."""

    def __init__(self, target: str, folder: Path, measure_s: float) -> None:
        self._target, self._folder, self._measure_s = target, folder, measure_s
        self._best: _Child | None = None
        self._scratch = tempfile.TemporaryDirectory()

    def __call__(self, kept: dict[str, str], rung: EnvironmentRung, options: Options, seconds: float) -> Attempt:
        """The attempt for the ledger; its options have the folder filled in."""
        began = time.monotonic()
        variables = {name: str(value).replace(FOLDER, str(self._folder.resolve())) for name, value in options.items()}
        comparison: Comparison | None = None
        candidate: _Child | None = None
        try:
            with time_limit(seconds):
                self._prepare(kept, rung, variables)
                if self._best is None or self._best.variables != kept:
                    self.close_best()
                    self._best = self._child(kept)
                candidate = self._child({**kept, **variables})
                reason = _outputs_differ(self._best, candidate)
                if not reason:
                    comparison = compare_in_turns(
                        self._best.contender("without"), candidate.contender("with"), None, self._measure_s
                    )
                    reason = "" if comparison.is_faster else comparison.why_not_faster()
            outcome = ROLLED_BACK if reason else KEPT
        except OutOfTime:
            outcome, reason = NOT_TRIED, f"stopped after {seconds:.0f} s: its share of the budget was over"
            for child in (candidate, self._best):
                if child is not None:
                    child.close(at_once=True)
            candidate = self._best = None
        except (_ChildFailed, OSError, ValueError) as error:
            outcome, reason = ROLLED_BACK, f"failed with these variables: {error}"
            self.close_best()
        if outcome == KEPT:
            self.close_best()
            self._best, candidate = candidate, None
        if candidate is not None:
            candidate.close()
        words = comparison.in_words() if comparison is not None and outcome == KEPT else reason
        spent = round(time.monotonic() - began, 3)
        return Attempt(dict(variables), outcome, words, comparison=comparison, seconds=spent)

    def _prepare(self, kept: dict[str, str], rung: EnvironmentRung, variables: dict[str, str]) -> None:
        if rung.prepare is None:
            return
        self._folder.mkdir(parents=True, exist_ok=True)
        child = self._child({**kept, **rung.prepare(variables)})
        try:
            child.fingerprint()
            child.ask("sample", calls=20)
        finally:
            child.close()

    def _child(self, variables: Mapping[str, str]) -> _Child:
        return _Child(self._target, variables, Path(self._scratch.name))

    def close_best(self) -> None:
        """End the process that was kept."""
        if self._best is not None:
            self._best.close()
            self._best = None

    def close(self) -> None:
        """End everything."""
        self.close_best()
        self._scratch.cleanup()


def _outputs_differ(best: _Child, candidate: _Child) -> str:
    """The reason to refuse the variables; empty where the outputs are the same."""
    import torch

    if best.fingerprint() != candidate.fingerprint():
        return (
            "TARGET makes another model in every process, even from the same random seed: what the variables do to its "
            "outputs cannot be checked. Load weights from a file, or seed what makes them"
        )
    old, new = (torch.load(child.outputs_file, weights_only=True) for child in (best, candidate))
    relative, absolute = old["tolerance"]
    for before, after in zip(old["rows"], new["rows"], strict=True):
        for place, (one, other) in enumerate(zip(before, after, strict=True)):
            found = distance(one, other, relative, absolute, f"output {place}")
            if not found.is_acceptable:
                return f"wrong: {found.where} differs by {found.error:.3g}, allowed is {found.limit:.3g}"
    return ""
