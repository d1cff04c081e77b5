"""Skipped is not clean: a file that would have been looked at and was not counts, is listed, and exits 1."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from kernel_pytorch.cli.main import main
from kernel_pytorch.port import discover


@pytest.fixture
def only_a_large_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(discover, "MAX_BYTES", 1_000)
    (tmp_path / "k.cu").write_text("__global__ void k() {}\n" + "// x\n" * 1_000)
    return tmp_path


def test_the_only_source_is_too_large(only_a_large_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["scan", str(only_a_large_file)]) == 1
    said = capsys.readouterr()
    assert "k.cu:1:1: KP001 not looked at: larger than" in said.out and "1 finding\n" in said.err
    assert main(["scan", str(only_a_large_file), "--json"]) == 1
    assert [one["path"] for one in json.loads(capsys.readouterr().out)["findings"]] == ["k.cu"]
    assert main(["scan", str(only_a_large_file), "--sarif"]) == 1
    (result,) = json.loads(capsys.readouterr().out)["runs"][0]["results"]
    assert result["ruleId"] == "KP001"
    assert main(["scan", str(only_a_large_file), "--gcc"]) == 1
    assert "[KP001]" in capsys.readouterr().out
    assert main(["port", str(only_a_large_file), "--no-build"]) == 1
    capsys.readouterr()
    assert main(["verify", str(only_a_large_file), "--level", "static", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["levels"][0]["status"] == "warn"  # not a pass: --require fails


def test_a_file_by_itself_is_too_large(only_a_large_file: Path) -> None:
    assert main(["scan", str(only_a_large_file / "k.cu")]) == 1


def test_what_the_user_excluded_is_no_finding(only_a_large_file: Path) -> None:
    assert main(["scan", str(only_a_large_file), "--exclude", "*.cu"]) == 0


def test_other_things_that_are_no_source(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    os.mkfifo(tmp_path / "pipe.cu")
    (tmp_path / "gone.py").symlink_to("nowhere.py")
    (tmp_path / "zero.cu").symlink_to("/dev/zero")
    (tmp_path / "notes.txt").symlink_to("/dev/zero")
    (tmp_path / "folder.py").mkdir()
    assert main(["scan", str(tmp_path), "--json"]) == 1
    found = json.loads(capsys.readouterr().out)["findings"]
    assert {one["path"] for one in found} == {"pipe.cu", "gone.py", "zero.cu"}
    assert main(["hipify", str(tmp_path), "--examine", "--json"]) == 1


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_without_permission(tmp_path: Path) -> None:
    (tmp_path / "a.cu").write_text("__global__ void k() {}\n")
    (tmp_path / "a.cu").chmod(0)
    assert main(["scan", str(tmp_path)]) == 1
