"""Two profiles side by side: before and after, or AMD against NVIDIA."""

from __future__ import annotations

from dataclasses import dataclass

from kernel_pytorch.perf.profile import OperatorTime, Profile


@dataclass(frozen=True)
class Change:
    """One line of a comparison. `ratio` is B over A, None where A has nothing."""

    name: str
    a_ms: float
    b_ms: float
    a_count: int
    b_count: int

    @property
    def change_ms(self) -> float:
        """B minus A: negative is faster."""
        return self.b_ms - self.a_ms

    @property
    def ratio(self) -> float | None:
        """B over A."""
        return self.b_ms / self.a_ms if self.a_ms else None


@dataclass(frozen=True)
class ProfileDiff:
    """What changed, per step of each profile, so that recordings of different length compare."""

    a: str
    b: str
    a_gpu: str
    b_gpu: str
    timeline: tuple[Change, ...]
    categories: tuple[Change, ...]
    operators: tuple[Change, ...]
    notes: tuple[str, ...]


def diff(a: Profile, b: Profile) -> ProfileDiff:
    """The comparison of two profiles."""
    notes = []
    if a.device_kind != b.device_kind:
        notes.append(f"A is a {a.device_kind.upper()} profile, B a {b.device_kind.upper()} one: times do not compare")
    elif a.gpu != b.gpu:
        notes.append(f"different devices: {a.gpu} and {b.gpu}")
    if a.steps != b.steps:
        notes.append(f"{a.steps} and {b.steps} steps were recorded: figures are per step")
    return ProfileDiff(
        a.source,
        b.source,
        a_gpu=a.gpu,
        b_gpu=b.gpu,
        timeline=_timeline(a, b),
        categories=_categories(a, b),
        operators=_operators(a, b),
        notes=tuple(notes),
    )


def _timeline(a: Profile, b: Profile) -> tuple[Change, ...]:
    parts = {
        "total": "total_ms",
        "compute": "compute_ms",
        "exposed communication": "exposed_communication_ms",
        "exposed copies": "exposed_copy_ms",
        "idle": "idle_ms",
    }
    return tuple(
        Change(
            name,
            sum(getattr(row, field) for row in a.timelines) / a.steps,
            sum(getattr(row, field) for row in b.timelines) / b.steps,
            1,
            1,
        )
        for name, field in parts.items()
    )


def _categories(a: Profile, b: Profile) -> tuple[Change, ...]:
    left = {row.category: row for row in a.categories}
    right = {row.category: row for row in b.categories}
    changes = []
    for name in dict.fromkeys([*left, *right]):
        one, two = left.get(name), right.get(name)
        changes.append(
            Change(
                name,
                one.kernel_ms / a.steps if one else 0.0,
                two.kernel_ms / b.steps if two else 0.0,
                one.kernels // a.steps if one else 0,
                two.kernels // b.steps if two else 0,
            )
        )
    return tuple(sorted(changes, key=lambda one: -abs(one.change_ms)))


def _operators(a: Profile, b: Profile) -> tuple[Change, ...]:
    left, right = _by_operator(a.operators), _by_operator(b.operators)
    changes = []
    for name in dict.fromkeys([*left, *right]):
        a_ms, a_calls = left.get(name, (0.0, 0))
        b_ms, b_calls = right.get(name, (0.0, 0))
        changes.append(Change(name, a_ms / a.steps, b_ms / b.steps, a_calls // a.steps, b_calls // b.steps))
    return tuple(sorted(changes, key=lambda one: -abs(one.change_ms)))


def _by_operator(rows: tuple[OperatorTime, ...]) -> dict[str, tuple[float, int]]:
    """By operator and shapes: the same model on two vendors has both in common, its kernels' names never."""
    result: dict[str, tuple[float, int]] = {}
    for row in rows:
        key = f"{row.name} {row.shapes}".strip()
        total, calls = result.get(key, (0.0, 0))
        result[key] = (total + row.kernel_ms, calls + row.calls)
    return result
