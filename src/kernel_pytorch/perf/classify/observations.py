"""Patterns that cost time and have a name: casts, layout copies, hand-written attention and norms, compile trouble."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from kernel_pytorch.perf.classify.attribution import Attribution, operator_name
from kernel_pytorch.perf.classify.seen import Observation
from kernel_pytorch.perf.trace.linking import Links
from kernel_pytorch.perf.trace.recording import NONE, Recording, Signature

DTYPE_COPIES = "dtype copies"
LAYOUT_COPIES = "layout copies"
HAND_WRITTEN_ATTENTION = "hand-written attention"
HAND_WRITTEN_NORM = "hand-written norm"
FUSIBLE = "fusible chains"
GRAPH_BREAKS = "graph breaks"
RECOMPILES = "recompiles"
FULL_PRECISION_GEMM = "fp32 GEMM"
SAME_INPUT_GEMMS = "GEMMs that share an input"

_FLOATS = {"float", "double", "c10::Half", "c10::BFloat16"}
_BATCHED = ("aten::bmm", "aten::baddbmm", "aten::baddbmm_", "aten::matmul", "aten::einsum")
_SOFTMAX = ("aten::_softmax", "aten::softmax", "aten::_safe_softmax")
_FUSIBLE_CATEGORIES = ("elementwise", "norm", "reduction", "copy")
_REGION = re.compile(r"Torch-Compiled Region: (\d+)/(\d+)")
# How far apart the parts of one pattern may be, in activities on a stream: scaling, masking, casts, dropout.
_REACH = 10


def observe(recording: Recording, links: Links, attribution: Attribution) -> tuple[Observation, ...]:
    """Everything found, most expensive first."""
    streams = _streams(recording, attribution)
    found: list[Observation] = [
        *_copies(recording, links, attribution),
        *_patterns(recording, links, attribution, streams),
        *_gemms(recording, links, attribution, streams),
        *_compile_trouble(recording),
    ]
    return tuple(sorted(found, key=lambda one: -one.kernel_ms))


def _streams(recording: Recording, attribution: Attribution) -> list[list[int]]:
    by_stream: dict[tuple[int, int], list[int]] = {}
    activities = recording.activities
    for i in attribution.order:
        by_stream.setdefault((activities.device[i], activities.stream[i]), []).append(i)
    return list(by_stream.values())


def _signature(recording: Recording, links: Links, activity: int) -> Signature | None:
    operator = links.operator[activity]
    return recording.signatures[recording.operators.label[operator]] if operator != NONE else None


def _ms(recording: Recording, activity: int) -> float:
    return (recording.activities.end[activity] - recording.activities.start[activity]) / 1e3


def _copies(recording: Recording, links: Links, attribution: Attribution) -> Iterator[Observation]:
    casts: dict[str, list[float]] = {}
    layouts = [0.0, 0]
    for i in attribution.order:
        one = _signature(recording, links, i)
        if one is None or one.name != "aten::copy_" or len(one.types) < 2 or attribution.is_copy_engine[i]:
            continue
        target, source = one.types[0], one.types[1]
        if target != source and target in _FLOATS and source in _FLOATS:
            entry = casts.setdefault(f"{_short(source)} to {_short(target)}", [0.0, 0])
            entry[0] += _ms(recording, i)
            entry[1] += 1
        elif target == source and len(one.strides) >= 2 and one.strides[0] != one.strides[1]:
            layouts[0] += _ms(recording, i)
            layouts[1] += 1
    for text, (total, count) in casts.items():
        yield Observation(DTYPE_COPIES, text, int(count), total, total)
    if layouts[1]:
        yield Observation(LAYOUT_COPIES, "copies that only change strides", int(layouts[1]), layouts[0], layouts[0])


def _short(dtype: str) -> str:
    return {"c10::BFloat16": "bf16", "c10::Half": "fp16", "float": "fp32", "double": "fp64"}[dtype]


def _patterns(
    recording: Recording, links: Links, attribution: Attribution, streams: list[list[int]]
) -> Iterator[Observation]:
    attention, norm, chains = [0.0, 0.0, 0], [0.0, 0.0, 0], [0.0, 0.0, 0]
    for stream in streams:
        names = [operator_name(recording, links, i) for i in stream]
        for begin, end in _around(names, _SOFTMAX, lambda name: name in _BATCHED, lambda name: name in _BATCHED):
            times = [_ms(recording, stream[k]) for k in range(begin, end + 1)]
            _add(attention, sum(times), sum(times) - times[0] - times[-1])
        for begin, end in _norm_regions(names):
            times = [_ms(recording, stream[k]) for k in range(begin, end + 1)]
            _add(norm, sum(times), sum(times) - max(times))
        for chain in _chains(recording, stream, attribution):
            times = [_ms(recording, i) for i in chain]
            _add(chains, sum(times), sum(times) - max(times))
    for entry, kind, text in (
        (attention, HAND_WRITTEN_ATTENTION, "batched product, softmax, batched product; all but the products would go"),
        (norm, HAND_WRITTEN_NORM, "mean or variance, rsqrt and products one kernel each; the longest would stay"),
        (chains, FUSIBLE, "runs of memory-bound kernels, each reading what the one before wrote"),
    ):
        if entry[2]:
            yield Observation(kind, text, int(entry[2]), entry[0], entry[1])


def _add(entry: list[float], total: float, saving: float) -> None:
    entry[0] += total
    entry[1] += max(0.0, saving)
    entry[2] += 1


def _around(
    names: list[str], centre: tuple[str, ...], before: Callable[[str], bool], after: Callable[[str], bool]
) -> Iterator[tuple[int, int]]:
    for at, name in enumerate(names):
        if name in centre:
            first = next((k for k in range(at - 1, max(-1, at - _REACH), -1) if before(names[k])), None)
            last = next((k for k in range(at + 1, min(len(names), at + _REACH)) if after(names[k])), None)
            if first is not None and last is not None:
                yield first, last


def _norm_regions(names: list[str]) -> Iterator[tuple[int, int]]:
    """[pow or mul, ] mean or var, ..., rsqrt, mul[, cast, mul]."""
    for at, name in enumerate(names):
        if name != "aten::rsqrt" or at == 0:
            continue
        middle = [k for k in range(at - 1, max(-1, at - 4), -1) if names[k] in ("aten::mean", "aten::var", "aten::sum")]
        if not middle or at + 1 >= len(names) or names[at + 1] not in ("aten::mul", "aten::mul_"):
            continue
        begin = middle[0]
        if begin > 0 and names[begin - 1] in ("aten::pow", "aten::mul", "aten::square", "aten::sub"):
            begin -= 1
        end = at + 1
        while end + 1 < len(names) and end < at + 4 and names[end + 1] in ("aten::mul", "aten::copy_", "aten::mul_"):
            end += 1
        yield begin, end


def is_generated(kernel: str) -> bool:
    """Whether Inductor wrote a kernel: what could be fused with its neighbours is."""
    return kernel.startswith(("triton_poi_", "triton_red_", "triton_per_", "triton_tem_", "triton_for_"))


def _chains(recording: Recording, stream: list[int], attribution: Attribution) -> Iterator[list[int]]:
    """Runs of kernels that torch.compile would fuse. It has been at work where kernels are its own."""
    chain: list[int] = []
    for i in stream:
        own = is_generated(recording.strings[recording.activities.name[i]])
        if attribution.name(i) in _FUSIBLE_CATEGORIES and not attribution.is_copy_engine[i] and not own:
            chain.append(i)
            continue
        if len(chain) > 1:
            yield chain
        chain = []
    if len(chain) > 1:
        yield chain


def _gemms(
    recording: Recording, links: Links, attribution: Attribution, streams: list[list[int]]
) -> Iterator[Observation]:
    full = [0.0, 0]
    shared = [0.0, 0]
    for stream in streams:
        previous: tuple[object, ...] | None = None
        first_ms = 0.0
        for i in stream:
            if attribution.name(i) != "gemm":
                if attribution.name(i) != "elementwise":
                    previous = None
                continue
            one = _signature(recording, links, i)
            if one is None:
                continue
            at = 1 if "addmm" in one.name else 0
            if len(one.types) > at + 1 and one.types[at] == one.types[at + 1] == "float":
                full[0] += _ms(recording, i)
                full[1] += 1
            key = (one.dims[at], one.types[at]) if len(one.dims) > at + 1 and "mm" in one.name else None
            if key is not None and key == previous:
                shared[0] += _ms(recording, i) + first_ms
                shared[1] += 1
                first_ms = 0.0
            else:
                first_ms = _ms(recording, i)
            previous = key
    if full[1]:
        yield Observation(FULL_PRECISION_GEMM, "matrix products in fp32", int(full[1]), full[0], 0.0)
    if shared[1]:
        text = "products one after another with the same input shape (Q, K, V; gate and up): candidates for one product"
        yield Observation(SAME_INPUT_GEMMS, text, int(shared[1]), shared[0], 0.0)


def _compile_trouble(recording: Recording) -> Iterator[Observation]:
    for name, count in sorted(recording.counters.items()):
        yield Observation(GRAPH_BREAKS, f"resumed as {name}", count, 0.0)
    regions: dict[str, int] = {}
    labels = [one.name for one in recording.signatures]
    labels += [recording.strings[label] for label in set(recording.annotations.label)]
    for name in labels:
        found = _REGION.search(name)
        if found:
            regions[found[1]] = max(regions.get(found[1], 0), int(found[2]))
    again = {frame: number for frame, number in regions.items() if number > 0}
    if again:
        text = "compiled regions " + ", ".join(f"{frame} ({number} times again)" for frame, number in again.items())
        yield Observation(RECOMPILES, text, sum(again.values()), 0.0)
