"""What a benchmark says, as dataclasses that survive a JSON round trip."""

from __future__ import annotations

from dataclasses import dataclass, field

from kernel_pytorch.models.clock.statistics import Summary
from kernel_pytorch.models.clock.verdict import TimeVerdict

SCHEMA = 1


@dataclass(frozen=True)
class TargetResult:
    """One target. `device` is "cpu" or "gpu"; `time` is device time on a GPU and host time on a CPU.

    `samples_ms` are the samples behind `time`, in order, for later comparison.
    """

    name: str
    device: str
    device_name: str
    time: Summary
    host: Summary
    first_call_ms: float
    compile_ms: float
    warmup_calls: int
    warmup_settled: bool
    calls_per_sample: int
    input_copies: int
    cold_cache: bool
    dropped_throttled: int
    samples_per_second: float | None
    tokens_per_second: float | None
    peak_memory_bytes: int | None
    joules_per_call: float | None
    causes: tuple[str, ...]
    notes: tuple[str, ...]
    samples_ms: tuple[float, ...]


@dataclass(frozen=True)
class BenchReport:
    """One run of `kpt bench`. Verdicts compare every target with the first."""

    when: str
    environment: dict[str, str]
    results: tuple[TargetResult, ...]
    verdicts: tuple[TimeVerdict, ...] = ()
    notes: tuple[str, ...] = ()
    kpt_bench: int = field(default=SCHEMA)

    def __post_init__(self) -> None:
        if self.kpt_bench != SCHEMA:
            raise ValueError(f"bench schema {self.kpt_bench} is not {SCHEMA}: made by another version of kpt")
