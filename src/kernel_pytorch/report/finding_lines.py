"""Findings as lines of a terminal: one each, or each code with its first places where there are many."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from kernel_pytorch.core.counted import counted
from kernel_pytorch.core.findings import Finding, action
from kernel_pytorch.core.printable import on_one_line

FEW = 10  # findings that a reader has in view without a table of them
_PLACES = 3  # of a code: where to begin to look
# Headers that come with NVIDIA's samples; projects carry copies, and nobody edits those.
NVIDIA_HELPERS = re.compile(r"(?:^|/)(?:helper_\w+|nvrtc_helper|drvapi_error_string)\.h$")


def finding_lines(findings: Sequence[Finding]) -> Iterator[str]:
    """A line for each finding; one for all of a copied helper header, at the place of its first."""
    helpers: dict[str, list[Finding]] = {}
    for finding in findings:
        if NVIDIA_HELPERS.search(finding.path):
            helpers.setdefault(finding.path, []).append(finding)
    for finding in findings:
        same = helpers.get(finding.path, [])
        if len(same) < 2:
            yield f"{finding} [{action(finding)}]"
        elif finding is same[0]:
            codes = ", ".join(f"{code} {number}" for code, number in numbers_of_codes(same))
            who = ", ".join(f"{number} {name}" for name, number in Counter(map(action, same)).items())
            number_of = counted(len(same), "finding")
            yield f"{on_one_line(finding.path)}: NVIDIA's helper header, {number_of}: {codes} [{who}]"


def numbers_of_codes(findings: Sequence[Finding]) -> list[tuple[str, int]]:
    """How many findings each code has, by code."""
    return sorted(Counter(finding.code for finding in findings).items())


def few_or_places(findings: Sequence[Finding], all_of_them: str) -> Iterator[str]:
    """Few findings line by line; of many the first places of each code, and `all_of_them`: where the rest is."""
    lines = list(finding_lines(findings))
    if len(lines) <= FEW:
        yield from lines
        return
    for code, number in numbers_of_codes(findings):
        places = dict.fromkeys(f"{on_one_line(one.path)}:{one.line}" for one in findings if one.code == code)
        more = len(places) - _PLACES
        shown = ", ".join(list(places)[:_PLACES]) + (f" and {counted(more, 'more place')}" if more > 0 else "")
        yield f"{code} {number}: {shown}"
    yield f"({all_of_them})"
