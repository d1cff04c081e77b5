"""Threads of one process that build the runtime at the same time, as a program with several jobs does at first."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier, Lock
from typing import Any

import pytest

from kernel_pytorch.core.whole_file import unfinished
from kernel_pytorch.emulate import runtime_build


def test_each_thread_builds_in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    both_build = Barrier(2, timeout=120)
    folders: set[Path] = set()
    changing = Lock()

    def compiler(command: Any) -> None:
        out = Path(command[command.index("-o") + 1])
        folder = next(parent for parent in out.parents if parent.name.startswith("kpt-runtime-"))
        with changing:
            first, _ = folder not in folders, folders.add(folder)
        if first:
            both_build.wait()  # neither has finished, so neither finds what the other made
        assert not out.exists()
        out.write_text("whole")

    monkeypatch.setattr(runtime_build, "_run", compiler)
    made = tmp_path / "runtime"
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda _: runtime_build.build_runtime(made, ("c++",)), range(2)))
    assert len(folders) == 2 and list(tmp_path.iterdir()) == [made]
    names = (*runtime_build.RUNTIME_NAMES, *runtime_build.HIPRTC_NAMES)
    assert all((made / name).read_text() == "whole" for name in names)


def test_names_differ_between_threads_and_stay_in_the_folder(tmp_path: Path) -> None:
    together = Barrier(3, timeout=120)

    def name(_: int) -> Path:
        together.wait()
        return unfinished(tmp_path / "module.so")

    with ThreadPoolExecutor(3) as pool:
        names = set(pool.map(name, range(3)))
    assert len(names) == 3 and {one.parent for one in names} == {tmp_path}
