"""A build of an extension that was killed leaves torch's lock file: the next one notices."""

from __future__ import annotations

import importlib.util
import signal
import subprocess
import sys
import textwrap
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from kernel_pytorch.emulate import torch_locks

TORCH = importlib.util.find_spec("torch")  # not imported: its file is enough, and takes no time
pytestmark = pytest.mark.skipif(TORCH is None, reason="needs torch")


@pytest.fixture
def baton() -> Any:
    """torch's class with our methods, in a module of its own: torch's stays as it is."""
    return adjusted().FileBaton


def adjusted() -> ModuleType:
    assert TORCH is not None
    assert TORCH.origin is not None
    spec = importlib.util.spec_from_file_location("file_baton", Path(TORCH.origin).parent / "utils" / "file_baton.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    torch_locks.adjust(module)
    return module


def start_builder(lock: Path) -> subprocess.Popen[str]:
    code = f"""
    import sys, time
    sys.path.insert(0, {str(Path(__file__).parent)!r})
    from test_locks import adjusted
    assert adjusted().FileBaton({str(lock)!r}).try_acquire()
    print("building", flush=True)
    time.sleep(600)
    """
    builder = subprocess.Popen([sys.executable, "-c", textwrap.dedent(code)], stdout=subprocess.PIPE, text=True)
    assert builder.stdout is not None
    assert builder.stdout.readline() == "building\n"
    return builder


def test_a_killed_build_is_noticed_and_a_living_one_is_not_disturbed(
    tmp_path: Path, baton: Any, capfd: pytest.CaptureFixture[str]
) -> None:
    lock = tmp_path / "lock"
    builder = start_builder(lock)
    try:
        assert not baton(str(lock)).try_acquire()
        assert lock.exists()
    finally:
        builder.send_signal(signal.SIGKILL)
        builder.wait()
    assert lock.exists()
    mine = baton(str(lock))
    assert mine.try_acquire()
    assert f"removed {lock}" in capfd.readouterr().err
    assert not baton(str(lock)).try_acquire()
    mine.release()
    assert not lock.exists()


def test_who_waits_for_a_build_that_dies_is_told(tmp_path: Path, baton: Any) -> None:
    lock = tmp_path / "lock"
    builder = start_builder(lock)
    builder.kill()
    builder.wait()
    with pytest.raises(RuntimeError, match="ended before it was done"):
        baton(str(lock)).wait()


def test_a_lock_of_another_origin_is_left_alone(
    tmp_path: Path, baton: Any, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    lock = tmp_path / "lock"
    lock.touch()
    assert not baton(str(lock)).try_acquire()
    monkeypatch.setattr(torch_locks, "_SILENT_S", 0.0)
    slept: list[float] = []
    monkeypatch.setattr(torch_locks.time, "sleep", lambda seconds: (slept.append(seconds), lock.unlink()))
    baton(str(lock)).wait()
    assert slept
    assert "another process builds this extension" in capfd.readouterr().err
