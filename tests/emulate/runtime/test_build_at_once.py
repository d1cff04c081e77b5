"""Threads of one process that build the runtime at the same time, as a program with several jobs does at first."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from typing import Any

import pytest

from kernel_pytorch.core.whole_file import unfinished
from kernel_pytorch.emulate import runtime_build


def test_each_thread_has_a_file_of_its_own_until_it_is_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = tmp_path / "one.cpp"
    source.write_text("int x;")
    both_compile = Barrier(2, timeout=30)

    def compiler(command: Any) -> None:
        out = Path(command[-1])
        assert out.read_text() == ""  # made for this thread, and nobody else wrote to it
        out.write_text("half")
        both_compile.wait()
        out.write_text("whole")
        both_compile.wait()

    monkeypatch.setattr(runtime_build, "_run", compiler)
    with ThreadPoolExecutor(2) as pool:
        made = list(pool.map(lambda _: runtime_build._object(source, b"", ("c++",), tmp_path), range(2)))
    assert made[0] == made[1] and made[0].read_text() == "whole"
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(["one.cpp", made[0].name])


def test_names_differ_between_threads_and_stay_in_the_folder(tmp_path: Path) -> None:
    together = Barrier(3, timeout=30)

    def name(_: int) -> Path:
        together.wait()
        return unfinished(tmp_path / "module.so")

    with ThreadPoolExecutor(3) as pool:
        names = set(pool.map(name, range(3)))
    assert len(names) == 3 and {one.parent for one in names} == {tmp_path}
