"""Variables tried in processes of their own: kept, refused, and never let loose on this one."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kernel_pytorch.perf.ladder.environment_trial import EnvironmentTrials
from kernel_pytorch.perf.ladder.ledger import KEPT, NOT_TRIED, ROLLED_BACK
from kernel_pytorch.perf.ladder.rung import FOLDER, EnvironmentRung

# The time of a call and its outputs follow variables: what a driver does, without a driver. The clock is the target's
# own, so that no verdict depends on how busy this machine is.
TARGET = """
import itertools, os, time
import torch
from torch import nn

if "KPT_TEST_FAIL" in os.environ:
    raise RuntimeError("this driver does not start")

now, noise = [0.0], itertools.cycle([0.97, 1.01, 1.0, 0.99, 1.03])
time.perf_counter = lambda: now[0]

class Waiting(nn.Linear):
    def forward(self, x):
        now[0] += next(noise) * float(os.environ.get("KPT_TEST_MS", "20")) / 1e3
        return super().forward(x) * float(os.environ.get("KPT_TEST_FACTOR", "1"))

def make():
    print("noise on stdout")
    if "KPT_TEST_TUNE" in os.environ:
        open(os.environ["KPT_TEST_TUNE"], "w").write("tuned")
    return Waiting(8, 8).eval(), (torch.randn(2, 8),)

def unseeded():
    torch.seed()
    return make()
"""


def rung(**more: Any) -> EnvironmentRung:
    return EnvironmentRung("variables", 1, "variables", lambda m, i: "", lambda m, i, k: (), **more)


@pytest.fixture
def trials(tmp_path: Path) -> Iterator[EnvironmentTrials]:
    (tmp_path / "waiting.py").write_text(TARGET)
    made = EnvironmentTrials(f"{tmp_path / 'waiting.py'}:make", tmp_path / "out", 1.0)
    yield made
    made.close()


def test_variables_are_kept_where_they_make_it_faster_and_the_process_stays(trials: EnvironmentTrials) -> None:
    first = trials({}, rung(), {"KPT_TEST_MS": "2"}, 300)
    assert first.outcome == KEPT, first.reason
    assert first.comparison is not None and first.comparison.ratio == pytest.approx(0.1, rel=0.05)
    assert "KPT_TEST_MS" not in os.environ
    # Now the variables of the first are the ones to beat.
    second = trials({"KPT_TEST_MS": "2"}, rung(), {"KPT_TEST_MS": "12"}, 300)
    assert second.outcome == ROLLED_BACK and second.reason.startswith("slower: ")
    third = trials({"KPT_TEST_MS": "2"}, rung(), {"KPT_TEST_FACTOR": "1.5", "KPT_TEST_MS": "1"}, 300)
    assert third.reason.startswith("wrong: output 0 differs by")
    fourth = trials({"KPT_TEST_MS": "2"}, rung(), {"KPT_TEST_FAIL": "1"}, 300)
    assert "failed with these variables" in fourth.reason and "this driver does not start" in fourth.reason


def test_a_model_that_is_another_in_every_process(tmp_path: Path, trials: EnvironmentTrials) -> None:
    others = EnvironmentTrials(f"{tmp_path / 'waiting.py'}:unseeded", tmp_path, 1.0)
    try:
        done = others({}, rung(), {"KPT_TEST_MS": "2"}, 300)
    finally:
        others.close()
    assert done.outcome == ROLLED_BACK and "another model in every process" in done.reason


def test_a_run_before_the_measurement_can_leave_a_file(tmp_path: Path, trials: EnvironmentTrials) -> None:
    prepared = rung(prepare=lambda variables: {"KPT_TEST_TUNE": variables["KPT_TEST_FILE"]})
    done = trials({}, prepared, {"KPT_TEST_FILE": f"{FOLDER}/tuned.csv", "KPT_TEST_MS": "2"}, 300)
    assert (tmp_path / "out" / "tuned.csv").read_text() == "tuned"
    assert done.options["KPT_TEST_FILE"] == str(tmp_path / "out" / "tuned.csv")


def test_time_over_ends_the_processes(trials: EnvironmentTrials) -> None:
    done = trials({}, rung(), {"KPT_TEST_MS": "2"}, 0.05)
    assert done.outcome == NOT_TRIED and "its share of the budget was over" in done.reason
