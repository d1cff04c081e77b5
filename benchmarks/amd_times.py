"""How far off are expected times? Predicted against measured, on models the coefficients were not fitted on.

    python benchmarks/amd_times.py --tracelens ../TraceLens --aiter ../aiter

The table that the package ships is held against public measurements (times_data.py says which); fit_times.py, which
made it, says which models it was fitted on and which are for the test. By class: the median of predicted / measured,
the share of rows within a factor of 1.25 and 1.5, the share inside the interval that is shown, and the sum of predicted
over the sum of measured time. A row is one operator with one set of shapes. At the end whole models: all time of
a trace in operators whose work is known.

With --leave-out, each model in turn is left out of a fit on all others: with the formulas as they are, how far off is a
model that nothing was fitted on?
"""

from __future__ import annotations

import argparse
import math
import statistics
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from fit_times import FIT_MODELS, FURTHER_MODELS, fit_all, is_for_fit
from times_data import Measured, collective_rows, known_shares, trace_rows, tuned_rows

from kernel_pytorch.core.hardware import gpu_by_alias
from kernel_pytorch.perf.expected.expected import Expected, expected_time, total
from kernel_pytorch.perf.expected.table import Fitted, Table
from kernel_pytorch.perf.roofline.forms import Collective, HostCopy

CLASSES = {
    "gemm": "GEMM", "attention": "attention", "convolution": "convolution", "norm": "norms",
    "elementwise": "elementwise", "reduction": "reductions", "copy": "copies",
}  # fmt: skip
GOALS = {name: 0.6 if name in ("attention", "convolution") else 0.8 for name in CLASSES.values()}
LARGEST_SAMPLE = 4000


@dataclass(frozen=True)
class Pair:
    """A measurement and what was expected of it."""

    row: Measured
    expected: Expected

    @property
    def ratio(self) -> float:
        return self.expected.us / self.row.us


def pairs(rows: Iterable[Measured], coefficients: Table | None = None) -> list[Pair]:
    """Those with an expected time, from the table that the package ships or from another one."""
    found = []
    for row in rows:
        gpu = gpu_by_alias(row.gpu)
        expected = expected_time(gpu, row.work, tuned=row.tuned, launched=row.launched, table=coefficients)
        if expected is not None:
            found.append(Pair(row, expected))
    return found


def class_of(row: Measured) -> str:
    """The line of the table a row belongs to."""
    if isinstance(row.work.form, HostCopy):
        return "host copies"
    return CLASSES.get(row.category, row.category)


def line(title: str, group: Sequence[Pair]) -> str:
    """One line of a table."""
    logs = [abs(math.log(one.ratio)) for one in group]
    inside = sum(one.expected.low_us <= one.row.us <= one.expected.high_us for one in group)
    predicted = sum(one.expected.us * one.row.calls for one in group)
    measured = sum(one.row.us * one.row.calls for one in group)
    near, nearer = (sum(value <= math.log(factor) for value in logs) for factor in (1.5, 1.25))
    count = len(group)
    return (
        f"| {title} | {count} | {statistics.median(one.ratio for one in group):.2f} | {nearer / count:.0%} | "
        f"{near / count:.0%} | {inside / count:.0%} | {predicted / measured:.2f} |"
    )


def table(found: Sequence[Pair], by: Callable[[Measured], str]) -> list[str]:
    """A line for each class."""
    groups: dict[str, list[Pair]] = defaultdict(list)
    for one in found:
        groups[by(one.row)].append(one)
    head = [
        "| class | rows | median | within 1.25x | within 1.5x | in interval | sum |",
        "|---|---|---|---|---|---|---|",
    ]
    return head + [line(name, groups[name]) for name in sorted(groups)]


def leaving_out(rows: Sequence[Measured]) -> list[Pair]:
    """Each model's rows with what a fit on all other models of that GPU expects. Runs of one engine go together."""
    found = []
    for model in sorted({engine(row.model) for row in rows}):
        others = fit_all((row for row in rows if engine(row.model) != model), intervals=False)
        coefficients = {key: Fitted(*key, one.use, one.low, one.high, one.rows, 0, "") for key, one in others.items()}
        found += pairs((row for row in rows if engine(row.model) == model), coefficients)
    return found


def engine(model: str) -> str:
    """SGLang and vLLM have traces of prefill and of decoding, of one model each."""
    return model.split("_")[0] if model.startswith(("sglang_", "vllm_")) else model


def whole_models(found: Sequence[Pair], rows: Sequence[Measured]) -> list[str]:
    """A line for each trace: all of its operators together."""
    groups: dict[tuple[str, str], list[Pair]] = defaultdict(list)
    for one in found:
        if not isinstance(one.row.work.form, Collective):
            groups[one.row.gpu, one.row.source].append(one)
    lines = ["| GPU | trace | side | measured ms | predicted ms | interval | ratio |", "|---|---|---|---|---|---|---|"]
    for (gpu, source), group in sorted(groups.items()):
        sides = {is_for_fit(one.row) for one in group if not isinstance(one.row.work.form, HostCopy)}
        side = "fit" if group[0].row.model in FIT_MODELS else "test" if sides == {False} else "test, parts fitted"
        device = [one for one in group if not isinstance(one.row.work.form, HostCopy)]
        whole = total([one.expected for one in device for _ in range(one.row.calls)])
        measured = sum(one.row.us * one.row.calls for one in device)
        if whole is not None:
            between = f"{whole.low_us / 1e3:.2f} to {whole.high_us / 1e3:.2f}"
            lines.append(
                f"| {gpu} | {source.removesuffix('.json.gz')[-52:]} | {side} | {measured / 1e3:.2f} | "
                f"{whole.us / 1e3:.2f} | {between} | {whole.us / measured:.2f} |"
            )
    return lines


def thinned(rows: Sequence[Measured]) -> list[Measured]:
    """Every n-th row of a large table: the sum takes seconds, the figures stay."""
    step = max(1, len(rows) // LARGEST_SAMPLE)
    return list(rows[::step])


def main() -> int:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tracelens", type=Path, required=True, help="a clone of AMD-AGI/TraceLens")
    parser.add_argument("--aiter", type=Path, help="a clone of ROCm/aiter")
    parser.add_argument("--shares", action="store_true", help="only how much of each trace's GPU time has known work")
    parser.add_argument("--kinds", action="store_true", help="by kind of the table of coefficients instead of class")
    parser.add_argument("--leave-out", action="store_true", help="only fits that leave out one model at a time")
    args = parser.parse_args()
    if args.shares:
        print("| trace | ms on the GPU | work known | with the capture of its graphs |\n|---|---|---|---|")
        for name, ms, alone, joined in known_shares(args.tracelens):
            print(f"| {name.removesuffix('.json.gz')[-60:]} | {ms:.2f} | {alone:.1%} | {joined:.1%} |", flush=True)
        return 0
    rows = [*trace_rows(args.tracelens), *collective_rows(args.tracelens)]
    if args.leave_out:
        for gpu in ("mi300x", "h100"):
            part = [row for row in rows if row.gpu == gpu and not isinstance(row.work.form, Collective)]
            print(f"\n{gpu_by_alias(gpu).name}, every model in turn left out of a fit on all others (no intervals)")
            print("\n".join(table(leaving_out(part), class_of)), flush=True)
        return 0
    print(f"fitted on: {', '.join(FIT_MODELS)}; besides: {FURTHER_MODELS}")
    found = pairs(rows)
    kinds = {id(one.row): one.expected.kind for one in found}
    by = (lambda row: kinds[id(row)]) if args.kinds else class_of
    for gpu in ("mi300x", "h100", "b200"):
        for side in (False, True):
            part = [one for one in found if one.row.gpu == gpu and is_for_fit(one.row) == side]
            if part:
                print(f"\n{gpu_by_alias(gpu).name}, {'fit' if side else 'TEST'} side")
                print("\n".join(table(part, by)))
    if args.aiter:
        tuned = tuned_rows(args.aiter)
        for side in (False, True):
            part = [row for row in tuned if is_for_fit(row) == side]
            print(f"\ntuned kernels, {'fit' if side else 'TEST'} side")
            groups: dict[str, list[Measured]] = defaultdict(list)
            for row in part:
                groups[f"{gpu_by_alias(row.gpu).name} {row.category}"].append(row)
            kept = [row for group in groups.values() for row in thinned(group)]
            print("\n".join(table(pairs(kept), lambda row: f"{gpu_by_alias(row.gpu).name} {row.category}")))
    print("\nwhole models (time on the GPU in operators whose work is known)")
    print("\n".join(whole_models(found, rows)))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
