"""What a terminal shows of findings: few one by one, many by code with the places to begin at."""

from __future__ import annotations

from kernel_pytorch.core.findings import Finding, Safety
from kernel_pytorch.report.finding_lines import FEW, few_or_places

LISTED = "`kpt port --json` has them all"


def _finding(code: str, path: str, line: int) -> Finding:
    return Finding(code, path, line, 1, "something", Safety.MANUAL)


def test_few_are_shown_one_by_one() -> None:
    lines = list(few_or_places([_finding("KP202", "a.cu", line) for line in range(1, FEW + 1)], LISTED))
    assert len(lines) == FEW and all(line.startswith("a.cu:") for line in lines)


def test_of_many_each_code_has_its_first_places() -> None:
    many = [_finding("KP820", "b.cu", line) for line in range(1, FEW + 1)]
    lines = list(few_or_places([*many, _finding("KP204", "a.h", 7), _finding("KP820", "b.cu", 1)], LISTED))
    assert lines == ["KP204 1: a.h:7", "KP820 11: b.cu:1, b.cu:2, b.cu:3 and 7 more places", f"({LISTED})"]


def test_a_name_with_a_line_break_stays_on_its_line() -> None:
    many = [_finding("KP202", "a\nb.cu", line) for line in range(FEW + 2)]
    assert all("\n" not in line for line in few_or_places(many, LISTED))
