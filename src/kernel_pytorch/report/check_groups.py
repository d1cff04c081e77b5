"""Checks that came out the same way for the same reason, as one: a reason is read once, not once for each source."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from kernel_pytorch.core.findings import CheckResult, Status

NAMES_SHOWN = 3


@dataclass(frozen=True)
class CheckGroup:
    """Checks with one status, one detail and one fix, in their order."""

    checks: tuple[CheckResult, ...]

    @property
    def status(self) -> Status:
        return self.checks[0].status

    @property
    def detail(self) -> str:
        return self.checks[0].detail

    @property
    def fix(self) -> tuple[str, ...]:
        return self.checks[0].fix

    @property
    def title(self) -> str:
        """The check's name, or how many there are and the first names, without the words that all of them share."""
        if len(self.checks) == 1:
            return self.checks[0].check
        names = [check.check.split(" ") for check in self.checks]
        most = min(map(len, names)) - 1  # a word of each name stays, also where names are equal
        head = min(_shared(names), most)
        tail = min(_shared([name[::-1] for name in names]), most - head)
        first = [" ".join(name[head : len(name) - tail]) for name in names[:NAMES_SHOWN]]
        more = len(names) - len(first)
        shown = f"{', '.join(first)} and {more} more" if more else f"{', '.join(first[:-1])} and {first[-1]}"
        words = [*names[0][:head], shown, *names[0][len(names[0]) - tail :]]
        return f"{len(names)} checks: {' '.join(words)}"


def check_groups(checks: Iterable[CheckResult]) -> list[CheckGroup]:
    """The checks, those that say the same joined. One that passed stays alone: its name is what it tells."""
    groups: dict[object, list[CheckResult]] = {}
    for number, check in enumerate(checks):
        key = number if check.status is Status.PASS else (check.status, _reason(check), check.fix)
        groups.setdefault(key, []).append(check)
    return [CheckGroup(tuple(group)) for group in groups.values()]


def _reason(check: CheckResult) -> str:
    """What a check says, without the place where it begins if it did not run: one library that is missing is missing
    in every source, and the first one's place is enough to read."""
    return _PLACE.sub("", check.detail) if check.status is Status.NOT_RUN else check.detail


_PLACE = re.compile(r"^\S+:\d+ (?=includes )")


def _shared(names: Sequence[Sequence[str]]) -> int:
    """How many first words all names have in common."""
    words = enumerate(zip(*names, strict=False))
    return next((place for place, at_place in words if len(set(at_place)) > 1), min(map(len, names)))
