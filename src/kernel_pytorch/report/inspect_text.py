"""An inspection as text for a terminal."""

from __future__ import annotations

from collections import Counter

from kernel_pytorch.core.counted import counted
from kernel_pytorch.perf.inspect.view import Inspection, LaunchStep, SourceLine, TargetView, TritonKernel


def inspection_text(inspection: Inspection, top: int = 40) -> str:
    """Everything worth reading, target by target, and what differs between them."""
    parts = [f"{inspection.subject}: what torch.compile would run"]
    parts += [view_text(view, top) for view in inspection.views]
    if len(inspection.views) > 1:
        lines = [f"  {one.text}" for one in inspection.differences] or ["  none: same kernels, same calls, all fit"]
        parts.append("\n".join(["between targets", *lines]))
    return "\n\n".join(parts)


def view_text(view: TargetView, top: int) -> str:
    """One target."""
    lines = [f"{view.target} as {view.gpu}, torch {view.torch}, Triton {view.triton}, {view.seconds:.0f} s"]
    if view.failure:
        lines.append(f"  FAILED: {view.failure}")
    launches = sum(step.kind == "triton" for step in view.steps)
    lines.append(
        f"  {counted(view.graphs, 'graph')}, {counted(len(view.breaks), 'break')}, {counted(len(view.steps), 'step')}: "
        f"{counted(launches, 'launch', 'launches')} of {counted(len(view.kernels), 'generated kernel')}, "
        f"{counted(len(view.steps) - launches, 'library call')}"
    )
    if view.total_best_us is not None and view.total_expected_us is not None:
        lines.append(
            f"  roofline {_time(view.total_best_us)}, expected {_time(view.total_expected_us)}"
            f"{_range(view.total_low_us, view.total_high_us)}"
        )
        lines += [f"    {text}" for text in bases(view)]
    lines += _steps(view, top)
    lines += _kernels(view, top)
    lines += [f"  gap: {text}" for text in view.gaps]
    lines += [f"  hurts [{flag.code}] {flag.what}: {flag.text}{_where(flag.lines)}" for flag in view.flags[:top]]
    if len(view.flags) > top:
        lines.append(f"  ... and {len(view.flags) - top} more of these (--json has all)")
    lines += [f"  note: {text}" for text in view.notes]
    if view.run is not None:
        run = view.run
        verdict = "matches eager" if run.matches else "DIFFERS from eager"
        lines.append(
            f"  run on the emulated {run.gpu}: {run.launches} launches of {view.target} code, {run.extern_calls} "
            f"library calls on the CPU; {run.outputs} outputs, largest difference {run.largest_difference:.3g} "
            f"(allowed {run.allowed_difference:.3g}): {verdict}"
        )
    return "\n".join(lines)


def _range(low: float | None, high: float | None) -> str:
    return "" if low is None or high is None else f" ({_time(low)} to {_time(high)})"


def bases(view: TargetView) -> list[str]:
    """What the expected times rest on, the most used first."""
    counts = Counter(step.basis for step in view.steps if step.basis)
    return [f"expected time of {counted(count, 'step')}: {basis}" for basis, count in counts.most_common()]


def alike_steps(view: TargetView) -> list[tuple[LaunchStep, int]]:
    """Steps that are alike once, with how often they come, in the order of their first appearance."""
    alike: dict[tuple[str, str, tuple[str, ...]], list[LaunchStep]] = {}
    for step in view.steps:
        alike.setdefault((step.kind, step.name, step.shapes), []).append(step)
    return [(steps[0], len(steps)) for steps in alike.values()]


def _steps(view: TargetView, top: int) -> list[str]:
    rows = alike_steps(view)
    lines = ["  steps, in order of first appearance: limit, expected, where four of five lie"] if rows else []
    for step, times in rows[:top]:
        time = "?" if step.expected_us is None else f"{step.expected_us:.1f} us"
        between = "" if step.low_us is None else f"{step.low_us:.1f} to {step.high_us:.1f}"
        shapes = " ".join(step.shapes[:4])
        lines.append(
            f"    {times:4d} x {_short(step.name, 56):56s} {step.limiter:8s} {time:>12s} {between:>18s}  {shapes}"
        )
    if len(rows) > top:
        lines.append(f"    ... {len(rows) - top} more (--json has all)")
    return lines


def _kernels(view: TargetView, top: int) -> list[str]:
    if not view.kernels:
        return []
    amd = view.target.startswith("gfx")
    lines = [f"  generated kernels: {'VGPRs' if amd else 'registers'}, LDS, spills, waves per SIMD, limiter"]
    for kernel in view.kernels[:top]:
        lines.append(f"    {_short(kernel.name, 60):60s} {_resources(kernel)}")
        lines.append(f"      {', '.join(kernel.operators[:6])}{_where(kernel.lines)}")
    if len(view.kernels) > top:
        lines.append(f"    ... {len(view.kernels) - top} more (--json has all)")
    return lines


def _resources(kernel: TritonKernel) -> str:
    if kernel.chosen is None:
        reasons = {one.failure for one in kernel.configurations if one.failure}
        return f"no configuration compiles and fits: {next(iter(reasons), 'too large')}"
    found = kernel.configurations[kernel.chosen].resources
    if found is None:
        return "not compiled"
    waves = f"{found.waves_per_simd}/{found.max_waves_per_simd} {found.limiter}" if found.waves_per_simd else "-"
    return f"{found.registers:4d} {found.lds_bytes:6d} B {found.spills:3d}  {waves}"


def _where(lines: tuple[SourceLine, ...]) -> str:
    if not lines:
        return ""
    shown = ", ".join(f"{one.path.rsplit('/', 1)[-1]}:{one.line}" for one in lines[:4])
    return f"  <- {shown}{', ...' if len(lines) > 4 else ''}"


def _short(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 1] + "…"


def _time(microseconds: float) -> str:
    return f"{microseconds / 1e3:.2f} ms" if microseconds >= 1e3 else f"{microseconds:.1f} us"
