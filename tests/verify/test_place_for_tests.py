"""The place of a project's copy: the same name each time, for one at a time."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from kernel_pytorch.verify.place_for_tests import place_for_tests


@pytest.fixture(autouse=True)
def _own_temporary_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))


def test_it_is_the_same_and_empty() -> None:
    with place_for_tests() as first:
        (first / "project").mkdir()
        (first / "results.jsonl").touch()
    assert not (first / "project").exists()
    with place_for_tests() as second:
        assert second == first
        assert not (second / "results.jsonl").exists()


def test_two_at_a_time_have_two() -> None:
    with place_for_tests() as first, place_for_tests() as second:
        assert second != first


def test_a_folder_that_others_may_write_to_is_passed_over() -> None:
    with place_for_tests() as first:
        pass
    first.chmod(0o777)
    with place_for_tests() as second:
        assert second != first
