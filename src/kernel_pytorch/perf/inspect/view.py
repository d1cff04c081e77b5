"""What an inspection found, as plain records: they pass from the child process to the report as JSON."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class SourceLine:
    """A line of the user's own code that an operation came from."""

    path: str
    line: int
    code: str


@dataclass(frozen=True)
class Resources:
    """What the compiled kernel needs of the GPU. `registers` are VGPRs on AMD (AGPRs included), per thread on NVIDIA.

    `lds_bytes` is what a launch takes: declared and given at launch. Fields the compiler does not tell are None.
    """

    registers: int
    agprs: int | None
    sgprs: int | None
    spills: int
    sgpr_spills: int | None
    scratch_bytes: int | None
    lds_bytes: int
    threads: int
    waves_per_simd: int | None = None
    max_waves_per_simd: int | None = None
    limiter: str | None = None


@dataclass(frozen=True)
class Configuration:
    """One of the configurations Inductor (or an autotuner) would try, and what the compiler made of it."""

    name: str
    num_warps: int
    num_stages: int
    resources: Resources | None
    failure: str | None = None


@dataclass(frozen=True)
class TritonKernel:
    """One generated kernel. `configurations[chosen]` is the one the estimate and the flags are about."""

    name: str
    category: str  # "pointwise", "reduction", "persistent_reduction", "foreach", "template", ...
    source_hash: str
    operators: tuple[str, ...]
    lines: tuple[SourceLine, ...]
    bytes: int | None
    flops: int | None
    dtypes: tuple[str, ...]
    configurations: tuple[Configuration, ...]
    chosen: int | None
    source: str = ""


@dataclass(frozen=True)
class LaunchStep:
    """One launch, in order: of a generated kernel, or a call of a library operator (`kind` "triton" or "extern")."""

    kind: str
    name: str
    graph: int
    shapes: tuple[str, ...] = ()
    dtype: str = ""
    flops: int | None = None
    bytes: int | None = None
    matrix: bool = False
    arithmetic: str = "fp32"
    best_us: float | None = None
    limiter: str = ""
    expected_us: float | None = None
    low_us: float | None = None  # four of five measured calls lie between these two
    high_us: float | None = None
    basis: str = ""  # what the expected time rests on
    grid: tuple[int, ...] = ()


@dataclass(frozen=True)
class GraphBreak:
    """Where Dynamo had to stop and start again, in the user's code."""

    reason: str
    line: SourceLine | None


@dataclass(frozen=True)
class Flag:
    """Something that will hurt on this target. `what` names the kernel or call."""

    code: str
    what: str
    text: str
    lines: tuple[SourceLine, ...] = ()


@dataclass(frozen=True)
class EmulatedRun:
    """The graph's result with the AMD kernels executed on the emulated GPU, against eager on the CPU."""

    gpu: str
    launches: int
    extern_calls: int
    outputs: int
    largest_difference: float
    allowed_difference: float
    matches: bool


@dataclass(frozen=True)
class TargetView:
    """Everything about one target."""

    target: str
    gpu: str
    graphs: int
    kernels: tuple[TritonKernel, ...]
    steps: tuple[LaunchStep, ...]
    breaks: tuple[GraphBreak, ...]
    flags: tuple[Flag, ...]
    gaps: tuple[str, ...]
    notes: tuple[str, ...]
    total_best_us: float | None
    total_expected_us: float | None
    seconds: float
    compile_seconds: float
    torch: str
    triton: str
    failure: str | None = None
    run: EmulatedRun | None = None
    total_low_us: float | None = None
    total_high_us: float | None = None


@dataclass(frozen=True)
class Difference:
    """What one target does and another does not."""

    text: str


@dataclass(frozen=True)
class Inspection:
    """The whole answer of `kpt inspect`."""

    subject: str
    views: tuple[TargetView, ...]
    differences: tuple[Difference, ...] = field(default=())
