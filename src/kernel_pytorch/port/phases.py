"""The decision tree of a port: which phases a project needs, and why."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from kernel_pytorch.core.counted import counted
from kernel_pytorch.core.findings import Finding, action
from kernel_pytorch.core.read_file import read_if_there
from kernel_pytorch.port.discover import Project
from kernel_pytorch.port.tensor_cores import WmmaProducts, tensor_cores, wmma_products

TITLES = {
    1: "ROCm detection and flags",
    2: "source translation",
    3: "architecture adaptation",
    4: "build system",
    5: "library replacement",
    6: "torch.compile",
    7: "graph capture",
    8: "verification",
}


@dataclass(frozen=True)
class Phase:
    """One phase, whether the project needs it, and what that rests on."""

    number: int
    title: str
    applies: bool
    reason: str


# What a finding that only a person can settle costs, by the kind of work it is. An estimate, and called one.
_DAYS = frozenset({"KP231", "KP232", "KP233"})
_HOURS = frozenset({"KP230", "KP234", "KP242", "KP246", "KP312", "KP322"})


# NVIDIA's libraries by the word that their headers and functions begin with, and what AMD has for them.
_LIBRARIES = {
    "cublas": ("cuBLAS", "hipBLAS"),
    "cudnn": ("cuDNN", "MIOpen"),
    "nccl": ("NCCL", "RCCL"),
    "cufft": ("cuFFT", "hipFFT"),
    "cusparse": ("cuSPARSE", "hipSPARSE"),
    "cusolver": ("cuSOLVER", "hipSOLVER"),
    "curand": ("cuRAND", "hipRAND"),
    "cub": ("CUB", "hipCUB"),
    "thrust": ("Thrust", "rocThrust"),
    "cutlass": ("CUTLASS", "Composable Kernel, by hand"),
}
_WORDS = "|".join(_LIBRARIES).encode()
_USE = re.compile(
    rb"#[ \t]*include[ \t]*[<\"](?:\w+/)*(%s)[/_.A-Zv]|\b(%s)(?:[A-Z]\w*[ \t]*\(|::\w)" % (_WORDS, _WORDS)
)
_COMPILE = re.compile(
    rb"^[^#\n]*?(?:\btorch\s*\.\s*compile\b|\bfrom torch import [^\n]*\bcompile\b|\btorch\._(?:inductor|dynamo)\b)",
    re.MULTILINE,
)
_CAPTURE = re.compile(
    rb"\b(?:torch\.cuda\.(?:CUDAGraph|graphs?|make_graphed_callables)|cudaStreamBeginCapture|cudaGraphLaunch)\b"
)


@dataclass(frozen=True)
class _Uses:
    """What the sources call that a scan need not report: libraries, and how many files compile and capture."""

    libraries: tuple[str, ...]
    compiles: int
    captures: int
    products: WmmaProducts


def _uses(project: Project) -> _Uses:
    found: set[str] = set()
    compiles = captures = 0
    products = WmmaProducts()
    for path in project.of("python", "cuda", "c++"):
        data = read_if_there(project.root / path, project.root) or b""
        if path.endswith(".py"):
            compiles += b"torch" in data and _COMPILE.search(data) is not None
        else:
            found.update((one or other).decode() for one, other in _USE.findall(data))
            products += wmma_products(data)
        captures += _CAPTURE.search(data) is not None
    return _Uses(tuple(word for word in _LIBRARIES if word in found), compiles, captures, products)


def phases(project: Project, findings: Sequence[Finding]) -> tuple[Phase, ...]:
    """The phases, decided by what the scan found and by what the sources use: a library that a translation renames,
    or a plain `torch.compile`, gives no finding and is work of its phase all the same."""
    cuda = len(project.of("cuda"))
    python = len(project.of("python"))
    in_range = {number: sum(finding.code.startswith(f"KP{number}") for finding in findings) for number in range(2, 8)}
    around = [finding for finding in findings if finding.code.startswith(("KP1", "KP44"))]
    kernels = f"{counted(cuda, 'file')} with CUDA code" if cuda else "no CUDA C++ in the project"
    named = set(project.of("cmake", "make"))
    building = [finding for finding in findings if finding.code.startswith(("KP40", "KP41", "KP42", "KP43"))]
    build = len(named | {finding.path for finding in building})
    uses = _uses(project)
    tuned = sum("TORCHINDUCTOR" in finding.message for finding in findings if finding.code == "KP447")
    warps = f"code that depends on the width of a warp: {counted(in_range[3], 'place')}"
    described = tensor_cores(findings, uses.products).described
    tiles = [described] if described else []
    answers = {
        1: (
            bool(python or cuda),
            f"{counted(python, 'Python file')}, {kernels}, {counted(len(around), 'place')} in the environment, CI and "
            "deploy files",
        ),
        2: (bool(cuda), kernels),
        3: (
            bool(cuda),
            "; ".join([warps, *tiles, *(["CUTLASS is rewritten by hand"] if "cutlass" in uses.libraries else [])])
            if cuda
            else kernels,
        ),
        4: (
            bool(building or (cuda and build)),
            f"{counted(build, 'build file')}, {counted(len(building), 'place')} in them",
        ),
        5: (
            bool(in_range[5] or uses.libraries),
            f"{counted(in_range[5], 'place')} with NVIDIA's libraries, formats, Triton options or device queries"
            + "".join("; " + " -> ".join(_LIBRARIES[word]) for word in uses.libraries),
        ),
        6: (
            bool(in_range[6] or uses.compiles or tuned),
            f"torch.compile in {counted(uses.compiles, 'file')}, {counted(in_range[6] + tuned, 'place')} to look at",
        ),
        7: (
            bool(in_range[7] or uses.captures),
            f"graphs captured in {counted(uses.captures, 'file')}, {counted(in_range[7], 'place')} to look at",
        ),
        8: (True, "always"),
    }
    return tuple(Phase(number, TITLES[number], *answers[number]) for number in TITLES)


@dataclass(frozen=True)
class Effort:
    """Findings by who settles them, and a rough span of a person's time for those the tool cannot."""

    automatic: int
    review: int
    person: int
    hours_low: float
    hours_high: float

    @property
    def time(self) -> str:
        """A person's time in words; nothing where there is nothing for a person to do."""
        if not self.hours_high:
            return ""
        if self.hours_high < 1:
            return "less than an hour"
        return f"roughly {self.hours_low:g} to {self.hours_high:g} hours"


def effort(findings: Sequence[Finding]) -> Effort:
    """Counted by place: two findings in one function often cost no more than one, so the low end halves them."""
    automatic = sum(1 for finding in findings if action(finding) == "automatic")
    review = sum(1 for finding in findings if action(finding) == "review")
    person = [finding for finding in findings if action(finding) == "a person"]
    hours = 0.1 * review
    for finding in person:
        hours += 16.0 if finding.code in _DAYS else 2.0 if finding.code in _HOURS else 0.25
    return Effort(automatic, review, len(person), round(hours / 2, 1), round(hours, 1))
