"""What takes long to make is made once, however many ask for it at the same time."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest

from kernel_pytorch.core.build_lock import one_builder


def test_of_many_who_ask_at_once_one_builds(tmp_path: Path) -> None:
    target, together, builders = tmp_path / "cache" / "library.so", Barrier(8, timeout=120), list[int]()

    def make(number: int) -> str:
        together.wait()
        with one_builder(target):
            if not target.exists():
                builders.append(number)
                time.sleep(0.05)  # long enough for the others to ask
                target.write_text("made")
        return target.read_text()

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(make, range(8))) == ["made"] * 8
    assert len(builders) == 1


def test_a_builder_that_fails_lets_the_next_one_in(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError), one_builder(tmp_path / "thing"):
        raise RuntimeError
    with one_builder(tmp_path / "thing"):
        (tmp_path / "thing").write_text("made")
    assert (tmp_path / "thing").read_text() == "made"
