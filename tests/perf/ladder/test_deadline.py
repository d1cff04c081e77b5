"""A limit that ends a block whatever it does, and leaves a caller's own alarm as it was."""

from __future__ import annotations

import importlib
import signal
import sys
import threading
import time
from pathlib import Path

import pytest

from kernel_pytorch.perf.ladder.deadline import OutOfTime, can_interrupt, time_limit


def endless() -> None:
    while True:
        try:
            time.sleep(0.01)
        except Exception:  # as torch.compile does with what its back ends raise
            continue


def test_it_ends_what_catches_everything() -> None:
    with pytest.raises(OutOfTime), time_limit(0.05):
        endless()
    assert signal.getitimer(signal.ITIMER_REAL)[0] == 0


def test_a_block_that_is_done_in_time_hears_nothing() -> None:
    with time_limit(600):
        pass
    assert signal.getitimer(signal.ITIMER_REAL)[0] == 0


def test_a_limit_inside_a_limit() -> None:
    with time_limit(600):
        with pytest.raises(OutOfTime), time_limit(0.05):
            endless()
        assert 0 < signal.getitimer(signal.ITIMER_REAL)[0] < 600


def test_the_outer_limit_holds_inside() -> None:
    with pytest.raises(OutOfTime), time_limit(0.05), time_limit(600):
        endless()


def test_the_outer_limit_rings_after_the_inner_block_swallowed_it() -> None:
    inner = 0
    with pytest.raises(OutOfTime), time_limit(0.05):
        try:
            with time_limit(600):
                endless()
        except OutOfTime:
            inner += 1
        endless()
    assert inner == 1


def test_a_callers_alarm_comes_back() -> None:
    rung: list[int] = []
    before = signal.signal(signal.SIGALRM, lambda number, frame: rung.append(number))
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        with time_limit(0.001), pytest.raises(OutOfTime):
            endless()
        while not rung:
            time.sleep(0.01)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert rung == [signal.SIGALRM]


def test_in_another_thread_nothing_is_interrupted() -> None:
    said: list[object] = []

    def work() -> None:
        with time_limit(0.001):
            time.sleep(0.05)
        said.extend([can_interrupt(), "done"])

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert said == [False, "done"]


SLOW_MODULE = """
import time
began = time.monotonic()
while time.monotonic() - began < 0.3:
    pass
whole = True
"""


def test_an_import_comes_to_its_end_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Half a package in sys.modules would break whoever imports it next."""
    (tmp_path / "slow_to_import").mkdir()
    (tmp_path / "slow_to_import" / "__init__.py").write_text("from slow_to_import.inner import whole\n")
    (tmp_path / "slow_to_import" / "inner.py").write_text(SLOW_MODULE)
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(OutOfTime), time_limit(0.05):
        importlib.import_module("slow_to_import")
        while True:
            pass
    assert sys.modules["slow_to_import"].whole
    assert sys.modules["slow_to_import.inner"].whole


def test_an_import_around_the_limit_is_no_excuse(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A script that is imported and measures something while it is: what it began is interrupted as ever."""
    (tmp_path / "measures_at_import.py").write_text(
        "from kernel_pytorch.perf.ladder.deadline import OutOfTime, time_limit\n"
        "try:\n    with time_limit(0.05):\n        while True:\n            pass\n"
        "except OutOfTime:\n    ended = True\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    assert importlib.import_module("measures_at_import").ended
