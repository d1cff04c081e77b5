"""What a profile says: one frozen dataclass that is saved as JSON and that every renderer gets.

Milliseconds throughout. Nothing here depends on the file it came from: a saved profile is plotted, compared and read
again without it.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from kernel_pytorch.core.errors import UsageError
from kernel_pytorch.core.findings import from_json, to_json
from kernel_pytorch.core.read_file import LARGE, open_plain, read_text
from kernel_pytorch.core.whole_file import write_for_user
from kernel_pytorch.perf.classify.seen import IdleCause, Observation
from kernel_pytorch.perf.classify.timeline import Timeline

SCHEMA = 1
MARK = '"kpt_profile"'


@dataclass(frozen=True)
class CategoryTime:
    """GPU time of one category. `best_ms` is what a roofline-perfect run of the modelled part would take."""

    category: str
    kernel_ms: float
    kernels: int
    share: float
    modelled_ms: float = 0.0
    best_ms: float = 0.0

    @property
    def most_to_gain_ms(self) -> float:
        """What perfect kernels for the modelled part would save: an upper bound, not a promise."""
        return max(0.0, self.modelled_ms - self.best_ms)


@dataclass(frozen=True)
class OperatorTime:
    """One operator with one set of shapes. Rates are None where FLOPs and bytes are not modelled."""

    name: str
    category: str
    shapes: str
    calls: int
    kernel_ms: float
    kernels: int
    flops: float | None = None
    bytes: float | None = None
    arithmetic: str | None = None
    tflops: float | None = None
    gbs: float | None = None
    best_ms: float | None = None
    percent_of_roofline: float | None = None
    percent_of_achievable: float | None = None
    limiter: str | None = None
    expected_ms: float | None = None  # what torch's usual kernels take on this GPU, and where four of five lie
    low_ms: float | None = None
    high_ms: float | None = None
    reachable_ms: float | None = None  # what tuned kernels take
    basis: str | None = None

    @property
    def intensity(self) -> float | None:
        """FLOPs per byte."""
        return self.flops / self.bytes if self.flops is not None and self.bytes else None


@dataclass(frozen=True)
class KernelTime:
    """One kernel by name."""

    name: str
    category: str
    operator: str
    count: int
    total_ms: float
    mean_us: float
    min_us: float
    max_us: float


@dataclass(frozen=True)
class KernelCounters:
    """What hardware counters say of one kernel; None where the counters for it were not recorded. Shares are of one.

    `lds_conflicts` are cycles lost to bank conflicts for each cycle of LDS access; `recorded` are means per dispatch.
    """

    name: str
    dispatches: int
    total_ms: float
    occupancy: float | None
    valu_per_vmem: float | None
    valu_busy: float | None
    lds_conflicts: float | None
    l1_hit: float | None
    l2_hit: float | None
    gbs: float | None
    share_of_bandwidth: float | None
    matrix_busy: float | None
    recorded: dict[str, float]


@dataclass(frozen=True)
class CollectiveTime:
    """One collective with one size and group. `sent_bytes` leave each member at least.

    A member that comes first waits for the last inside its kernel. `least_us` is the shortest call: next to no waiting
    in it. `bus_gbs` is what went over its links then. `waiting_ms` is what all calls took beyond the expected time, or,
    with the other ranks' recordings, beyond the shortest of the ranks; `skew_us` is how far apart they began (median).
    """

    name: str
    members: int
    sent_bytes: float
    calls: int
    total_ms: float
    least_us: float
    median_us: float
    bus_gbs: float
    expected_us: float | None = None
    low_us: float | None = None
    high_us: float | None = None
    basis: str | None = None
    waiting_ms: float | None = None
    skew_us: float | None = None
    ranks: int = 1


@dataclass(frozen=True)
class ModuleTime:
    """GPU time launched while this nn.Module's forward was the innermost one."""

    module: str
    kernel_ms: float
    kernels: int


@dataclass(frozen=True)
class ShortKernels:
    """Kernels so short that launching them costs more than running them."""

    limit_us: float
    count: int
    total_ms: float
    share_of_kernels: float
    share_of_time: float


@dataclass(frozen=True)
class Launches:
    """What launching cost the host, and how far ahead of the GPU it was."""

    calls: int
    host_ms: float
    mean_us: float
    median_delay_us: float  # from the launch call to the kernel's start
    graph_launches: int
    synchronisations: int
    synchronising_ms: float


@dataclass(frozen=True)
class Stretch:
    """A part of the timeline in which the GPU mostly waited for the host."""

    start_ms: float
    length_ms: float
    idle_share: float
    operator: str


@dataclass(frozen=True)
class Peaks:
    """What the device can do. TFLOP/s by arithmetic; `achievable` are measured ceilings where known.

    `alias` is the product's name in the hardware table; empty where it is not in it.
    """

    gpu: str
    bandwidth_gbs: float
    matrix: dict[str, float]
    vector: dict[str, float]
    achievable: dict[str, float]
    achievable_gbs: float | None
    source: str
    alias: str = ""


@dataclass(frozen=True)
class Advice:
    """One thing to do. `saving_ms` is a prediction; `rung` the step of the optimisation ladder that does it."""

    title: str
    action: str
    rung: int
    saving_ms: float
    category: str
    why: str
    how: str


@dataclass(frozen=True)
class Bin:
    """A slice of the timeline for plotting: the share of it each category was running."""

    start_ms: float
    length_ms: float
    shares: dict[str, float]


@dataclass(frozen=True)
class Profile:
    """All of it. `device_kind` is "gpu" or "cpu": a CPU's times are never called a GPU's."""

    source: str
    form: str
    device_kind: str
    gpu: str
    vendor: str
    steps: int
    timelines: tuple[Timeline, ...]
    categories: tuple[CategoryTime, ...]
    idle: tuple[IdleCause, ...]
    operators: tuple[OperatorTime, ...]
    kernels: tuple[KernelTime, ...]
    modules: tuple[ModuleTime, ...]
    short_kernels: ShortKernels
    launches: Launches
    stretches: tuple[Stretch, ...]
    observations: tuple[Observation, ...]
    peaks: Peaks | None
    modelled_share: float
    other_kernels: tuple[KernelTime, ...]
    advice: tuple[Advice, ...]
    bins: tuple[Bin, ...]
    notes: tuple[str, ...]
    compile_log: CompileReport | None = None
    unprofiled_ms: float | None = None  # one call without the profiler, where we ran it ourselves
    counters: tuple[KernelCounters, ...] = ()
    collectives: tuple[CollectiveTime, ...] = ()
    kpt_profile: int = SCHEMA

    def __post_init__(self) -> None:
        if self.kpt_profile != SCHEMA:
            raise ValueError(f"profile schema {self.kpt_profile} is not {SCHEMA}: made by another version of kpt")

    @property
    def kernel_ms(self) -> float:
        """The sum of all kernels' times, overlapping ones counted twice."""
        return sum(row.kernel_ms for row in self.categories)

    @property
    def total_ms(self) -> float:
        """From the first activity to the last, over all devices' timelines the longest."""
        return max((row.total_ms for row in self.timelines), default=0.0)

    @property
    def other_share(self) -> float:
        """The share of kernel time that no table knows."""
        return sum(row.share for row in self.categories if row.category == "other")


@dataclass(frozen=True)
class CompiledGraph:
    """One graph that Inductor compiled."""

    number: int
    nodes: int
    operators: dict[str, int]
    seconds: float


@dataclass(frozen=True)
class GraphBreak:
    """Why Dynamo cut a graph, where in the user's code, and what usually helps."""

    reason: str
    place: str
    code: str
    fix: str
    count: int = 1


@dataclass(frozen=True)
class Recompile:
    """A function compiled again, and the guard that failed."""

    function: str
    reason: str
    fix: str
    count: int = 1


@dataclass(frozen=True)
class CompileReport:
    """What torch.compile did."""

    graphs: tuple[CompiledGraph, ...]
    breaks: tuple[GraphBreak, ...]
    recompiles: tuple[Recompile, ...]
    seconds: float


def save(profile: Profile, path: Path) -> None:
    """Write the profile. Raises UsageError naming the file."""
    write_for_user(path, to_json(profile, indent=1))


def load(path: Path) -> Profile:
    """A saved profile. Raises UsageError naming the file and what does not fit."""
    try:
        return from_json(Profile, read_text(path, limit=LARGE))
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({error.strerror})") from error
    except (ValueError, TypeError, KeyError) as error:
        raise UsageError(f"{path}: not a profile saved by kpt profile --save ({error})") from error


def is_saved_profile(path: Path) -> bool:
    """A saved profile, by its mark near the end of the file."""
    try:
        with open_plain(path) as file:
            file.seek(0, 2)
            file.seek(max(0, file.tell() - 400))
            return MARK.encode() in file.read()
    except OSError:
        return False
