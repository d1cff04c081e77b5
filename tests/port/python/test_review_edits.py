"""Edits for review are held to what the safe ones are: they parse, leave NVIDIA alone, and are made once."""

from __future__ import annotations

import ast

import pytest

from kernel_pytorch.core.findings import Safety
from kernel_pytorch.port.project import PortOptions, port_plain_file
from kernel_pytorch.port.rules import rules_for
from kernel_pytorch.port.source import source_file
from kernel_pytorch.verify.isolation import Isolation, compare_file
from tests.port.rules import fixture_files
from tests.port.rules.fixture_files import Fixture

OPTIONS = PortOptions(unsafe=True)


def _reviewed() -> list[Fixture]:
    """The Python rules of precision, Triton, core, compile and graphs whose fixture has an edit for review."""
    found = []
    for loaded in rules_for("python"):
        fixture = Fixture(loaded, fixture_files.FOLDER / loaded.rule.file_stem)
        if not loaded.rule.code.startswith(("KP54", "KP56", "KP58", "KP59", "KP6", "KP7")):
            continue
        findings = fixture_files.findings_of(fixture, fixture_files.read(fixture.source))
        if any(item.edits and item.safety is Safety.REVIEW for item in findings):
            found.append(fixture)
    return found


FIXTURES = _reviewed()


def test_there_are_such_rules() -> None:
    assert len(FIXTURES) >= 10


@pytest.mark.parametrize("fixture", FIXTURES, ids=lambda fixture: fixture.folder.name)
def test_edits_for_review(fixture: Fixture) -> None:
    src = fixture_files.read(fixture.source)
    options = PortOptions(unsafe=True, select=(fixture.code,))
    patch = port_plain_file(src, options).patch
    assert patch is not None
    ast.parse(patch.after)
    verdict = compare_file(src.path, src.data, patch.after)
    assert verdict.verdict is Isolation.PROVEN, f"{verdict}\n{patch.after.decode()}"
    again = port_plain_file(source_file(src.path, patch.after), options).patch
    assert again is None, again.after.decode()


@pytest.mark.parametrize("loaded", rules_for("python"), ids=lambda loaded: loaded.rule.code)
def test_all_rules_at_once_leave_nvidia_alone(loaded: object) -> None:
    fixture = next(item for item in fixture_files.fixtures() if item.loaded is loaded)
    src = fixture_files.read(fixture.source)
    patch = port_plain_file(src, OPTIONS).patch
    if patch is None:
        return
    verdict = compare_file(src.path, src.data, patch.after)
    assert verdict.verdict is Isolation.PROVEN, f"{verdict}\n{patch.after.decode()}"
