"""Fits the coefficients of `kernel_pytorch.perf.expected` to measurements, and writes its table.

    python benchmarks/fit_times.py --h200
    python benchmarks/fit_times.py --tracelens ../TraceLens --aiter ../aiter

Rows of the table whose source is not given stay as they are. --h200 needs nothing else: the times of our own H200 are
kept beside this script (h200_rows.py), with a fit and a test side that were chosen before they were measured.

The split is by model. Traces: four models are fitted on (FIT_MODELS); what those four do not contain at all
(convolutions with several taps, batch norms) is fitted on FURTHER_MODELS, whose rows of that kind are then not tested
on. Tables of tuned kernels: files with a Qwen model in their name are for the test, all others for the fit.

Each coefficient has a prior, which decides where few rows speak; how a kernel starts comes from all small kernels
together, whatever they do. The interval of a row of the table is where four of
five models that were left out of a fit lie: measured / predicted, leaving out one model at a time.
"""

from __future__ import annotations

import argparse
import csv
import math
import random
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy
from h200_rows import GPU, h200_rows, is_h200_fit, provenance
from times_data import Measured, collective_rows, revision, trace_rows, tuned_rows

from kernel_pytorch.core.hardware import gpu_by_alias
from kernel_pytorch.perf.expected.formulas import kind_of, microseconds
from kernel_pytorch.perf.expected.table import COLUMNS, TABLE, TUNED_GEMM, Fitted, fitted, rates_of
from kernel_pytorch.perf.roofline.forms import Rows, Streamed

FIT_MODELS = (
    "Qwen_Qwen1.5-0.5B-Chat", "google_owlv2-large-patch14-ensemble", "gaunernst_bert-small-uncased",
    "sglang_prefilldecode", "sglang_decode",
)  # fmt: skip
# Kinds that hardly occur in those, and the models that stand in for them.
FURTHER_MODELS = {
    "convolution": ("resnet_act_checkpoint", "xdit_flux.1"),
    "convolution backward": ("resnet_act_checkpoint",),
    "channel norm": ("resnet_act_checkpoint",),
    "channel norm backward": ("resnet_act_checkpoint",),
    "collective": ("llama_70b_fsdp",),
    "group norm": ("xdit_flux.1",),
    "generated pointwise": ("xdit_sd_3.5",),
    "generated row": ("xdit_sd_3.5",),
    "generated loop": ("xdit_sd_3.5",),
    "small products": ("facebook_timesformer-base-finetuned-k400",),
}
MOST_ROWS = 400  # of a kind: tables of tuned kernels have ten thousand, with much repetition
SURE = 0.8  # the share of measurements that should lie inside the interval
LEAST_FACTOR = 1.2  # an interval narrower than this would say more than a few rows can

# What a kernel with next to no work takes as a profiler reports it, by vendor. "idle": the part of it where the GPU was
# waiting, "cold": the same where it also had no instructions yet. `launch_priors` narrows these down.
_START = {
    "amd": {"start": (4.4, 0.2), "idle": (0.6, 0.4), "cold": (0.7, 0.4)},
    "nvidia": {"start": (2.1, 0.3), "idle": (0.9, 0.2), "cold": (0.9, 0.2)},
}
# Bytes and the longest row of what counts as next to no work.
SMALL_BYTES, SMALL_ROW = 500_000, 1024
_LAUNCH = ("start", "idle", "cold")
_KNOWN = 0.1  # by how much a kind's own start may well differ from that of all small kernels
_STREAM = {"memory": (0.5, 0.6)}
# What lies alike: a part of it may come from the cache, at some multiple of the memory's rate.
_ALIKE = {"memory": (0.7, 0.4), "cached": (2.0, 0.4)}
_ACROSS = {"memory": (0.5, 0.6), "line": (0.7, 0.4)}
_ROWS = {"memory": (0.4, 0.6), "row": (1.0, 0.7), "element": (5e-4, 1.0)}
_PRODUCT = {
    "start": (5.0, 0.5),
    "memory": (0.6, 0.5),
    "matrix": (0.5, 0.4),
    "tile": (0.25, 0.7),
    "fill": (0.5, 0.7),
    "round": (1.0, 0.7),
}
_ATTENTION = {"memory": (0.5, 0.5), "matrix": (0.25, 0.5), "key": (0.05, 1.0)}
_CONVOLUTION = {**_PRODUCT, "kernels": (15.0, 1.0), "layout": (2.0, 0.7)}
ROW_KINDS = ("reduction", "row norm", "channel norm", "fused norm", "row norm backward", "channel norm backward")
# Prior of each coefficient: where it usually is, and by which factor it may well differ (as a logarithm).
PRIORS: dict[str, dict[str, tuple[float, float]]] = {
    TUNED_GEMM: _PRODUCT,
    "routed gemm": {**_PRODUCT, "ramp": (200.0, 0.7), "joint": (0.8, 0.4)},
    "gemm": {**_PRODUCT, "ragged": (0.7, 0.3)},
    "small products": {"group": (5.0, 1.0)},
    **dict.fromkeys(("strided access", "transposed access"), _ACROSS),
    **dict.fromkeys(("attention", "aiter attention", "decode attention"), _ATTENTION),
    **dict.fromkeys(("convolution", "convolution backward"), _CONVOLUTION),
    "channels-last convolution": _PRODUCT,
    "depthwise convolution": {"memory": (0.5, 0.5), "vector": (0.5, 0.7)},
    **dict.fromkeys(ROW_KINDS, _ROWS),
    "generated row": _ROWS,
    "generated loop": {**_ROWS, "element": (8e-4, 0.4)},
    "group norm": {"start": (8.0, 0.5), "memory": (0.6, 0.15)},  # aiter's own: two passes in one kernel
    **dict.fromkeys(("elementwise", "copy", "cast"), _ALIKE),
    "function": {"memory": (0.7, 0.4), "issue": (1.0, 0.5)},
    "generated pointwise": {**_ALIKE, "issue": (0.7, 0.4)},
    "softmax": {"memory": (0.7, 0.3)},
    "long softmax": {**_ROWS, "memory": (0.25, 0.5)},
}
_OVER_LINKS: dict[str, dict[str, tuple[float, float]]] = {
    "copy to the GPU": {"link": (4e4, 0.7)},
    "copy from the GPU": {"link": (4e4, 0.7)},
    "pinned copy to the GPU": {"link": (4e4, 0.7)},
    "pinned copy from the GPU": {"link": (4e4, 0.7)},
    "collective": {"start": (9.0, 0.5), "share": (0.6, 0.3)},
}


Priors = dict[str, tuple[float, float]]


def priors_of(kind: str, launch: Priors) -> Priors:
    """The prior of each coefficient of a kind."""
    if kind in _OVER_LINKS and "start" in _OVER_LINKS[kind]:
        return _OVER_LINKS[kind]
    return {**launch, **(_OVER_LINKS.get(kind) or PRIORS.get(kind, _STREAM))}


def launch_priors(rows: Iterable[Measured], vendor: str) -> Priors:
    """How a kernel starts does not depend on what it then does: from all small ones together, of whatever kind."""
    small = [row for row in rows if is_small(row)]
    if not small:
        return _START[vendor]
    found = _minimise(small, {**_START[vendor], **_ROWS})
    return {name: (found[name], _KNOWN) for name in _LAUNCH}


def is_small(row: Measured) -> bool:
    """Whether a kernel has next to no work."""
    form = row.work.form
    short = isinstance(form, Streamed) or (isinstance(form, Rows) and form.length <= SMALL_ROW)
    return short and row.work.bytes <= SMALL_BYTES


@dataclass(frozen=True)
class Fit:
    """Coefficients, and between which factors of the predicted time four of five measurements lie."""

    use: dict[str, float]
    low: float
    high: float
    rows: int
    models: int


def is_for_fit(row: Measured) -> bool:
    """Which side of the split a row is on."""
    if row.gpu == GPU:
        return is_h200_fit(row)
    if row.tuned:
        return "qwen" not in row.source.lower()
    return row.model in FIT_MODELS or row.model in FURTHER_MODELS.get(kind_of(row.work) or "", ())


def table_kind(row: Measured) -> str:
    """The kind of the table's row; tuned products have their own."""
    kind = kind_of(row.work) or ""
    return TUNED_GEMM if row.tuned and kind == "gemm" else kind


def is_tuned(kind: str) -> bool:
    """Whether a kind of the table is fitted to tables of tuned kernels."""
    return kind in (TUNED_GEMM, "routed gemm")


def arithmetic_group(row: Measured) -> str:
    """Products in fp8 and fp4 have their own coefficients; 16 and 32 bits share theirs."""
    return row.work.arithmetic if row.work.arithmetic in ("fp8", "fp4") else ""


def fit_all(rows: Iterable[Measured], intervals: bool = True) -> dict[tuple[str, str, str], Fit]:
    """(GPU, kind, arithmetic) -> coefficients."""
    groups: dict[tuple[str, str, str], list[Measured]] = defaultdict(list)
    by_gpu: dict[str, list[Measured]] = defaultdict(list)
    for row in rows:
        groups[row.gpu, table_kind(row), arithmetic_group(row)].append(row)
        by_gpu[row.gpu].append(row)
    launch = {gpu: launch_priors(group, gpu_by_alias(gpu).vendor) for gpu, group in by_gpu.items()}
    # One table of tuned kernels alone would say nothing about other models.
    return {
        key: fit(key[1], group, launch[key[0]], intervals)
        for key, group in sorted(groups.items())
        if not group[0].tuned or len({row.model for row in group}) > 1
    }


def fit(kind: str, rows: Sequence[Measured], launch: Priors, intervals: bool = True) -> Fit:
    """The coefficients of one kind on one GPU, and how far off they are on models they did not see."""
    rows = _sample(rows)
    priors = priors_of(kind, launch)
    use = _minimise(rows, priors)
    if not intervals:
        return Fit(use, 1.0, 1.0, len(rows), 0)
    models = sorted({row.model for row in rows})
    folds = [models[i::8] for i in range(min(8, len(models)))]
    ratios: list[tuple[float, float]] = []  # with a weight: models count alike, however many shapes they have
    for fold in folds if len(models) > 1 else [models]:
        kept = [row for row in rows if row.model not in fold]
        other = _minimise(kept, priors, begin=use) if kept else use
        left_out = [row for row in rows if row.model in fold]
        share = {model: 1 / sum(row.model == model for row in left_out) for model in fold}
        ratios += [(math.log(row.us / _predicted(row, other)), share[row.model]) for row in left_out]
    low, high = _quantile(ratios, (1 - SURE) / 2), _quantile(ratios, (1 + SURE) / 2)
    least = math.log(LEAST_FACTOR) * (1 + 2 / math.sqrt(len(rows)))
    return Fit(use, math.exp(min(low, -least)), math.exp(max(high, least)), len(rows), len(models))


def _quantile(weighted: Iterable[tuple[float, float]], share: float) -> float:
    """The value below which `share` of the weight lies."""
    ordered = sorted(weighted)
    left = share * sum(weight for _, weight in ordered)
    for value, weight in ordered:
        left -= weight
        if left <= 0:
            return value
    return ordered[-1][0]


def _sample(rows: Sequence[Measured]) -> list[Measured]:
    """Some rows of every source, the same ones each time."""
    if len(rows) <= MOST_ROWS:
        return list(rows)
    by_source: dict[str, list[Measured]] = defaultdict(list)
    for row in rows:
        by_source[row.source].append(row)
    chance = random.Random(1)
    share = MOST_ROWS // len(by_source)
    return [row for group in by_source.values() for row in chance.sample(group, min(len(group), share))]


def _predicted(row: Measured, use: dict[str, float]) -> float:
    return microseconds(row.work, rates_of(gpu_by_alias(row.gpu), row.work), use, row.launched)


def _minimise(rows: Sequence[Measured], priors: Priors, begin: dict[str, float] | None = None) -> dict[str, float]:
    names = list(priors)
    centre = numpy.array([math.log(priors[name][0]) for name in names])
    width = numpy.array([priors[name][1] for name in names])
    weights = _weights(rows)
    wanted = numpy.array([math.log(row.us) for row in rows])

    def loss(point: numpy.ndarray) -> float:
        use = dict(zip(names, (math.exp(value) for value in point), strict=True))
        error = numpy.abs(numpy.array([math.log(_predicted(row, use)) for row in rows]) - wanted)
        huber = numpy.where(error < 0.3, error**2 / 0.6, error - 0.15)
        return float((weights * huber).sum() + 0.5 * (((point - centre) / width) ** 2).sum() * 0.3)

    start = centre if begin is None else numpy.array([math.log(begin[name]) for name in names])
    found = nelder_mead(loss, start, steps=150 if begin is None else 60)
    return {name: float(f"{math.exp(value):.4g}") for name, value in zip(names, found, strict=True)}


def _weights(rows: Sequence[Measured]) -> numpy.ndarray:
    """A source weighs the square root of its rows: a trace with many shapes is still one machine.

    Inside a source, half of that goes by rows, and half by the time that is spent in them.
    """
    counts: dict[str, int] = defaultdict(int)
    spent: dict[str, float] = defaultdict(float)
    for row in rows:
        counts[row.source] += 1
        spent[row.source] += math.sqrt(row.us * row.calls)
    shares = [
        math.sqrt(counts[row.source])
        * (0.5 / counts[row.source] + 0.5 * math.sqrt(row.us * row.calls) / spent[row.source])
        for row in rows
    ]
    weights = numpy.array(shares)
    return numpy.asarray(weights * len(rows) / weights.sum())


def nelder_mead(loss: Callable[[numpy.ndarray], float], start: numpy.ndarray, steps: int) -> numpy.ndarray:
    """The downhill simplex: no gradients, few dimensions."""
    points = [start] + [start + 0.3 * numpy.eye(len(start))[i] for i in range(len(start))]
    simplex = sorted(((loss(point), i, point) for i, point in enumerate(points)), key=lambda one: one[:2])
    for step in range(steps):
        middle = numpy.mean([point for _, _, point in simplex[:-1]], axis=0)
        worst, number, point = simplex[-1]
        moved = 2 * middle - point
        value = loss(moved)
        if value < simplex[0][0]:
            further = 3 * middle - 2 * point
            beyond = loss(further)
            moved, value = (further, beyond) if beyond < value else (moved, value)
        elif value >= simplex[-2][0]:
            nearer = middle + 0.5 * ((moved if value < worst else point) - middle)
            inside = loss(nearer)
            if inside < min(value, worst):
                moved, value = nearer, inside
            else:
                best = simplex[0][2]
                shrunk = [best + 0.5 * (one - best) for _, _, one in simplex[1:]]
                simplex[1:] = [(loss(one), 1000 * step + i, one) for i, one in enumerate(shrunk)]
                simplex.sort(key=lambda one: one[:2])
                continue
        simplex[-1] = (value, 1000 * step + number, moved)
        simplex.sort(key=lambda one: one[:2])
    return simplex[0][2]


def write(path: Path, rows: Iterable[Fitted]) -> None:
    """The table that the package ships."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        for row in rows:
            text = " ".join(f"{name}={value:g}" for name, value in row.use.items())
            writer.writerow(
                [row.gpu, row.kind, row.arithmetic, text, f"{row.low:.3g}", f"{row.high:.3g}", row.rows, row.models,
                 row.source]
            )  # fmt: skip


def main() -> int:
    """Fit what was given and write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--h200", action="store_true", help="fit the rows of the H200")
    parser.add_argument("--tracelens", type=Path, help="a clone of AMD-AGI/TraceLens: fit what traces are for")
    parser.add_argument("--aiter", type=Path, help="a clone of ROCm/aiter: fit tuned kernels")
    args = parser.parse_args()
    given: list[tuple[str, list[Measured]]] = []
    if args.h200:
        given.append((provenance(), list(h200_rows())))
    if args.tracelens:
        rows = [*trace_rows(args.tracelens), *collective_rows(args.tracelens)]
        given.append((f"torch traces of AMD-AGI/TraceLens@{revision(args.tracelens)}", rows))
    if args.aiter:
        given.append((f"tuned kernels of ROCm/aiter@{revision(args.aiter)}", tuned_rows(args.aiter)))
    if not given:
        parser.error("--h200, --tracelens or --aiter says what to fit to")
    found = dict(fitted())
    for source, rows in given:
        if not rows:
            continue
        gpus = {row.gpu for row in rows}
        # What is fitted again goes, with the kinds that it does not have any more.
        found = {key: row for key, row in found.items() if row.gpu not in gpus or is_tuned(row.kind) != rows[0].tuned}
        for key, one in fit_all(row for row in rows if is_for_fit(row)).items():
            found[key] = Fitted(*key, one.use, one.low, one.high, one.rows, one.models, source)
            print(*key, one.rows, f"{one.low:.2f}..{one.high:.2f}", one.use, flush=True)
    write(TABLE, (found[key] for key in sorted(found)))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
