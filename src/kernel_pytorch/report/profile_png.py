"""The drawings of a profile as one PNG, through matplotlib, which is optional."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

from kernel_pytorch.core.errors import UsageError
from kernel_pytorch.core.optional_packages import pip_install
from kernel_pytorch.perf.classify.classifier import CATEGORIES, TITLES
from kernel_pytorch.perf.profile import Profile
from kernel_pytorch.report.profile_charts import COLOURS, IDLE

MISSING = f"a PNG needs matplotlib, which is not installed: {pip_install('plots')} (or use --html)"


def write_png(profile: Profile, path: Path) -> None:
    """Timeline, roofline and top operators in one picture. Raises UsageError without matplotlib."""
    try:
        importlib.import_module("matplotlib").use("Agg")
        pyplot = importlib.import_module("matplotlib.pyplot")
    except ImportError as error:
        raise UsageError(MISSING) from error

    figure, axes = pyplot.subplots(3, 1, figsize=(11, 13), height_ratios=[1, 1.6, 1.6])
    figure.suptitle(f"{profile.source}: {profile.gpu}, {profile.total_ms:.3f} ms")
    _timeline(axes[0], profile)
    _roofline(axes[1], profile)
    _operators(axes[2], profile)
    figure.tight_layout()
    try:
        figure.savefig(path, dpi=130)
    except OSError as error:
        raise UsageError(f"{path}: cannot be written ({error.strerror})") from error
    finally:
        pyplot.close(figure)


def _timeline(axes: Any, profile: Profile) -> None:
    starts = [one.start_ms for one in profile.bins]
    width = profile.bins[0].length_ms if profile.bins else 1.0
    bottom = [0.0] * len(starts)
    axes.set_facecolor(IDLE)
    for category in CATEGORIES:
        values = [one.shares.get(category, 0.0) for one in profile.bins]
        if any(values):
            axes.bar(starts, values, width, bottom, align="edge", color=COLOURS[category], label=TITLES[category])
            bottom = [a + b for a, b in zip(bottom, values, strict=True)]
    axes.set_ylim(0, 1)
    axes.set_xlabel("ms (grey: idle)")
    axes.legend(fontsize=7, ncol=5, loc="upper center", bbox_to_anchor=(0.5, -0.25))


def _roofline(axes: Any, profile: Profile) -> None:
    rows = [row for row in profile.operators if row.intensity and row.tflops]
    peaks = profile.peaks
    if peaks is None or not rows:
        axes.text(0.5, 0.5, "no roofline: no GPU known, or no shapes recorded", ha="center")
        axes.set_axis_off()
        return
    used = {row.arithmetic for row in rows if row.category in ("gemm", "attention", "convolution")}
    roofs = {f"{name} matrix": rate for name, rate in peaks.matrix.items() if name in used}
    if "fp32" in peaks.vector:
        roofs["fp32 vector"] = peaks.vector["fp32"]
    for name, roof in roofs.items():
        xs = [0.05, roof * 1e3 / peaks.bandwidth_gbs, 5000.0]
        axes.plot(xs, [xs[0] * peaks.bandwidth_gbs / 1e3, roof, roof], color="#333", lw=1)
        axes.annotate(f"{name} {roof:g}", (5000, roof), ha="right", va="bottom", fontsize=7)
    longest = max(row.kernel_ms for row in rows)
    axes.scatter(
        [row.intensity for row in rows],
        [row.tflops for row in rows],
        s=[12 + 180 * row.kernel_ms / longest for row in rows],
        c=[COLOURS[row.category] for row in rows],
        alpha=0.7,
    )
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("FLOPs per byte")
    axes.set_ylabel("TFLOP/s")


def _operators(axes: Any, profile: Profile) -> None:
    rows = profile.operators[:15][::-1]
    names = [f"{row.name} {row.shapes}"[:50] for row in rows]
    axes.barh(names, [row.kernel_ms for row in rows], color=[COLOURS[row.category] for row in rows], alpha=0.55)
    axes.barh(
        names, [min(row.best_ms or 0.0, row.kernel_ms) for row in rows], color=[COLOURS[row.category] for row in rows]
    )
    axes.tick_params(axis="y", labelsize=6)
    axes.set_xlabel("ms (dark: what the roofline says is needed)")
