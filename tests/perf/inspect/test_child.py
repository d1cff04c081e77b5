"""The worker's process: news, failures, time, and the processes it leaves behind."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import pytest

from kernel_pytorch.core.errors import UsageError
from kernel_pytorch.perf.inspect.child import run_child

WORKER = """
import json, os, subprocess, sys, time
from kernel_pytorch.perf.inspect.child import tell_parent
request = json.load(sys.stdin)
print("what the user prints"); print("and to standard error", file=sys.stderr)
tell_parent("half done")
if request["do"] == "refuse":
    print("kpt: no such thing", file=sys.stderr); sys.exit(2)
if request["do"] == "break":
    raise RuntimeError("broken")
if request["do"] == "hang":
    helper = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    open(request["file"], "w").write(str(helper.pid))
    time.sleep(60)
"""


@pytest.fixture
def worker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    (tmp_path / "made_worker.py").write_text(WORKER)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), *filter(None, sys.path)]))
    return "made_worker"


def test_news_reach_the_user_and_nothing_else_does(worker: str, capfd: pytest.CaptureFixture[str]) -> None:
    heard: list[str] = []
    run_child(worker, {"do": "nothing"}, "it", tell=heard.append)
    assert heard == ["half done"]
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(("do", "said"), [("refuse", "^no such thing$"), ("break", "it: .*status 1(.|\\n)*broken")])
def test_a_failure_is_one_message(worker: str, do: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        run_child(worker, {"do": do}, "it")


def test_one_that_takes_too_long_ends_with_all_it_started(worker: str, tmp_path: Path) -> None:
    told = tmp_path / "pid"
    with pytest.raises(UsageError, match="it: not finished after 8 s"):
        run_child(worker, {"do": "hang", "file": str(told)}, "it", limit_s=8)
    deadline = time.monotonic() + 60
    while _runs(int(told.read_text())) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not _runs(int(told.read_text()))


def _runs(process: int) -> bool:
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in "ZX"
