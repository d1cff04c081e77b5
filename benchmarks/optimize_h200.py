"""`optimize()` next to eager and to torch.compile's modes, on the models of optimize_models.py, in one run.

    python benchmarks/optimize_h200.py [--only PART ...] [--json FILE] [--seconds N] [--together] [--tiny] [--list]

Per model: eager, torch.compile default, reduce-overhead and max-autotune, ours without reduce-overhead (what ROCm users
must do without), ours with it allowed. Times are device times of perf.bench, all variants in turns, with 95 %
intervals; "made in" is the time until the first call was done. Results are printed, and written to FILE, model by
model, and models that FILE already has are left out: a run that is cut off goes on where it stopped. --together climbs
for all models at once, each in a process of its own, since most of a climb is compiling on the CPU; comparisons on the
way wait for each other, and the final figures are taken one model after another when all others rest. --recipes FILE
takes what an earlier run's climbs kept and only builds it, as the generated module does. "Ours with it allowed" is ours
with Inductor's graphs in place of our own where that measures faster.
--search-seconds bounds each max-autotune; what does not finish is said so. Exit 1 if ours is slower than the best of
the others.
"""

from __future__ import annotations

import argparse
import fcntl
import gc
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "benchmarks")]

from optimize_table import ALLOWED, DEFAULT, EAGER, OURS, REDUCE, SEARCH, shown, slower_than_best  # noqa: E402

GIB = 2**30
LEAST_S, RESERVE_S, GRACE_S = 6.0, 60.0, 30.0
TUNED = {
    "coordinate_descent",
    "gemm_search",
    "kernel_search",
    "one_row_kernels",
    "one_kernel_decoder",
    "tf32",
    "graph_breaks",
}
# Every rewrite of a decoder costs a compile of half a minute: left out where other rungs do what these do.
_KERNELS = ("add_norm_kernels", "norm_kernels", "gated_kernels", "rope_kernel")
_SURGERY = ("qkv_fusion", "gate_up_fusion", "sdpa", "causal_mask", "repeat_kv", "dtype_copies", "skipped_padding")
SKIPPED: dict[str, tuple[str, ...]] = {
    "decoder 1.1B, one token, batch 1": (*_SURGERY, *_KERNELS, "gemm_search", "kernel_search"),
    "decoder 1.1B, one token, batch 16": (*_SURGERY, *_KERNELS),
    "decoder 1.1B, prefill 1x512": _KERNELS,
    "decoder 1.1B, prefill 8x512": _KERNELS,
}


def say(text: str) -> None:
    print(text, flush=True)


def no_grad(function: Callable[..., Any]) -> Callable[..., Any]:
    import torch

    def call(*args: Any, **kwargs: Any) -> Any:
        with torch.no_grad():
            return function(*args, **kwargs)

    return call


def released() -> None:
    import torch

    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.synchronize()
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()


def _forget_inductors_graphs() -> None:
    """One that was broken off while it was recorded would break those that come after it."""
    from torch._inductor.cudagraph_trees import reset_cudagraph_trees

    reset_cudagraph_trees()


def peak_gib() -> float | None:
    import torch

    return torch.cuda.max_memory_allocated() / GIB if torch.cuda.is_available() else None


@contextmanager
def alone(folder: Path | None) -> Iterator[None]:
    """Inside, no other process of this run measures."""
    if folder is None:
        yield
        return
    with (folder / "lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


class Case:
    """One model and its variants."""

    def __init__(self, name: str, made: dict[str, Any], args: argparse.Namespace) -> None:
        from kernel_pytorch.models.inputs import as_inputs

        self.name, self.model, self.args = name, made["model"], args
        self.inputs = as_inputs(made["inputs"])
        self.functions: dict[str, Callable[..., Any]] = {}
        self.facts: dict[str, dict[str, Any]] = {}

    def add(self, name: str, make: Callable[[], Callable[..., Any]], limit_s: float) -> None:
        from kernel_pytorch.perf.ladder.deadline import OutOfTime, time_limit

        released()
        began = time.perf_counter()
        limit_s = min(limit_s, self.left())
        if limit_s < LEAST_S:
            self.facts[name] = {"failed": "not run: no time was left"}
            return
        try:
            with time_limit(limit_s):
                function = no_grad(make())
                for _ in range(3):
                    self.inputs.call(function)
                released()
                self.inputs.call(function)
        except OutOfTime:
            self.facts[name] = {"failed": f"not finished in {limit_s:.0f} s"}
        except Exception as error:  # one variant's failure is a row, not the end
            self.facts[name] = {"failed": f"{type(error).__name__}: {str(error).splitlines()[0][:200]}"}
        else:
            self.functions[name] = function
            self.facts[name] = {"made_s": time.perf_counter() - began, "peak_gib": peak_gib()}
        if "failed" in self.facts[name]:
            _forget_inductors_graphs()
            say(f"  {name}: {self.facts[name]['failed']}")

    def compiled(self, **arguments: Any) -> Callable[[], Callable[..., Any]]:
        import torch

        return lambda: torch.compile(self.model, **arguments)

    def climbed(self) -> Callable[[], Callable[..., Any]]:
        from kernel_pytorch.perf.ladder.optimize import optimize

        def make() -> Callable[..., Any]:
            began = time.perf_counter()

            def tell(event: Any) -> None:
                if event.entry is not None and not event.entry.reason.startswith("left out"):
                    entry = event.entry
                    say(f"    {time.perf_counter() - began:5.1f} s {entry.rung}: {entry.outcome}: {entry.reason[:160]}")

            found = optimize(
                self.model,
                self.inputs,
                budget_s=max(LEAST_S, min(self.args.climb_seconds, self.left() - RESERVE_S)),
                levels=(2, 3, 4, 5),
                allow=(),
                skip=[*self.args.skip, *SKIPPED.get(self.name, ())],
                measure=self.measure,
                measure_s=self.args.measure_seconds,
                say=tell,
            )
            self.facts["recipes"] = {OURS: [[step.rung, step.options] for step in found.recipe]}
            return found

        return make

    def measure(self, before: Any, after: Any, seconds: float) -> Any:
        from kernel_pytorch.perf.ladder.measuring import measure_in_turns

        with alone(self.args.side_by_side):
            return measure_in_turns(before, after, seconds)

    def left(self) -> float:
        return float(self.args.until) - time.time() if self.args.until else 1e9

    def run(self) -> dict[str, Any]:
        on_gpu = self.inputs_on_gpu()
        recipe = self.args.known.get(self.name)
        if not self.args.no_ours:
            self.add(OURS, self.applied(recipe) if recipe else self.climbed(), self.args.climb_seconds + 60)
        self.add(EAGER, lambda: self.model, 60)
        self.add(DEFAULT, self.compiled(), 120)
        if on_gpu:
            if self.args.search_seconds:
                # First of those with Inductor's graphs: broken off, it takes the graphs of those before it with it.
                limit = min(self.args.search_seconds, self.left() - RESERVE_S)
                self.add(SEARCH, self.compiled(mode="max-autotune"), limit)
            self.add(REDUCE, self.compiled(mode="reduce-overhead"), 120)
            if OURS in self.functions:
                self.add(ALLOWED, self.with_inductor_graphs(), 120)
        wait_for_all(self.args)
        with alone(self.args.side_by_side):
            return self.measured()

    def applied(self, steps: list[Any]) -> Callable[[], Callable[..., Any]]:
        """A recipe of an earlier climb, as the generated module applies it."""
        from kernel_pytorch.perf.ladder.recipe import apply_recipe
        from kernel_pytorch.perf.ladder.rung import Step

        self.facts["recipes"] = {OURS: steps}
        return lambda: apply_recipe(self.model, self.inputs, tuple(Step(rung, options) for rung, options in steps))

    def with_inductor_graphs(self) -> Callable[[], Callable[..., Any]]:
        """Ours with Inductor recording the graphs, where that is faster than ours; else ours, as the climb decides."""
        from kernel_pytorch.perf.ladder.deadline import OutOfTime
        from kernel_pytorch.perf.ladder.measuring import target_for
        from kernel_pytorch.perf.ladder.recipe import apply_recipe
        from kernel_pytorch.perf.ladder.rung import Step

        steps = self.facts["recipes"][OURS]
        others = [[rung, options] for rung, options in steps if rung != "graph_capture"]
        is_compiled = any("compile" in rung or rung in TUNED for rung, _ in others)
        other = [*others, ["reduce_overhead", {} if is_compiled else {"compile": {}}]]

        def make() -> Callable[..., Any]:
            ours = self.functions[OURS]
            try:
                candidate = apply_recipe(self.model, self.inputs, tuple(Step(rung, options) for rung, options in other))
                for _ in range(3):
                    self.inputs.call(no_grad(candidate))
            except OutOfTime:
                raise
            except Exception as error:  # as the climb does with a rung that fails
                say(f"    with Inductor's graphs: {type(error).__name__}: {str(error).splitlines()[0][:200]}")
                self.facts["recipes"][ALLOWED] = steps
                return ours
            found = self.measure(
                target_for("ours", ours, self.model, self.inputs),
                target_for("with Inductor's graphs", candidate, self.model, self.inputs),
                self.args.measure_seconds,
            )
            say(f"    with Inductor's graphs: {found.verdict} {found.in_words()}")
            self.facts["recipes"][ALLOWED] = other if found.is_faster else steps
            return candidate if found.is_faster else ours

        return make

    def inputs_on_gpu(self) -> bool:
        return any(item.device.type == "cuda" for item in self.model.parameters())

    def measured(self) -> dict[str, Any]:
        import torch

        from kernel_pytorch.models.clock.device import current_device
        from kernel_pytorch.models.clock.rounds import Sampling
        from kernel_pytorch.models.clock.sensors import sensors_of
        from kernel_pytorch.perf.bench.run import measure
        from kernel_pytorch.perf.bench.target import Target

        for name in list(self.functions):
            try:
                self.inputs.call(self.functions[name])
            except Exception as error:  # one variant's failure is a row, not the end
                del self.functions[name]
                self.facts[name] = {"failed": f"{type(error).__name__}: {(str(error).splitlines() or [''])[0][:200]}"}
        names = [name for name in (OURS, ALLOWED, DEFAULT, EAGER, REDUCE, SEARCH) if name in self.functions]
        targets = [Target(name, self.functions[name], self.inputs.args, self.inputs.kwargs) for name in names]
        device = current_device(force_cpu=not self.inputs_on_gpu())
        settings = Sampling(
            seconds=self.args.final_seconds, warmup_seconds=1.0, energy_seconds=0.0, margin=0.01, least_seconds=0.5
        )
        with torch.no_grad():
            results, verdicts = measure(targets, device, sensors_of(device), settings)
        rows = {}
        for result in results:
            facts = self.facts[result.name]
            rows[result.name] = {
                "ms": result.time.mean_ms, "low": result.time.low_ms, "high": result.time.high_ms,
                "samples": result.time.samples, **facts,
            }  # fmt: skip
        for name, facts in self.facts.items():
            if name != "recipes" and name not in rows:
                rows[name] = facts
        against = {
            one.b: {"verdict": one.verdict, "ratio": one.ratio, "low": one.low, "high": one.high} for one in verdicts
        }
        return {
            "rows": rows,
            "others_against_ours": against if names and names[0] == OURS else {},
            "recipes": self.facts.get("recipes", {}),
            "weights_bytes": sum(item.numel() * item.element_size() for item in self.model.parameters()),
        }


def bandwidth_gbs() -> float | None:
    """Of a large copy, bytes read and written."""
    import torch

    if not torch.cuda.is_available():
        return None
    source = torch.randn(1 << 29, device="cuda", dtype=torch.bfloat16)
    target = torch.empty_like(source)
    times = []
    for _ in range(12):
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        target.copy_(source)
        end.record()
        torch.cuda.synchronize()
        times.append(start.elapsed_time(end))
    return 2 * source.nbytes / sorted(times)[len(times) // 2] / 1e6


def wait_for_all(args: argparse.Namespace) -> None:
    """Until every process of a run side by side is ready to be measured, or time is up."""
    if args.side_by_side is None:
        return
    (args.side_by_side / f"{os.getpid()}.ready").touch()
    while time.time() < args.until + GRACE_S and len(list(args.side_by_side.glob("*.ready"))) < args.processes:
        time.sleep(0.2)


def together(names: list[str], args: argparse.Namespace, found: dict[str, Any]) -> None:
    """One process per model. What each prints comes when it is done."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        until = time.time() + args.ready_seconds
        running = []
        for number, name in enumerate(names):
            command = [sys.executable, __file__, "--only", name, "--json", str(folder / f"{number}.json")]
            command += ["--side-by-side", str(folder), "--processes", str(len(names)), "--until", str(until)]
            for option in ("climb_seconds", "search_seconds", "measure_seconds", "final_seconds"):
                command += [f"--{option.replace('_', '-')}", str(getattr(args, option))]
            command += [f"--skip={rung}" for rung in args.skip] + (["--tiny"] if args.tiny else [])
            command += ["--recipes", str(args.recipes)] if args.recipes else []
            log = (folder / f"{number}.log").open("w")
            environment = {**os.environ, "TORCHINDUCTOR_COMPILE_THREADS": "4", "PYTHONUNBUFFERED": "1"}
            running.append((name, subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, env=environment)))
        began = time.perf_counter()
        waiting = list(enumerate(running))
        while waiting:
            time.sleep(0.5)
            is_late = time.perf_counter() - began > args.seconds
            for number, (name, process) in list(waiting):
                if process.poll() is None and not is_late:
                    continue
                if process.poll() is None:
                    process.kill()
                    process.wait()
                    say(f"\nstopped, time is up: {name}")
                waiting.remove((number, (name, process)))
                say((folder / f"{number}.log").read_text())
                part = folder / f"{number}.json"
                if part.exists():
                    found["cases"].update(json.loads(part.read_text())["cases"])
                    if args.json is not None:
                        args.json.write_text(json.dumps(found, indent=1))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", default=[], help="part of a model's name; may be given again")
    parser.add_argument("--json", type=Path, help="results, also those of an earlier run to go on with")
    parser.add_argument("--seconds", type=float, default=1e9, help="no new model is begun after this")
    parser.add_argument("--climb-seconds", type=float, default=120.0)
    parser.add_argument("--search-seconds", type=float, default=0.0, help="limit of each max-autotune; 0: not run")
    parser.add_argument("--measure-seconds", type=float, default=1.5, help="per comparison in the climb")
    parser.add_argument("--final-seconds", type=float, default=4.0, help="for the table, all variants together")
    parser.add_argument("--skip", action="append", default=[], help="a rung to leave out; may be given again")
    parser.add_argument("--no-ours", action="store_true", help="only eager and torch.compile")
    parser.add_argument("--recipes", type=Path, help="an earlier run's results: its recipes are built, not climbed for")
    parser.add_argument("--together", action="store_true", help="all models at once, each in a process of its own")
    parser.add_argument("--ready-seconds", type=float, default=300.0, help="with --together: then measuring begins")
    parser.add_argument("--side-by-side", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--processes", type=int, default=1, help=argparse.SUPPRESS)
    parser.add_argument("--until", type=float, default=0.0, help=argparse.SUPPRESS)
    parser.add_argument("--tiny", action="store_true", help="small sizes, also on a CPU: to try this script")
    parser.add_argument("--list", action="store_true")
    args = parser.parse_args()
    began = time.perf_counter()
    if args.tiny:
        os.environ["KPT_TINY"] = "1"
    import torch
    from optimize_models import MODELS

    names = [name for name in MODELS if not args.only or any(part == name for part in args.only)]
    names = names or [name for name in MODELS if any(part in name for part in args.only)]
    if args.list:
        print("\n".join(names))
        return 0
    if not names:
        print(f"no model has {' or '.join(args.only)} in its name", file=sys.stderr)
        return 2
    if not torch.cuda.is_available() and not args.tiny:
        print("not run: this needs a GPU and a torch built for it (--tiny tries the script on a CPU)", file=sys.stderr)
        return 2
    # One model's code is compiled many times in this process, which is not what a program does.
    torch._dynamo.config.recompile_limit = 512
    torch._dynamo.config.accumulated_recompile_limit = 4096
    found: dict[str, Any] = {}
    if args.json is not None and args.json.exists():
        found = json.loads(args.json.read_text())
    cases = found.setdefault("cases", {})
    earlier = json.loads(args.recipes.read_text())["cases"] if args.recipes is not None else {}
    args.known = {name: case["recipes"][OURS] for name, case in earlier.items() if OURS in case["recipes"]}
    found["device"] = torch.cuda.get_device_name() if torch.cuda.is_available() else "cpu"
    found["torch"] = torch.__version__
    if args.side_by_side is None:
        found["copy_gbs"] = bandwidth_gbs()
        say(f"{found['device']}, torch {found['torch']}, copy {found['copy_gbs'] or 0:.0f} GB/s")
        released()
    names = [name for name in names if name not in cases]
    if args.together:
        together(names, args, found)
    for name in [] if args.together else names:
        if time.perf_counter() - began > args.seconds:
            say(f"not begun, time is up: {name}")
            continue
        say(f"\n== {name} ({time.perf_counter() - began:.0f} s)")
        torch._dynamo.reset()
        case = Case(name, MODELS[name](), args)
        cases[name] = case.run()
        say(shown(name, cases[name]))
        if args.json is not None:
            args.json.write_text(json.dumps(found, indent=1))
        del case
        released()
    bad = [f"{name}: {who}" for name in names if name in cases for who in slower_than_best(cases[name])]
    for line in bad:
        say(f"slower than the best of the others: {line}")
    return 1 if bad else 0


if __name__ == "__main__":
    raise SystemExit(main())
