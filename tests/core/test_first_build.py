"""A build that happens once says so: one line in a log, a line that counts on a terminal."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest

from kernel_pytorch.core.first_build import first_build


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_log_gets_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    with first_build("the runtime", 2, Path("kept")) as part_done:
        part_done()
        part_done()
    assert capsys.readouterr().err == "building the runtime, once: the next run finds it in kept\n"


def test_a_terminal_sees_the_parts_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    with first_build("the runtime", 2, Path("kept")) as part_done:
        part_done()
        part_done()
    shown = [line for line in terminal.getvalue().split("\r\x1b[K") if line]
    assert shown[1:3] == ["building the runtime, once: 1 of 2 parts", "building the runtime, once: 2 of 2 parts"]
    assert shown[3].startswith("built the runtime in 0 s") and shown[3].endswith("kept\n")


def test_an_error_is_not_called_built(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    with pytest.raises(ValueError, match="refused"), first_build("the runtime", 2, Path("kept")):
        raise ValueError("refused")
    assert terminal.getvalue().endswith("\r\x1b[K") and "built" not in terminal.getvalue()
