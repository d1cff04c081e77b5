#!/usr/bin/env python3
"""Precision and recall of `kpt scan` and `kpt port`, by a person's reading of five repositories.

    python benchmarks/reading.py                 the table of the reading
    python benchmarks/reading.py CHECKOUTS       beside it, what today's scan says at the same places

`reading.json` has, for each repository at a fixed revision, every finding that the scan had when it was read and every
place that the reader wanted a finding at. No text of the repositories is kept: paths, lines and a few words of reason.

- true: the finding is right and of use, and so is its edit where it has one;
- noise: wrong, or about code that no ROCm build compiles;
- bad edit: the finding has a point, its edit is wrong;
- missed: breaks on AMD, or gives wrong values, and had no finding.

Precision is true / (true + noise + bad edit), counted in findings. Recall is true / (true + missed), counted in
places: two findings on one line are one. CHECKOUTS/NAME is a checkout at the revision in the list; it is only read.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from kernel_pytorch.core.findings import Finding
from kernel_pytorch.jobs.scan import scan

LIST = Path(__file__).with_name("reading.json")
VERDICTS = ("true", "noise", "bad edit", "missed")


@dataclass(frozen=True)
class Place:
    """One line of the reading. The code of a missed place is that of the rule that should see it, or empty.

    `wrong` is a piece of a bad edit by which it is known again.
    """

    code: str
    path: str
    line: int
    verdict: str
    why: str
    wrong: str = ""

    @property
    def at(self) -> tuple[str, int]:
        return self.path, self.line


@dataclass(frozen=True)
class Reading:
    """One repository, read at one revision."""

    repository: str
    revision: str
    places: tuple[Place, ...]

    def of(self, *verdicts: str) -> list[Place]:
        return [place for place in self.places if place.verdict in verdicts]


def read_list(path: Path = LIST) -> list[Reading]:
    """The list; a verdict that is none of the four is an error."""
    readings = [
        Reading(item["repository"], item["revision"], tuple(Place(**place) for place in item["places"]))
        for item in json.loads(path.read_text())
    ]
    for reading in readings:
        for place in reading.places:
            if place.verdict not in VERDICTS:
                raise SystemExit(f"{path.name}: {reading.repository}: {place.verdict!r} is no verdict")
    return readings


def row(name: str, readings: Sequence[Reading]) -> str:
    """A line of the table."""
    counts = Counter(place.verdict for reading in readings for place in reading.places)
    found = {(one.repository, *place.at) for one in readings for place in one.of("true")}
    missed = {(one.repository, *place.at) for one in readings for place in one.of("missed")}
    wrong = counts["noise"] + counts["bad edit"]
    cells = [
        name,
        *(str(counts[verdict]) for verdict in VERDICTS),
        _share(counts["true"], counts["true"] + wrong),
        _share(len(found), len(found | missed)),
    ]
    return f"| {' | '.join(cells)} |"


def _share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.0f} %" if whole else "-"


def table(readings: Sequence[Reading]) -> str:
    """Markdown: a row for each repository, and one for all."""
    lines = [
        "| repository | true | noise | bad edit | missed | precision | recall |",
        "|---|---|---|---|---|---|---|",
        *(row(reading.repository, [reading]) for reading in readings),
        row("in all", readings),
    ]
    return "\n".join(lines)


def judged_today(reading: Reading, found: Iterable[Finding]) -> tuple[Reading, list[str]]:
    """The reading with today's findings in place of those that were read, and what nobody has read yet.

    A wrong finding that is gone is settled, a missed place with a finding is true. One with another code than the list
    expects counts too: the reader asked for a finding there, not for a number.
    """
    edits = {(one.code, one.path, one.line): b" ".join(edit.text for edit in one.edits).decode() for one in found}
    lines = {(path, line) for _, path, line in edits}
    known = {(place.code, *place.at) for place in reading.places}
    kept: list[Place] = []
    for place in reading.places:
        edit = edits.get((place.code, *place.at))
        if place.verdict == "missed":
            verdict = "true" if place.at in lines else "missed"
            kept.append(replace(place, verdict=verdict))
        elif edit is not None:
            is_settled = place.verdict == "bad edit" and place.wrong not in edit
            kept.append(replace(place, verdict="true") if is_settled else place)
        elif place.verdict == "true" and place.at not in lines:
            kept.append(replace(place, verdict="missed", why="was found when it was read"))
    missed = {place.at for place in reading.of("missed")}
    unread = sorted(f"{path}:{line} {code}" for code, path, line in edits.keys() - known if (path, line) not in missed)
    return Reading(reading.repository, reading.revision, tuple(kept)), unread


def main(argv: list[str] | None = None) -> int:
    """Prints one table, or two."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "checkouts", nargs="?", type=Path, help="a folder with the checkouts, named as the repositories"
    )
    args = parser.parse_args(argv)
    readings = read_list()
    print(table(readings))
    if args.checkouts is None:
        return 0
    today: list[Reading] = []
    notes: list[str] = []
    for reading in readings:
        checkout = args.checkouts / reading.repository.rpartition("/")[2]
        head = subprocess.run(
            ["git", "-C", str(checkout), "rev-parse", "HEAD"], capture_output=True, text=True, check=False
        ).stdout.strip()
        if head != reading.revision:
            notes.append(f"{reading.repository}: not run, {checkout} is not at {reading.revision[:12]}")
            continue
        one, unread = judged_today(reading, scan(checkout).findings)
        today.append(one)
        notes += [f"{reading.repository}: not read yet: {line}" for line in unread]
        notes += [
            f"{reading.repository}: {place.verdict}: {place.path}:{place.line} {place.code} {place.why}"
            for place in one.of("noise", "bad edit", "missed")
        ]
    print("\ntoday\n")
    print(table(today))
    print("\n".join(["", *notes]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
