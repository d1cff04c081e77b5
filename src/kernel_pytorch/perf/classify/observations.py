"""Patterns that cost time and have a name: casts, layout copies, hand-written attention and norms, compile trouble."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator

from kernel_pytorch.perf.classify.attribution import Attribution, operator_name
from kernel_pytorch.perf.classify.overlap import behind_the_main_stream
from kernel_pytorch.perf.classify.seen import AttentionRun, Observation
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
# Operators that are asked for a copy, or for something that needs one.
_COPIES = "copy_ clone contiguous to _to_copy type_as float half reshape flatten repeat stack"
_COPYING = frozenset(_COPIES.split())
_ACTIVATIONS = frozenset(
    ["gelu", "silu", "relu", "relu6", "tanh", "sigmoid", "elu", "leaky_relu", "mish", "hardswish", "softplus"]
)
_FUSIBLE_CATEGORIES = ("elementwise", "norm", "reduction", "copy")
_TORCH = re.compile(r"at::native|2at6native")
_OVER_CHANNELS = re.compile(r"batch_norm|group_norm|instance_norm")
# Where no operator is recorded: torch's kernels that sum over a channel. Their fellows only scale.
_SUMS_CHANNELS = re.compile(r"batch_norm_(collect_statistics|reduce|backward_reduce|backward_kernel)|RowwiseMoments")
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
        if not _asked_for(recording, links, links.operator[i]):
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


def _asked_for(recording: Recording, links: Links, operator: int) -> bool:
    """Whether the model asked for a copy. A product, say, copies for itself what it cannot read as it lies."""
    parent = links.parent[operator]
    while parent != NONE:
        name = recording.signatures[recording.operators.label[parent]].name
        if name.startswith("aten::") and name.removeprefix("aten::") not in _COPYING:
            return False
        parent = links.parent[parent]
    return True


def _copies_for_itself(recording: Recording, links: Links, activity: int) -> bool:
    """Whether a kernel is a copy that a product or another operator makes of what it cannot read as it lies."""
    name, operator = operator_name(recording, links, activity), links.operator[activity]
    return name == "aten::copy_" and not _asked_for(recording, links, operator)


def _short(dtype: str) -> str:
    return {"c10::BFloat16": "bf16", "c10::Half": "fp16", "float": "fp32", "double": "fp64"}[dtype]


def _patterns(
    recording: Recording, links: Links, attribution: Attribution, streams: list[list[int]]
) -> Iterator[Observation]:
    attention, norm, chains = [0.0, 0.0, 0], [0.0, 0.0, 0], [0.0, 0.0, 0]
    sizes: dict[tuple[int, int, int, int, str], list[float]] = {}
    hidden = behind_the_main_stream(recording.activities, attribution, streams)
    for stream in streams:
        names = [operator_name(recording, links, i) for i in stream]
        taken = set(hidden)  # what is between the products of attention goes with it
        for begin, end in _around(names, _SOFTMAX, lambda name: name in _BATCHED, lambda name: name in _BATCHED):
            times = [_ms(recording, stream[k]) for k in range(begin, end + 1)]
            _add(attention, sum(times), sum(times) - times[0] - times[-1])
            taken.update(stream[begin : end + 1])
            size = _attended(_signature(recording, links, stream[begin]))
            if size is not None:
                entry = sizes.setdefault(size, [0, 0.0])
                entry[0] += 1
                entry[1] += sum(times)
        for begin, end in _norm_regions(names):
            times = [_ms(recording, stream[k]) for k in range(begin, end + 1)]
            _add(norm, sum(times), sum(times) - max(times))
        for chain in _chains(recording, links, stream, attribution, taken):
            if all(_copies_for_itself(recording, links, i) for i in chain):
                continue
            times = [_ms(recording, i) for i in chain]
            _add(chains, sum(times), sum(times) - max(times))
    runs = tuple(AttentionRun(*size, count=int(count), kernel_ms=ms) for size, (count, ms) in sizes.items())
    for entry, kind, text in (
        (attention, HAND_WRITTEN_ATTENTION, "batched product, softmax, batched product; all but the products would go"),
        (norm, HAND_WRITTEN_NORM, "mean or variance, rsqrt and products one kernel each; the longest would stay"),
        (chains, FUSIBLE, "runs of memory-bound kernels, each reading what the one before wrote"),
    ):
        if entry[2]:
            known = runs if entry is attention else ()
            yield Observation(kind, text, int(entry[2]), entry[0], entry[1], known)


def _attended(one: Signature | None) -> tuple[int, int, int, int, str] | None:
    """Heads, queries, keys, size of a head and type, from the product of queries and keys."""
    at = 1 if one is not None and "baddbmm" in one.name else 0
    if one is None or len(one.dims) < at + 2:
        return None
    q, k = one.dims[at], one.dims[at + 1]
    if not (isinstance(q, tuple) and isinstance(k, tuple) and len(q) == len(k) == 3 and q[2] == k[1]):
        return None
    return q[0], q[1], k[2], q[2], one.types[at]


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


def _chains(
    recording: Recording, links: Links, stream: list[int], attribution: Attribution, taken: set[int]
) -> Iterator[list[int]]:
    """Runs of kernels that torch.compile would fuse: torch's own operators, where it has not been at work already.

    Kernels of a library (a serving engine's norms, say) are what they are, also where no operator is recorded, as in a
    replayed graph: there only torch's own kernels count. `taken` belong to something else.
    """
    chain: list[int] = []
    summed = NONE
    for i in stream:
        kernel = recording.strings[recording.activities.name[i]]
        name = operator_name(recording, links, i)
        of_torch = name.startswith("aten::") if name else _TORCH.search(kernel) is not None
        other = is_generated(kernel) or attribution.is_copy_engine[i] or i in taken or not of_torch
        if attribution.name(i) in _FUSIBLE_CATEGORIES and not other:
            chain.append(i)
            known = links.operator[i] != NONE
            if known and not (_OVER_CHANNELS.search(name) and links.operator[i] != summed):
                continue
            if not known and not _SUMS_CHANNELS.search(kernel):
                continue
            # Such a norm has to see everything before it scales anything: its first kernel ends what can be one.
            summed = links.operator[i]
        if len(chain) > 1:
            yield chain
        chain = []
    if len(chain) > 1:
        yield chain


def _makes(one: Signature, shape: object) -> bool:
    """Whether this elementwise operator may well have made a product's input: one that it works on is new then.

    It joins two tensors of that size (a residual), or it is an activation on one. What only scales one of them, such as
    the queries after their own product, leaves the common input as it was.
    """
    alike = sum(_count(dims) == _count(shape) for dims in one.dims)
    return alike > 1 or (alike == 1 and one.name.removeprefix("aten::").rstrip("_") in _ACTIVATIONS)


def _count(shape: object) -> int:
    """Elements of a tensor; 0 where this is none."""
    return math.prod(shape) if isinstance(shape, tuple) and shape and all(isinstance(n, int) for n in shape) else 0


def _gemms(
    recording: Recording, links: Links, attribution: Attribution, streams: list[list[int]]
) -> Iterator[Observation]:
    full = [0.0, 0]
    shared = [0.0, 0]
    for stream in streams:
        for i in stream:
            one = _signature(recording, links, i) if attribution.name(i) == "gemm" else None
            if one is not None and one.types[_at(one) :][:2] == ("float", "float"):
                full[0] += _ms(recording, i)
                full[1] += 1
        for run in _same_input(recording, links, attribution, stream):
            shared[0] += sum(_ms(recording, i) for i in run)
            shared[1] += len(run) - 1
    if full[1]:
        yield Observation(FULL_PRECISION_GEMM, "matrix products in fp32", int(full[1]), full[0], 0.0)
    if shared[1]:
        text = "products one after another with the same input shape (Q, K, V; gate and up): candidates for one product"
        yield Observation(SAME_INPUT_GEMMS, text, int(shared[1]), shared[0], 0.0)


def _at(one: Signature) -> int:
    """Where the first factor of a product is among its arguments: behind the bias."""
    return 1 if "addmm" in one.name else 0


def _same_input(recording: Recording, links: Links, attribution: Attribution, stream: list[int]) -> Iterator[list[int]]:
    """Products that follow each other with what may well be the same first factor.

    A trace does not tell which tensor it was. Two that could as well be a chain, since each takes what the other one
    gives, are left out.
    """
    run: list[int] = []
    previous: Signature | None = None
    between: list[Signature] = []
    for i in [*stream, NONE]:
        one = _signature(recording, links, i) if i != NONE else None
        name = attribution.name(i) if i != NONE else ""
        if name == "elementwise":
            between += [one] if one is not None else []
            continue
        follows = name == "gemm" and one is not None and previous is not None and _shares(previous, one, between)
        if not follows:
            if len(run) > 2 or (len(run) == 2 and previous is not None and not _is_square(previous)):
                yield run
            run = []
        is_product = name == "gemm" and one is not None and "mm" in one.name and len(one.dims) > _at(one) + 1
        run, previous, between = ([*run, i], one, []) if is_product else ([], None, [])


def _shares(previous: Signature, one: Signature, between: list[Signature]) -> bool:
    inputs = [
        (each.dims[_at(each)], each.types[_at(each)]) for each in (previous, one) if len(each.dims) > _at(each) + 1
    ]
    if len(inputs) != 2 or inputs[0] != inputs[1] or "mm" not in one.name:
        return False
    return not any(_makes(other, inputs[0][0]) for other in between)


def _is_square(one: Signature) -> bool:
    weights = one.dims[_at(one) + 1]
    return isinstance(weights, tuple) and len(weights) > 1 and weights[-1] == weights[-2]


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
