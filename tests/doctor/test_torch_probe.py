"""Asking a real torch in a process of its own, and the settings of this process."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from kernel_pytorch.core.errors import UsageError
from kernel_pytorch.core.probe import this_machine
from kernel_pytorch.doctor.inductor import current_settings, differences
from kernel_pytorch.doctor.machine import examine, for_python
from kernel_pytorch.doctor.torch_probe import ask_torch


def fake_torch(folder: Path, body: str) -> None:
    (folder / "torch").mkdir(parents=True)
    (folder / "torch" / "__init__.py").write_text(body)


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    return tmp_path


def test_a_torch_that_raises(fake: Path) -> None:
    fake_torch(fake, "raise ImportError('libamdhip64.so.7: cannot open shared object file')")
    answer = ask_torch(this_machine(), 60)
    assert answer.outcome == "failed"
    assert "libamdhip64.so.7" in answer.detail


def test_a_torch_that_crashes(fake: Path) -> None:
    fake_torch(fake, "import os; os.abort()")
    assert ask_torch(this_machine(), 60).outcome == "failed"


def test_a_torch_that_hangs(fake: Path) -> None:
    fake_torch(fake, "import time; time.sleep(600)")
    assert ask_torch(this_machine(), 3).outcome == "hangs"


def test_a_torch_without_inductor(fake: Path) -> None:
    fake_torch(fake, "__version__ = '1.0'\nclass version: pass\n")
    answer = ask_torch(this_machine(), 60)
    assert (answer.outcome, answer.settings, answer.arch_list) == ("ok", {}, ())
    assert "inductor_error" in answer.facts


def test_a_real_torch_answers_and_sees_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch")
    monkeypatch.setenv("TORCHINDUCTOR_MAX_AUTOTUNE", "1")
    answer = ask_torch(this_machine(), 300)
    assert answer.outcome == "ok", answer.detail
    assert answer.settings["inductor.max_autotune"] is True
    assert "inductor.max_autotune" in {item.setting.key for item in differences(answer.settings)}


def test_settings_of_this_process_follow_a_change() -> None:
    pytest.importorskip("torch")
    import torch._inductor.config as config

    with config.patch({"triton.cudagraphs": True}):
        assert current_settings()["inductor.triton.cudagraphs"] is True
    assert current_settings()["inductor.triton.cudagraphs"] is False


def test_another_python(tmp_path: Path) -> None:
    probe = for_python(replace(this_machine(), python="", python_path=()), sys.executable)
    assert probe.python == sys.executable
    assert probe.python_version == sys.version_info[:3]
    assert probe.python_path
    with pytest.raises(UsageError, match="not a working Python"):
        for_python(this_machine(), str(tmp_path / "python"))


def test_quick_starts_no_torch() -> None:
    machine = examine(with_torch=False)
    assert machine.torch_probe.outcome == "skipped"
