"""The watching thread of a rank and how it ends. Jobs of several ranks are in test_distributed.py."""

from __future__ import annotations

import threading

from kernel_pytorch.backends.watch import Watch


class SlowStore:
    """A store on a busy machine: the first heartbeat takes until the test lets it end."""

    def __init__(self) -> None:
        self.values: dict[str, str] = {}
        self.is_inside = threading.Event()
        self.may_end = threading.Event()

    def set(self, key: str, value: str) -> None:
        if value != "left":
            self.is_inside.set()
            self.may_end.wait()
        self.values[key] = value

    def check(self, keys: list[str]) -> bool:
        return False


def _stopped_in_a_call(*, leaves: bool) -> SlowStore:
    store = SlowStore()
    watch = Watch(store, 0, 2, interval_s=0.001, silence_limit_s=600.0, end=lambda message: None)  # type: ignore[arg-type]
    store.is_inside.wait()
    stopping = threading.Thread(target=watch.stop, kwargs={"leaves": leaves})
    stopping.start()
    stopping.join(timeout=0.1)  # ten times what the thread was given before
    assert stopping.is_alive(), "the thread is inside the store: Python would abort if it ended now"
    store.may_end.set()
    stopping.join()
    assert not any(thread.name == "kernel-pytorch-watch" for thread in threading.enumerate())
    return store


def test_stopping_waits_for_a_call_that_is_under_way() -> None:
    assert _stopped_in_a_call(leaves=True).values == {"kpt/alive/0": "left"}


def test_a_rank_that_ends_without_leaving_does_not_say_that_it_left() -> None:
    assert _stopped_in_a_call(leaves=False).values == {"kpt/alive/0": "1"}
