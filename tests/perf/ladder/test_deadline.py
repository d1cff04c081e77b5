"""A limit that ends a block whatever it does, and leaves a caller's own alarm as it was."""

from __future__ import annotations

import signal
import threading
import time

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
